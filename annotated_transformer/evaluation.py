"""Evaluation: translation quality, perplexity, and the alignments that attention finds."""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from jaxtyping import Float, Int
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from torch import Tensor

from annotated_transformer.batches import Batch, TextBatch, batch_of, batches_by_tokens
from annotated_transformer.capture import Captured, capture_attention, join_calls
from annotated_transformer.corpora import Links
from annotated_transformer.decoding import Search
from annotated_transformer.ground.devices import device_of
from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.ground.inputs import (
    each_example,
    each_text,
    require_values,
    require_whole,
)
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.text.cleaning import clean
from annotated_transformer.text.examples import Example, Examples
from annotated_transformer.tokens import TextPair, Vocabularies
from annotated_transformer.translation import translate
from annotated_transformer.translator import (
    NextTokenModel,
    evaluating,
    require_positions,
    require_writer,
)


def forced_attention(
    model: torch.nn.Module, src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
) -> Captured:
    """Compute the attention of a model under teacher forcing, for the given translations.

    ``tgt_in`` begins with ``BOS``, so row t of a cross-attention is the attention when
    target token t was *predicted*, not when it was read.
    """
    require_values("src", src)
    with evaluating(model), capture_attention(model) as captured:
        model(src, tgt_in)
    return {name: [join_calls(calls)] for name, calls in captured.items()}


def strongest_links(weights: Float[Tensor, "tgt src"], tgt_length: int, src_length: int) -> Links:
    """Link every target token to the source token that it attends to most.

    Raises:
        InputError: if the weights are not a matrix of at least that size, or one is not finite.
    """
    require_whole("tgt_length", tgt_length, 0)
    require_whole("src_length", src_length, 0)
    if (
        not isinstance(weights, Tensor)
        or weights.dim() != 2
        or not all(
            0 <= length <= size
            for length, size in zip((tgt_length, src_length), weights.shape, strict=True)
        )
    ):
        raise InputError(
            f"weights have the shape {list(getattr(weights, 'shape', []))}, they must be a matrix "
            f"of at least {tgt_length} rows and {src_length} columns."
        )
    if not (used := weights[:tgt_length, :src_length]).isfinite().all():
        raise InputError("weights contain nan or inf, all must be finite.")
    if not src_length:
        return frozenset()
    best = used.argmax(dim=-1).tolist()
    return frozenset((source, target) for target, source in enumerate(best))


def alignment_error_rate(predicted: Sequence[Links], gold: Sequence[Links]) -> float:
    """Compute AER = ``1 − 2 |A ∩ G| / (|A| + |G|)`` over all sentences; 0 is perfect, 1 all wrong.

    Target words without a link in the gold alignment (particles, for example) have no right answer;
    predicted links to them are left out of A.

    Source: Och and Ney 2003, with every gold link sure.

    >>> alignment_error_rate([frozenset({(0, 0), (1, 1), (1, 2)})], [frozenset({(0, 0), (2, 1)})])
    0.5

    Raises:
        InputError: if there are not as many predicted as gold alignments, or no links at all.
    """
    _require_as_many(len(predicted), len(gold))
    hits = links = 0
    for found, true in zip(predicted, gold, strict=True):
        judged = {link for link in found if link[1] in {target for _, target in true}}
        hits += len(judged & true)
        links += len(judged) + len(true)
    if links == 0:
        raise InputError("there are 0 links to compare, at least 1 is needed.")
    return 1 - 2 * hits / links


def _require_as_many(predicted: int, gold: int) -> None:
    if predicted != gold:
        raise InputError(
            f"there are {predicted} predicted and {gold} gold alignments: "
            "there must be one of each for every sentence."
        )


def alignment_errors(
    model: torch.nn.Module,
    examples: Sequence[Example],
    gold: Sequence[Links],
    batch_size: int = 100,
) -> dict[str, float]:
    """Compute the alignment error rate of every attention to the source, averaged over heads.

    That is every cross-attention, and in a language model, which reads source and target as one
    text, the rows of the target and the columns of the source in every self-attention. The
    reference translations are teacher-forced. The end symbol of the source is left out.

    Raises:
        InputError: if there are not as many examples as gold alignments, or no links at all.
    """
    require_whole("batch_size", batch_size, 1)
    examples = Examples.of(examples)
    _require_as_many(len(examples), len(gold))
    found: dict[str, list[Links]] = {}
    for start in range(0, len(examples), batch_size):
        part = examples[start : start + batch_size]
        batch = Batch.of(part, device_of(model))
        source, target = batch.src.size(1), batch.tgt_in.size(1)
        for name, [weights] in forced_attention(model, batch.src, batch.tgt_in).items():
            one_text = weights.size(-1) == source + target
            if one_text:
                weights = weights[:, :, source:, :source]
            if one_text or "self_attention" not in name:
                found.setdefault(name, []).extend(
                    strongest_links(matrix, len(tgt), len(src))
                    for matrix, (src, tgt) in zip(weights.mean(dim=1), part, strict=True)
                )
    return {name: alignment_error_rate(links, gold) for name, links in found.items()}


LARGEST = 700
"""Nats: the exponential of a larger number overflows."""


def perplexity(model: NextTokenModel, examples: Sequence[Example], max_tokens: int = 4096) -> float:
    """Compute exp of the mean negative log-likelihood of a target token; 1 is certainty.

    The one definition for every model: teacher-forced, without label smoothing, averaged over all
    target tokens of all sentences, with ``EOS``, without padding. Perplexities are comparable
    only between models with the same target vocabulary.

    Raises:
        InputError: if there are no examples, or one is longer than the model can read.
        DivergedError: if the mean is not finite, or its exponential overflows.
    """
    if not examples:
        raise InputError("there are 0 examples to evaluate on, at least 1 is needed.")
    require_whole("max_tokens", max_tokens, 1)
    require_writer(model)
    if model.begin is None:  # nothing is predicted of a text of one token
        examples = [example for example in examples if len(example[-1]) > 1]
        if not examples:
            raise InputError("there are 0 texts of two tokens or more, at least 1 is needed.")
    examples = Examples.of(examples)
    require_positions(model, examples.lengths)
    room = max(max_tokens, 1 + int(examples.lengths.max()))
    total, tokens = 0.0, 0
    with evaluating(model):
        for group in batches_by_tokens(examples, room):
            batch = batch_of([examples[i] for i in group], device_of(model))
            if model.begin is None and isinstance(batch, TextBatch):
                batch = batch.without_ends()
            logits = model(*batch.inputs)
            exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
            total += smoothed_cross_entropy(exact, batch.tgt_out).item()
            tokens += batch.num_tokens
    if not total / tokens < LARGEST:
        raise DivergedError(
            f"the mean negative log-likelihood is {total / tokens:.3g} nats a token, it must be "
            f"below {LARGEST}: the model's weights are broken."
        )
    return math.exp(total / tokens)


@dataclass(frozen=True)
class Score:
    """A score, and the signature that states exactly how it was computed."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f}  {self.signature}".rstrip()


UNSPACED = {
    "CJK": "zh", "HIRAGANA": "ja-mecab", "KATAKANA": "ja-mecab", "THAI": "char", "LAO": "char",
    "KHMER": "char", "MYANMAR": "char", "TIBETAN": "char",
}  # fmt: skip
"""Scripts without spaces between words, and the tokenizer of sacreBLEU for each."""


def bleu_tokenizer(texts: Sequence[str]) -> str:
    """Choose the tokenizer of sacreBLEU: "13a", except for scripts without spaces.

    If it needs a library that is not installed, it is "char"; the signature names the one used.

    >>> bleu_tokenizer(["a dog", "학생 은"]), bleu_tokenizer(["我喜欢吃苹果。"])
    ('13a', 'zh')
    """
    letters, scripts = Counter(c for text in texts for c in text if c.isalpha()), Counter[str]()
    for letter, number in letters.items():
        scripts[unicodedata.name(letter, "").partition(" ")[0]] += number
    if 2 * sum(scripts[script] for script in UNSPACED) <= letters.total():
        return "13a"
    kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
    is_japanese = 10 * kana > letters.total()  # the rest of Japanese is CJK, as Chinese is
    found = UNSPACED["HIRAGANA" if is_japanese else max(UNSPACED, key=scripts.__getitem__)]
    return found if found != "ja-mecab" or all(map(find_spec, ("MeCab", "ipadic"))) else "char"


METRICS: dict[str, Callable[[str], Metric]] = {
    "BLEU": lambda tokenizer: BLEU(tokenize=tokenizer),
    "BLEU, lower-cased": lambda tokenizer: BLEU(lowercase=True, tokenize=tokenizer),
    "chrF": lambda tokenizer: CHRF(),
}
"""The metrics of translations by name, each made for a tokenizer of sacreBLEU."""


def score_translations(translations: Sequence[str], references: Sequence[str]) -> list[Score]:
    """Compute BLEU (cased and lower-cased) and chrF by sacreBLEU, and exact matches in %.

    All texts are cleaned like the texts of a vocabulary, so that a letter is the same however it
    was typed. BLEU uses the tokenizer of :func:`bleu_tokenizer`.

    Raises:
        InputError: if the numbers of texts on the two sides differ or are 0, or one is not a text.
    """
    translations, references = (
        [*map(clean, each_text(texts))] for texts in (translations, references)
    )
    if len(translations) != len(references) or not references:
        raise InputError(
            f"there are {len(translations)} translations for {len(references)} references: "
            "there must be one for each, and at least one."
        )
    scores, tokenizer = [], bleu_tokenizer(references)
    for title, metric_for in METRICS.items():
        metric = metric_for(tokenizer)
        value = metric.corpus_score(translations, [references]).score
        scores.append(Score(title, value, str(metric.get_signature())))
    exact = sum(t == r for t, r in zip(translations, references, strict=True))
    return [*scores, Score("exact sentences", 100 * exact / len(references), "")]


def evaluate(
    model: NextTokenModel,
    vocabularies: Vocabularies,
    pairs: Sequence[TextPair | tuple[str]],
    search: Search,
    gold: Sequence[Links] | None = None,
) -> list[Score]:
    """Compute all scores of a model on sentence pairs, or the perplexity of texts without a source.

    The scores are those of :func:`score_translations`, the perplexity of the
    references, and, where gold alignments are known, the alignment error rate of each attention
    to the source.

    Raises:
        InputError: if there are no pairs, or one is longer than the model can read.
    """
    pairs = [*each_example(pairs)]
    examples, scores = vocabularies.encode(pairs), []
    *sources, targets = zip(*pairs, strict=True) if pairs else ((), ())
    for side in sources:
        scores += score_translations(translate(model, side, vocabularies, search), targets)
    forced = perplexity(model, examples)
    scores.append(Score("perplexity", forced, "teacher-forced, per target token"))
    errors = {} if gold is None else alignment_errors(model, examples, gold)
    scores += [Score("AER", error, f"{name}, mean of heads") for name, error in errors.items()]
    return scores
