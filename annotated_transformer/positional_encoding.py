"""Positional encoding: give attention, which ignores order, the position of each token."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_sizes
from annotated_transformer.multi_head_attention import first_positions


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
    require_sizes(length=length, d_model=d_model)
    if d_model % 2:
        raise InputError(f"d_model is {d_model}, it must be even: every sine needs its cosine.")
    position = torch.arange(length, dtype=torch.float64)[:, None]  # (length, 1)
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (pair)
    angle = position * frequency  # (length, pair)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


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
        positions = first_positions(x) if positions is None else positions
        unknown = (positions < 0) | (positions >= len(self.table))
        if not unknown.is_meta and unknown.any():  # a meta tensor has no values
            raise InputError(
                f"a token is at position {positions[unknown][0]}, counted from 0, and the "
                f"model has {len(self.table)} positions: shorten the sentence or build the model "
                "with a larger max_length."
            )
        return x + self.table[positions].to(x.dtype)


class SinusoidalPositionalEncoding(PositionalEncoding):
    """The fixed sines and cosines of :func:`sinusoidal_encoding`, without parameters."""

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        table = sinusoidal_encoding(max_length, d_model)
        self.register_buffer("table", table, persistent=False)


class LearnedPositionalEncoding(PositionalEncoding):
    """One learned vector per position; positions from ``max_length`` on have none.

    The vectors are initialised with variance 1, like the embeddings to which they are added. No
    source prescribes it; in the book's record `transformers`, vectors of norm 1 learned worse.

    Source: Gehring et al. 2017, section 3.1; compared in Vaswani et al. 2017, Table 3, row E.
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        require_sizes(max_length=max_length, d_model=d_model)
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_length, d_model))


class NoPositionalEncoding(PositionalEncoding):
    """Adds nothing: positions are encoded in queries and keys, or nowhere."""

    def __init__(self, max_length: int, d_model: int) -> None:
        require_sizes(max_length=max_length, d_model=d_model)
        super().__init__()
        self.register_buffer("table", torch.zeros(max_length, 1), persistent=False)


ENCODINGS: dict[str, type[PositionalEncoding]] = {
    "sinusoidal": SinusoidalPositionalEncoding,
    "learned": LearnedPositionalEncoding,
    "none": NoPositionalEncoding,
}
"""What is added to the embeddings, by name, made from the number of positions and d_model."""
