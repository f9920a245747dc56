from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.batches import pad
from annotated_transformer.tokens import BOS, EOS, PAD
from transformer_workbook.judge import derivation, exercise, letters, normal


@exercise(
    [
        ([5, 6], [7, 8, 9]),
        ([9], [4, 4]),
        ([6, 7, 8, 5], [9]),
        ([4, 8, 8], [5, 9, 6, 7, 4]),
    ],
    whole=True,
)
def text_and_targets(src: list[int], tgt: list[int]) -> tuple[list[int], list[int]]:
    """Make the text that a language model reads of a pair, and the targets of its loss."""
    text = [*src, EOS, BOS, *tgt]
    prompt = len(src) + 1
    targets = [PAD] * prompt + [*tgt, EOS]
    return text, targets


def positions_of_tokens(answer: Callable[..., Any], ids: Tensor) -> Any:
    """Ask for positions; that of padding, which nobody sees, may be any from 0 on."""
    positions = answer(ids)
    if not isinstance(positions, Tensor) or positions.shape != ids.shape:
        return positions
    return positions.where((ids != PAD) | (positions < 0), 0)


@exercise(
    [
        (pad([[1, 5, 6], [1, 7]]).flip(1),),  # padded on the left
        (torch.tensor([[0, 0, 1, 7], [0, 1, 8, 9], [1, 5, 6, 7]]),),
        (torch.tensor([[5, 2, 0, 1, 9], [6, 7, 2, 1, 8]]),),  # in the middle, behind a source
        (pad([[1, 4, 9, 8, 6, 5], [1], [1, 5, 8], [1, 6]]),),  # on the right
    ],
    ask=positions_of_tokens,
    whole=True,
)
def token_positions(ids: Int[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
    """Count the positions of tokens, wherever the padding is; the friend counts columns."""
    real = ids != PAD
    counted = real.cumsum(dim=1)
    positions = counted - 1
    return positions * real


@exercise(
    [
        (normal(2, 3, 5, seed=0), torch.tensor([[1, 3, 4], [1, 4, 0]])),
        (normal(3, 4, 6, seed=1).float(), torch.tensor([[1, 5, 4, 3], [1, 3, 5, 0], [1, 4, 0, 0]])),
        (normal(4, 3, 7, seed=2), torch.tensor([[1, 6, 4], [1, 5, 0], [1, 3, 5], [1, 6, 0]])),
    ]
)
def next_token_loss(
    logits: Float[Tensor, "batch time vocab"], ids: Int[Tensor, "batch time"]
) -> Float[Tensor, ""]:
    """Compute the loss of every next token of a text; the friend shifts the targets twice."""
    predicted = logits[:, :-1]
    targets = ids[:, 1:]
    return F.cross_entropy(predicted.mT, targets, ignore_index=PAD)


@derivation([(2, 64, 256), (6, 8, 20), (3, 5, 12)])
def sizes_of_the_same_model(num_layers: int, d: int, d_ff: int) -> tuple[float | int, ...]:
    """Give a language model as many parameters as an encoder–decoder, in four steps."""
    attention = 4 * (d * d + d)
    feed_forward = 2 * d * d_ff + d_ff + d
    norm = 2 * d
    both_stacks = num_layers * (3 * attention + 2 * feed_forward + 5 * norm)
    layer = attention + feed_forward + 2 * norm
    layers = both_stacks / layer
    room = both_stacks / (2 * num_layers) - attention - 2 * norm - d
    wider = room / (2 * d + 1)
    return both_stacks, layer, layers, wider


@letters
def with_a_prefix_mask() -> str:
    """Does a model that was trained with a causal mask translate better with a prefix mask?"""
    return "C"  # the notebook's solution tries it
