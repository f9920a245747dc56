"""Positional encoding: biases that grow with the distance."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.judge.exercises import Exercise


def _alibi_biases(length: int, heads: int) -> Float[Tensor, "heads query key"]:
    """The biases of ALiBi: what each head adds to the score of every query and key."""
    place = torch.arange(length)
    ratio = 2 ** (-8 / heads)
    factor = torch.tensor([ratio**head for head in range(1, heads + 1)])
    return -factor[:, None, None] * (place.unsqueeze(1) - place).abs()


def _wrong(
    factor: Callable[[int, int], float] = lambda h, heads: 2 ** (-8 * h / heads),
    first: int = 1,
    distance: Callable[[Tensor], Tensor] = torch.abs,
    sign: int = -1,
) -> Callable[[int, int], Tensor]:
    """Biases with other factors, another first head, or another distance of query less key."""

    def biases(length: int, heads: int) -> Tensor:
        place = torch.arange(length)
        factors = torch.tensor([float(factor(h, heads)) for h in range(first, first + heads)])
        return sign * factors[:, None, None] * distance(place[:, None] - place)

    return biases


alibi_biases = Exercise(
    reference=_alibi_biases,
    given={
        "the heads are counted from 0; here the first one is h = 1.": _wrong(first=0),
        "the heads are counted from 2; the first one is h = 1.": _wrong(first=2),
        "the exponent is cut to a whole number: // in place of /.": (
            _wrong(lambda h, heads: 2.0 ** -(8 * h // heads))
        ),
        "−8h // H is a whole number, rounded down; divide by /.": (
            _wrong(lambda h, heads: 2.0 ** (-8 * h // heads))
        ),
        "8 // H is a whole number; multiply 8 by h, and divide by /.": (
            _wrong(lambda h, heads: 2.0 ** -(8 // heads * h))
        ),
        "the 8 is missing in the exponent, −8h/H.": _wrong(lambda h, heads: 2 ** (-h / heads)),
        "H is missing in the exponent, −8h/H.": _wrong(lambda h, heads: 2 ** (-8 * h)),
        "h and H are multiplied in the exponent, −8h/H.": (
            _wrong(lambda h, heads: 2.0 ** (-8 * h * heads))
        ),
        "this is −8h/H itself times the distance; it is the exponent of 2.": (
            _wrong(lambda h, heads: 8 * h / heads)
        ),
        "keys after the query have −∞; hiding them is left to the mask.": (
            _wrong(distance=lambda x: x.double().masked_fill(x < 0, torch.inf))
        ),
        "keys before the query have bias 0; they get one as those after it do.": (
            _wrong(distance=lambda x: (-x).clamp(min=0))
        ),
        "the root of the distance stands here; it is the distance itself.": (
            _wrong(distance=lambda x: x.abs().sqrt())
        ),
        "the distances do not differ from head to head: the factors are missing.": (
            _wrong(lambda h, heads: 1)
        ),
        "this grows with the key's position; it is the distance that counts.": (
            lambda length, heads: _alibi_biases(length, heads)[:, :1].expand(-1, length, -1)
        ),
        "this grows with the query's position; it is the distance that counts.": (
            lambda length, heads: _alibi_biases(length, heads)[:, :, :1].expand(-1, -1, length)
        ),
        "the minus is missing: what is far away must lose.": _wrong(sign=1),
        "this is 2 to the power of −h in every case; the exponent is −8h/H.": (
            _wrong(lambda h, heads: 2**-h)
        ),
        "** comes before * and /: put the whole exponent into brackets.": (
            _wrong(lambda h, heads: 2**-8 * h / heads)
        ),
        "h and H are swapped in the exponent.": _wrong(lambda h, heads: 2 ** (-8 * heads / h)),
        "h is missing in the exponent: all heads have the same factor.": (
            _wrong(lambda h, heads: 2 ** (-8 / heads))
        ),
        "the exponent is positive: no factor of ALiBi is above 1.": (
            _wrong(lambda h, heads: 2 ** (8 * h / heads))
        ),
        "this is e to the power of −8h/H; the base is 2.": (
            _wrong(lambda h, heads: float(torch.tensor(-8 * h / heads).exp()))
        ),
        "the heads stand in the opposite order: the first one has the largest factor.": (
            lambda length, heads: _alibi_biases(length, heads).flip(0)
        ),
        "keys after the query get a positive bias; a distance has no sign.": (
            _wrong(distance=lambda x: x)
        ),
        "keys before the query get a positive bias; a distance has no sign.": (
            _wrong(distance=lambda x: -x)
        ),
        "keys after the query have bias 0; hiding them is left to the mask.": (
            _wrong(distance=lambda x: x.clamp(min=0))
        ),
        "the distance is squared.": _wrong(distance=torch.square),
        "a word is one place away from itself here; that is 0.": (
            _wrong(distance=lambda x: x.abs() + 1)
        ),
        "these are the factors; multiply them by the distances.": (
            _wrong(distance=torch.ones_like, sign=1)
        ),
        "the axes are (query, key, heads); the heads come first.": (
            lambda length, heads: _alibi_biases(length, heads).permute(1, 2, 0)
        ),
    },
    cases=[(3, 2), (5, 8), (2, 4), (6, 3)],
)
