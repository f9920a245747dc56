"""Alignment: which source word belongs to which target word, and how well attention finds it."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.batches import Batch
from annotated_transformer.bitext import Bitext, Example
from annotated_transformer.capture import Captured, capture_attention, join_calls
from annotated_transformer.corpora import Links
from annotated_transformer.devices import device_of
from annotated_transformer.errors import InputError
from annotated_transformer.inputs import require_whole
from annotated_transformer.translator import evaluating


def forced_attention(
    model: torch.nn.Module, src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
) -> Captured:
    """The attention of a model that is made to say the given translations.

    ``tgt_in`` begins with ``BOS``, so row t of a cross-attention is what was attended to when
    target token t was *predicted*, not when it was read.
    """
    with evaluating(model), capture_attention(model) as captured:
        model(src, tgt_in)
    return {name: [join_calls(calls)] for name, calls in captured.items()}


def strongest_links(weights: Float[Tensor, "tgt src"], tgt_length: int, src_length: int) -> Links:
    """Link every target token with the one source token that it attends to most.

    Raises:
        InputError: if the weights are no table of at least so many tokens.
    """
    if weights.dim() != 2 or not all(
        0 <= length <= size
        for length, size in zip((tgt_length, src_length), weights.shape, strict=True)
    ):
        raise InputError(
            f"weights have the shape {list(weights.shape)}, they must be a table of at least "
            f"{tgt_length} rows and {src_length} columns."
        )
    if not src_length:
        return frozenset()
    best = weights[:tgt_length, :src_length].argmax(dim=-1).tolist()
    return frozenset((source, target) for target, source in enumerate(best))


def alignment_error_rate(predicted: Sequence[Links], gold: Sequence[Links]) -> float:
    """AER = ``1 − 2 |A ∩ G| / (|A| + |G|)`` over all sentences: 0 is perfect, 1 all wrong.

    Target words that the gold alignment links to nothing (particles, say) have no right answer;
    predicted links to them are left out of A.

    Source: Och and Ney 2003, section 5, with every gold link sure.

    >>> alignment_error_rate([frozenset({(0, 0), (1, 1), (1, 2)})], [frozenset({(0, 0), (2, 1)})])
    0.5

    Raises:
        InputError: if there are not as many predicted as gold alignments, or no link at all.
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
            f"{predicted} predicted alignments stand against {gold} gold ones: "
            "there must be one for each sentence."
        )


def alignment_errors(
    model: torch.nn.Module,
    examples: Sequence[Example],
    gold: Sequence[Links],
    batch_size: int = 100,
) -> dict[str, float]:
    """The alignment error rate of every attention to the source, heads averaged.

    The model is made to say the right translations. The end symbol of the source is left out.

    Raises:
        InputError: if there are not as many examples as gold alignments, or no link at all.
    """
    require_whole("batch_size", batch_size, 1)
    _require_as_many(len(examples), len(gold))
    found: dict[str, list[Links]] = {}
    bitext = Bitext.of(examples)
    for start in range(0, len(bitext), batch_size):
        part = bitext[start : start + batch_size]
        batch = Batch.of(part, device_of(model))
        for name, [weights] in forced_attention(model, batch.src, batch.tgt_in).items():
            if "self_attention" not in name:
                found.setdefault(name, []).extend(
                    strongest_links(matrix, len(tgt), len(src))
                    for matrix, (src, tgt) in zip(weights.mean(dim=1), part, strict=True)
                )
    return {name: alignment_error_rate(links, gold) for name, links in found.items()}
