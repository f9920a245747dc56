"""Rotary positions (RoPE): turn queries and keys, so that their scores depend on offsets alone."""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_number, require_sizes
from annotated_transformer.multi_head_attention import MultiHeadAttention


def rotary_frequencies(d_k: int, base: float = 10000.0) -> Float[Tensor, " pair"]:
    """Compute base^(−2i/d_k), by how many radians a position turns pair i of the columns.

    Source: Su et al. 2021, section 3.2.2.

    >>> rotary_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)

    Raises:
        InputError: if d_k is not an even integer of at least 2, or the base not above 1.
    """
    require_sizes(d_k=d_k)
    require_number("base", base, above=1.0)
    if d_k % 2:
        raise InputError(f"d_k is {d_k}, it must be even: columns are turned in pairs.")
    return base ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)


def rotate(
    x: Float[Tensor, "*batch time d_k"],
    positions: Int[Tensor, "*#batch time"],
    frequencies: Float[Tensor, " pair"],
) -> Float[Tensor, "*batch time d_k"]:
    """Turn columns 2i and 2i + 1 by the angle position · frequency of pair i, counterclockwise.

    The dot product of a query at p and a key at m depends on m − p alone.

    Source: Su et al. 2021, equation 34.
    """
    # At least in 32 bits, whatever x has: in bfloat16, positions above 256 are not even distinct.
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = positions[..., None] * frequencies.to(x.device, wide)  # (…, time, pair)
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]  # (…, time, pair)
    turned = first * cosine - second * sine, first * sine + second * cosine
    return torch.stack(turned, dim=-1).flatten(-2)


def pairs_from_halves(
    rows: Float[Tensor, "heads_d_k *rest"], num_heads: int
) -> Float[Tensor, "heads_d_k *rest"]:
    """Reorder the rows of W^Q or W^K, or its bias, from the pairs i and i + d_k/2 to 2i and 2i + 1.

    The first are those of Hugging Face's Llama, the second those of the paper. The scores of both
    are the same, because queries and keys are permuted alike.
    """
    return rows.view(num_heads, 2, -1, *rows.shape[1:]).transpose(1, 2).flatten(0, 2)


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
        super().__init__(*sizes)
        self.frequencies = rotary_frequencies(self.d_k, base)

    def with_positions(
        self, heads: Float[Tensor, "batch heads time d_k"], positions: Int[Tensor, "#batch time"]
    ) -> Float[Tensor, "batch heads time d_k"]:
        """Turn queries or keys by their positions."""
        return rotate(heads, positions[:, None], self.frequencies)


def interpolated(frequencies: Float[Tensor, " pair"], factor: float) -> Float[Tensor, " pair"]:
    """Divide all frequencies, so that a text longer by the factor turns no further than before.

    Source: position interpolation, Chen et al. 2023, equation 4.

    Raises:
        InputError: if the factor is not above 0 and finite.
    """
    require_number("factor", factor, above=0.0)
    return frequencies / factor


def ntk_aware(d_k: int, base: float, factor: float) -> Float[Tensor, " pair"]:
    """Raise the base, so that the slowest pair is divided by the factor and the fastest stays.

    Source: Peng et al. 2024 (YaRN), section 3.1.

    Raises:
        InputError: if d_k is 2: a single pair is both the slowest and the fastest; or if another
            number is out of its range.
    """
    rotary_frequencies(d_k, base)  # refuses what is out of range
    require_number("factor", factor, above=0.0)
    if d_k == 2:
        raise InputError("d_k is 2, it must be at least 4: the fastest pair is not slowed down.")
    return rotary_frequencies(d_k, base * factor ** (d_k / (d_k - 2)))


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

    Raises:
        InputError: if a number is out of its range.
    """
    require_sizes(length=length)
    require_number("base", base, above=1.0)
    d_k = 2 * len(frequencies)
    slow, fast = (
        d_k * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base)) for turns in (1, 32)
    )
    first, last = max(math.floor(fast), 0), min(math.ceil(slow), d_k - 1)
    pairs = torch.arange(len(frequencies), device=frequencies.device)
    share = ((pairs - first) / max(last - first, 0.001)).clamp(0, 1)
    return frequencies * (1 - share) + interpolated(frequencies, factor) * share


def yarn_amplitude(factor: float) -> float:
    """Compute 0.1 ln(factor) + 1, by which YaRN multiplies queries and keys after their turn.

    Source: Peng et al. 2024, section 3.4.

    Raises:
        InputError: if the factor is not above 0 and finite.
    """
    require_number("factor", factor, above=0.0)
    return 0.1 * math.log(factor) + 1
