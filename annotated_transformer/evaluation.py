"""Evaluation: how good are translations, and how surprised is a model by the right ones?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from annotated_transformer.alignment import alignment_errors
from annotated_transformer.batches import Batch, batches_by_tokens
from annotated_transformer.bitext import Bitext, Example
from annotated_transformer.corpora import Links
from annotated_transformer.devices import device_of
from annotated_transformer.errors import DivergedError, InputError
from annotated_transformer.inputs import each_pair, each_text, require_whole
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.search import Search
from annotated_transformer.tokens import TextPair, Vocabularies
from annotated_transformer.translation import translate
from annotated_transformer.translator import Translator, evaluating, require_positions

LARGEST = 700
"""Nats: what is larger has no exponential among the floating-point numbers."""


def perplexity(model: Translator, examples: Sequence[Example], max_tokens: int = 4096) -> float:
    """exp of the mean surprise, in nats, at a target token; 1 is certainty.

    The one definition for every model: teacher-forced, without label smoothing, the mean over all
    target tokens of all sentences, ``EOS`` counted and padding not. Perplexities are comparable
    only between models with the same target vocabulary.

    Raises:
        InputError: if there are no examples, or one is longer than the model can read.
        DivergedError: if the mean is not a number that has an exponential.
    """
    if not examples:
        raise InputError("there are 0 examples to evaluate on, at least 1 is needed.")
    require_whole("max_tokens", max_tokens, 1)
    bitext = Bitext.of(examples)
    require_positions(model, bitext.lengths)
    room = max(max_tokens, 1 + int(bitext.lengths.max()))
    total, tokens = 0.0, 0
    with evaluating(model):
        for group in batches_by_tokens(bitext, room):
            batch = Batch.of([bitext[i] for i in group], device_of(model))
            logits = model(batch.src, batch.tgt_in)
            exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
            total += smoothed_cross_entropy(exact, batch.tgt_out).item()
            tokens += batch.num_tokens
    if not total / tokens < LARGEST:
        raise DivergedError(
            f"the mean surprise at a token is {total / tokens:.3g} nats, it must be below "
            f"{LARGEST}: the model's weights are broken."
        )
    return math.exp(total / tokens)


@dataclass(frozen=True)
class Score:
    """A figure, and the signature that says exactly how it was computed."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f}  {self.signature}".rstrip()


def score_translations(translations: Sequence[str], references: Sequence[str]) -> list[Score]:
    """BLEU (cased and lower-cased) and chrF by sacreBLEU, and the share of exact sentences, in %.

    All texts are brought to Unicode's form NFC, as those are that a vocabulary of subwords decodes:
    a letter is the same, however it was typed.

    Raises:
        InputError: if there are not as many translations as references, or none, or one is no text.
    """
    translations, references = (
        [normalize("NFC", text) for text in each_text(texts)]
        for texts in (translations, references)
    )
    if len(translations) != len(references) or not references:
        raise InputError(
            f"{len(translations)} translations stand against {len(references)} references: "
            "there must be one for each, and at least one."
        )
    scores = []
    for name, metric in (
        ("BLEU", BLEU()),
        ("BLEU, lower-cased", BLEU(lowercase=True)),
        ("chrF", CHRF()),
    ):
        value = metric.corpus_score(translations, [references]).score
        scores.append(Score(name, value, str(metric.get_signature())))
    exact = sum(t == r for t, r in zip(translations, references, strict=True))
    return [*scores, Score("exact sentences", 100 * exact / len(references), "")]


def evaluate(
    model: Translator,
    vocabularies: Vocabularies,
    pairs: Sequence[TextPair],
    search: Search,
    gold: Sequence[Links] | None = None,
) -> list[Score]:
    """All that can be said about a model on some sentence pairs.

    Translations against references as in :func:`score_translations`, the perplexity of the
    references, and, where the true alignments are known, the alignment error rate of each attention
    to the source.

    Raises:
        InputError: if there are no pairs, or one is longer than the model can read.
    """
    found = translate(model, [source for source, _ in each_pair(pairs)], vocabularies, search)
    scores = score_translations(found, [target for _, target in pairs])
    examples = vocabularies.encode(pairs)
    scores.append(
        Score("perplexity", perplexity(model, examples), "teacher-forced, per target token")
    )
    errors = {} if gold is None else alignment_errors(model, examples, gold)
    scores += [Score("AER", error, f"{name}, mean of heads") for name, error in errors.items()]
    return scores
