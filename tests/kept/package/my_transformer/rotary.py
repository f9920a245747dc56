"""Rotary positions (RoPE): turn queries and keys, so that their scores depend on offsets alone."""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.errors import InputError
from annotated_transformer.inputs import require_sizes
from my_transformer.multi_head_attention import MultiHeadAttention

# To refuse is to raise an InputError.
# require_sizes(**sizes): Refuse sizes, given by name, that are not integers of at least 1.


def rotary_frequencies(d_k: int, base: float = 10000.0) -> Float[Tensor, " pair"]:
    """Compute base^(−2i/d_k), by how many radians a position turns pair i of the columns.

    Source: Su et al. 2021, section 3.2.2.

    >>> rotary_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)

    Raises:
        InputError: if d_k is not an even integer of at least 2.
    """
    raise NotImplementedError("rotary_frequencies: chapter 19")


def rotate(
    x: Float[Tensor, "*batch time d_k"],
    positions: Int[Tensor, "*#batch time"],
    frequencies: Float[Tensor, " pair"],
) -> Float[Tensor, "*batch time d_k"]:
    """Turn columns 2i and 2i + 1 by the angle position · frequency of pair i, counterclockwise.

    The dot product of a query at p and a key at m depends on m − p alone.

    Source: Su et al. 2021, equation 34.
    """
    raise NotImplementedError("rotate: chapter 19")


def pairs_from_halves(
    rows: Float[Tensor, "heads_d_k *rest"], num_heads: int
) -> Float[Tensor, "heads_d_k *rest"]:
    """Reorder the rows of W^Q or W^K, or its bias, from the pairs i and i + d_k/2 to 2i and 2i + 1.

    The first are those of Hugging Face's Llama, the second those of the paper. The scores of both
    are the same, because queries and keys are permuted alike.
    """
    raise NotImplementedError("pairs_from_halves: chapter 19")


class RotaryAttention(MultiHeadAttention):
    """Multi-head attention that turns queries and keys by their positions; values stay.

    ``frequencies`` are no buffer, so that no conversion of the model to 16 bits rounds them.

    Source: Su et al. 2021, section 3.2.2.
    """

    def __init__(self, *sizes: Any, base: float = 10000.0) -> None:
        """Make a layer of the same sizes as :class:`MultiHeadAttention`; d_k must be even.

        Raises:
            InputError: as for :class:`MultiHeadAttention`, or if d_k is odd.
        """
        # Its parts, by name: frequencies (rotary_frequencies).
        raise NotImplementedError("RotaryAttention.__init__: chapter 19")

    def with_positions(
        self, heads: Float[Tensor, "batch heads time d_k"], positions: Int[Tensor, "#batch time"]
    ) -> Float[Tensor, "batch heads time d_k"]:
        """Turn queries or keys by their positions."""
        raise NotImplementedError("RotaryAttention.with_positions: chapter 19")


def interpolated(frequencies: Float[Tensor, " pair"], factor: float) -> Float[Tensor, " pair"]:
    """Divide all frequencies, so that a text longer by the factor turns no further than before.

    Source: position interpolation, Chen et al. 2023, equation 4.
    """
    raise NotImplementedError("interpolated: chapter 19")


def ntk_aware(d_k: int, base: float, factor: float) -> Float[Tensor, " pair"]:
    """Raise the base, so that the slowest pair is divided by the factor and the fastest stays.

    Source: Peng et al. 2024 (YaRN), section 3.1.

    Raises:
        InputError: if d_k is 2: a single pair is both the slowest and the fastest.
    """
    raise NotImplementedError("ntk_aware: chapter 19")


def yarn(
    frequencies: Float[Tensor, " pair"],
    base: float,
    factor: float,
    length: int,
) -> Float[Tensor, " pair"]:
    """Keep pairs that turn often within the trained length, divide those that turn less than once.

    From the last pair with at least 32 turns to the first with at most one, the share of the
    division grows linearly in the number of the pair, as in the code that the authors published (in
    the paper it grows linearly in the turns). See :func:`yarn_amplitude` for its second part.

    Source: Peng et al. 2024, sections 3.2 and 3.3.
    """
    raise NotImplementedError("yarn: chapter 19")


def yarn_amplitude(factor: float) -> float:
    """Compute 0.1 ln(factor) + 1, by which YaRN multiplies queries and keys after their turn.

    Source: Peng et al. 2024, section 3.4.
    """
    raise NotImplementedError("yarn_amplitude: chapter 19")
