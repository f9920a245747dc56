"""Evaluation: how good are the translations, and how surprised is the model by the right ones?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from annotated_transformer.batches import Batch, Example, batches_by_tokens
from annotated_transformer.decoding import StepwiseModel, beam_search, evaluating, greedy
from annotated_transformer.errors import InputError
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.tokens import Vocabulary


def perplexity(
    model: torch.nn.Module, examples: Sequence[Example], max_tokens: int = 4096
) -> float:
    """exp of the mean surprise, in nats, at a target token; 1 is certainty.

    The one definition for every model: teacher-forced, without label smoothing, the mean over all
    target tokens of all sentences, ``EOS`` counted and padding not. Perplexities are comparable
    only between models with the same target vocabulary.

    Raises:
        InputError: if there are no examples.
    """
    if not examples:
        raise InputError("there are 0 examples to evaluate on, at least 1 is needed.")
    total, tokens = 0.0, 0
    with evaluating(model):
        for group in batches_by_tokens(examples, max_tokens):
            batch = Batch.of(group)
            logits = model(batch.src, batch.tgt_in)
            total += smoothed_cross_entropy(logits, batch.tgt_out).item()
            tokens += batch.num_tokens
    return math.exp(total / tokens)


def translate(
    model: StepwiseModel,
    texts: Sequence[str],
    src_vocabulary: Vocabulary,
    tgt_vocabulary: Vocabulary,
    beam_size: int = 1,
    alpha: float = 0.6,
    max_tokens: int = 2048,
) -> list[str]:
    """Translate texts, in batches of similar length; the translations come in the order of texts.

    A beam of 1 is greedy search. An empty text has an empty translation.
    """
    ids = src_vocabulary.encode_all(texts)
    found = translate_ids(model, ids, beam_size, alpha, max_tokens)
    return [tgt_vocabulary.decode(tokens) for tokens in found]


def translate_ids(
    model: StepwiseModel,
    sources: Sequence[list[int]],
    beam_size: int = 1,
    alpha: float = 0.6,
    max_tokens: int = 2048,
) -> list[list[int]]:
    """Translate sentences given as ids, like :func:`translate`, into ids."""
    order = sorted((i for i in range(len(sources)) if sources[i]), key=lambda i: len(sources[i]))
    translations: list[list[int]] = [[] for _ in sources]
    # What takes the place of the target is only the number of the text, so that it is not lost.
    for group in batches_by_tokens([(sources[i], [i]) for i in order], max_tokens):
        src = Batch.of(group).src
        if beam_size == 1:
            hypotheses = greedy(model, src)
        else:
            hypotheses = beam_search(model, src, beam_size, alpha)
        for (_, [i]), hypothesis in zip(group, hypotheses, strict=True):
            translations[i] = hypothesis.tokens
    return translations


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

    Raises:
        InputError: if there are not as many translations as references, or none.
    """
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
        value = metric.corpus_score(list(translations), [list(references)]).score
        scores.append(Score(name, value, str(metric.get_signature())))
    exact = sum(t == r for t, r in zip(translations, references, strict=True))
    return [*scores, Score("exact sentences", 100 * exact / len(references), "")]
