"""Positional encoding: give attention, which ignores order, the position of each token."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.errors import InputError
from annotated_transformer.inputs import require_sizes
from my_transformer.multi_head_attention import first_positions

# To refuse is to raise an InputError.
# require_sizes(**sizes): Refuse sizes, given by name, that are not integers of at least 1.


def sinusoidal_encoding(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    """Compute PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(the same).

    i counts *pairs* of dimensions: a sine and a cosine of one frequency. Positions begin at 0.
    Angles are in radians; the result is in float64, so that the caller rounds once.

    Source: Vaswani et al. 2017, section 3.5.

    >>> sinusoidal_encoding(2, 4).round(decimals=4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 1.0000]], dtype=torch.float64)

    Raises:
        InputError: if d_model is odd, or if length or d_model is not an integer of at least 1.
    """
    raise NotImplementedError("sinusoidal_encoding: chapter 7")


class PositionalEncoding(nn.Module):
    """Adds a vector for its position to each embedding."""

    table: Tensor

    def forward(
        self,
        x: Float[Tensor, "batch time d_model"],
        positions: Int[Tensor, "#batch time"] | None = None,
    ) -> Float[Tensor, "batch time d_model"]:
        """Add the vectors of these positions (``None``: 0, 1, …) to ``x``.

        They are one row for all sentences, or one row for each: they do not begin with 0 where a
        decoder reads tokens one by one, and they differ where sentences are padded on the left.

        Raises:
            InputError: if a position is outside the table.
        """
        raise NotImplementedError("PositionalEncoding.forward: chapter 7")


class SinusoidalPositionalEncoding(PositionalEncoding):
    """The fixed sines and cosines of :func:`sinusoidal_encoding`, without parameters."""

    def __init__(self, max_length: int, d_model: int) -> None:
        raise NotImplementedError("SinusoidalPositionalEncoding.__init__: chapter 7")


class LearnedPositionalEncoding(PositionalEncoding):
    """One learned vector per position; positions from ``max_length`` on have none.

    The vectors are initialised with variance 1, like the embeddings to which they are added. No
    source prescribes it; in the book's record `transformers`, vectors of norm 1 learned worse.

    Source: Gehring et al. 2017, section 3.1; compared in Vaswani et al. 2017, Table 3, row E.
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        # Its parts, by name: table (nn.Parameter).
        raise NotImplementedError("LearnedPositionalEncoding.__init__: chapter 7")


class NoPositionalEncoding(PositionalEncoding):
    """Adds nothing: positions are encoded in queries and keys, or nowhere."""

    def __init__(self, max_length: int, d_model: int) -> None:
        raise NotImplementedError("NoPositionalEncoding.__init__: chapter 7")


ENCODINGS: dict[str, type[PositionalEncoding]] = {
    "sinusoidal": SinusoidalPositionalEncoding,
    "learned": LearnedPositionalEncoding,
    "rotary": NoPositionalEncoding,
    "none": NoPositionalEncoding,
}
"""What is added to the embeddings, by name, made from the number of positions and d_model."""
