from collections.abc import Sequence
from typing import Any

import torch

from annotated_transformer import decoding
from annotated_transformer.batches import Batch
from annotated_transformer.decoding import Hypothesis, Search
from annotated_transformer.text.examples import Example
from annotated_transformer.tokens import EOS
from annotated_transformer.translator import Translator
from transformer_workbook.notebook.proofs import agree, holds, proof


@proof
def a_beam_can_lose() -> None:
    """After "one" come three nouns; after "a", two adjectives and then three nouns."""
    noun = torch.tensor([0.4, 0.3, 0.3])
    by_greedy = 0.52 * noun.max()  # "one", then the most probable noun
    adjective = torch.tensor([0.51, 0.49])
    rows = torch.cat([0.52 * noun, 0.48 * adjective])  # after two words
    kept = rows.topk(2).indices
    lost = kept.tolist() == [3, 4]  # both adjectives: "one …" is pushed out
    by_beam = rows[kept].max() * noun.max()
    claim = (
        f'greedy search finds a sentence with "one", of probability {by_greedy:.2f}; '
        f'a beam of 2 keeps both adjectives, loses "one", and ends at {by_beam:.2f}'
    )
    holds(claim, lost and by_beam < by_greedy)


@proof
def greedy_search(write: Any, model: Translator, test: Sequence[Example]) -> None:
    """The loop writes, up to EOS, what the package's greedy search writes."""
    src = Batch.of(test).src
    found = [h.tokens for h in decoding.greedy(model, src)]
    written = write(model, src, max(map(len, found)) + 1).tolist()
    pairs = zip(found, written, strict=True)
    same = all(mine[: len(theirs) + 1] == [*theirs, EOS] for theirs, mine in pairs)
    claim = f"on all {len(test)} test sentences, your loop generates what the package generates"
    holds(claim, same)


@proof
def beam_search(search: Any, model: Translator, test: Sequence[Example]) -> None:
    """Two beam searches find the same hypotheses in the same order, with the same scores."""
    mine, theirs = [], []
    for pair in test[:20]:
        src = Batch.of([pair]).src  # (1, source)
        longest = src.size(1) + 50
        mine += [
            (decoding.without_end(tokens[1:]), score)
            for score, tokens in search(model, src, 4, 0.6, longest=longest)
        ]
        [best] = decoding.beam_search(model, src, Search(4, alpha=0.6, best=4))
        theirs += [(h.tokens, h.score) for h in best]
    same = [tokens for tokens, _ in mine] == [tokens for tokens, _ in theirs]
    claim = "for 20 sentences, your search and the package's find the same four hypotheses in order"
    holds(claim, same)
    scores = (torch.tensor([score for _, score in found]) for found in (theirs, mine))
    agree(
        1e-9, dict(zip(("the package's scores of these hypotheses", "yours"), scores, strict=True))
    )


@proof
def rating(
    rate: Any, model: Translator, test: Sequence[Example], found: Sequence[Hypothesis]
) -> None:
    """Teacher forcing gives what a search has found the log-probability that the search gave it."""
    said = [(src, h.tokens) for (src, _), h in zip(test, found, strict=True)]
    log_p = torch.tensor([h.log_prob for h in found])
    agree(
        1e-9,
        {
            "the log-probabilities of the search": log_p,
            "those of teacher forcing": rate(model, said),
        },
    )


@proof
def drawing(candidates: Any) -> None:
    """Of 10,000 evenly spaced numbers, the package's draw gives each word its probability."""
    numbers = (torch.arange(10000) + 0.5) / 10000
    logits = torch.tensor([0.28, 0.24, 0.18, 0.14, 0.1, 0.04, 0.02]).log()
    ways: list[dict[str, Any]] = [{}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.8}]
    shares, chances = [], []
    for choices in ways:
        p, word = candidates(logits, **choices)
        taken = decoding.draw(logits.expand(10000, -1), Search(sample=True, **choices), numbers)
        shares.append(taken.bincount(minlength=len(p))[word] / 10000)
        chances.append(p)
    found = {"the shares of words in 10,000 draws of the package": torch.stack(shares)}
    agree(1e-3, found | {"your probabilities": torch.stack(chances)})
