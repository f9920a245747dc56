import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.text.examples import Example
from annotated_transformer.tokens import BOS, EOS, PAD, UNK, Vocabulary
from annotated_transformer.toy import Pair
from transformer_workbook.notebook.proofs import agree, holds, proof


@proof
def no_sentence_twice(corpus: Mapping[str, Sequence[Pair]]) -> None:
    """No English sentence occurs twice, in one split or in two."""
    sources = [pair.src for pairs in corpus.values() for pair in pairs]
    claim = f"of {len(sources):,} English sentences none occurs twice, in one split or in two"
    holds(claim, len(sources) == len(set(sources)))


@proof
def vocabularies(
    plain: Any, corpus: Mapping[str, Sequence[Pair]], english: Vocabulary, korean: Vocabulary
) -> None:
    """The library and a short class know the same words, and every sentence comes back."""
    from myst_nb import glue

    sides = {"English": ("src", english), "Korean": ("tgt", korean)}
    for name, (side, vocabulary) in sides.items():
        texts = {
            split: [" ".join(getattr(pair, side)) for pair in pairs]
            for split, pairs in corpus.items()
        }
        known = vocabulary.tokens(range(len(vocabulary)))
        claim = f"library and class know the same {len(known)} {name} tokens"
        holds(claim, set(known) == set(plain(texts["train"]).tokens))
        every = list(itertools.chain(*texts.values()))
        rows = vocabulary.encode_all(every)
        back = [vocabulary.decode(row) for row in rows] == every
        unknown = any(UNK in row for row in rows)
        claim = f"every {name} sentence of every split comes back, with no unknown word"
        holds(claim, back and not unknown)
    spelt = [english.encode("<eos>"), plain(["a"]).encode("<eos>")]
    holds("a special token that a text spells out is unknown", spelt == [[UNK], [UNK]])
    numbers = "로봇 and 은 have the numbers of the first drawing, 76 and 5"
    holds(numbers, korean.encode("로봇 은") == [76, 5])
    glue("korean-size", str(len(korean)), display=False)


@proof
def merges(
    join: Callable[..., Any],
    neighbours: Callable[..., Any],
    pieces: Vocabulary,
    texts: Sequence[str],
) -> None:
    """Each merge of the library, in its order, takes a pair that is most frequent then."""
    counted = Counter(tuple("▁" + word) for word in " ".join(texts).split())
    letters = len({character for word in counted for character in word})
    merged = pieces.tokens(range(4 + letters, len(pieces)))  # behind the special ones and these
    right = 0
    for token in merged:
        counts = neighbours(counted)
        best = [pair for pair, times in counts.items() if times == max(counts.values())]
        for pair in (pair for pair in best if "".join(pair) == token):
            counted = Counter({join(word, pair): times for word, times in counted.items()})
            right += 1
    claim = f"each of the library's {len(merged)} merges takes a most frequent pair"
    holds(claim, right == len(merged))


@proof
def groups(groups: Sequence[Sequence[int]], examples: Sequence[Example], max_tokens: int) -> None:
    """Each sentence is in one batch, and none has too many positions."""
    from myst_nb import glue

    places = sorted(i for group in groups for i in group)
    holds("every sentence is in exactly one batch", places == list(range(len(examples))))
    longest = [max(len(side) + 1 for i in group for side in examples[i]) for group in groups]
    positions = [length * len(group) for length, group in zip(longest, groups, strict=True)]
    holds(f"no batch has more than {max_tokens:,} positions", max(positions) <= max_tokens)

    def padded(parts: Sequence[Sequence[int]]) -> float:
        """The share of the target positions that are padding."""
        targets = [Batch.of([examples[i] for i in part]).tgt_out for part in parts]
        zeros = sum(int((target == PAD).sum()) for target in targets)
        return zeros / sum(target.numel() for target in targets)

    in_order = [range(i, min(i + 64, len(examples))) for i in range(0, len(examples), 64)]
    glue("random-padding", f"{padded(in_order):.0%}", display=False)
    glue("sorted-padding", f"{padded(groups):.1%}", display=False)


@proof
def batches(package: Any, examples: Sequence[Example]) -> None:
    """The package's batch holds what the lists of this page hold, filled up with padding."""
    batch = package.of(examples)
    sides = {
        "src": [[*src, EOS] for src, _ in examples],
        "tgt_in": [[BOS, *tgt] for _, tgt in examples],
        "tgt_out": [[*tgt, EOS] for _, tgt in examples],
    }
    for name, rows in sides.items():
        longest = max(map(len, rows))
        filled = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
        claim = f"{name} holds the lists of ids, filled up with padding"
        holds(claim, torch.equal(getattr(batch, name), filled))


@proof
def loss(
    package: Callable[..., Any],
    logits: Float[Tensor, "batch tgt vocab"],
    target: Int[Tensor, "batch tgt"],
    cross_entropy: Float[Tensor, ""],
) -> None:
    """The cross-entropy is PyTorch's; the package's sum is that of a loop over the positions."""
    expected = F.cross_entropy(logits.mT, target, ignore_index=PAD)
    agree(1e-12, {"PyTorch's mean": expected, "yours": cross_entropy})
    logits = torch.randn_like(logits)
    loop = torch.zeros(())
    for b, t in (target != PAD).nonzero().tolist():
        loop -= logits[b, t].softmax(dim=0)[target[b, t]].log()
    mean = F.cross_entropy(logits.mT, target, ignore_index=PAD)
    results = {"a loop": loop, "PyTorch's mean times the tokens": mean * (target != PAD).sum()}
    agree(1e-12, results | {"the package": package(logits, target)})


@proof
def counting(
    models: Mapping[str, tuple[Callable[..., Any], Any]],
    examples: Sequence[Example],
    perplexities: Mapping[str, float],
) -> None:
    """On the training text, no table can be better than relative frequencies."""
    everything = Batch.of(examples)
    real = everything.tgt_out != PAD
    tgt_in, says = everything.tgt_in[real], everything.tgt_out[real]
    for name, (read, model) in models.items():
        reads, counts = read(tgt_in), torch.zeros_like(model.weight)
        with torch.no_grad():
            counts.index_put_((reads, says), torch.ones(()), accumulate=True)
            share = counts / counts.sum(dim=1, keepdim=True).clamp(min=1)
            lowest = -share[reads, says].log().mean()
            behind = -model.weight.log_softmax(dim=1)[reads, says].mean() - lowest
        claim = f"the {name} model is within 0.03 nats of relative frequencies, the best table"
        holds(claim, 0 <= behind < 0.03)
    holds("the bigram model has a perplexity between 8 and 9", 8 < perplexities["bigram"] < 9)
