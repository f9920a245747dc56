import math

import pytest
import torch

from annotated_transformer.ground.errors import InputError
from annotated_transformer.positional_encoding import (
    LearnedPositionalEncoding,
    NoPositionalEncoding,
    SinusoidalPositionalEncoding,
    sinusoidal_encoding,
)


@pytest.mark.parametrize("d_model", [2, 10, 64])
def test_every_entry_is_the_formula_of_the_paper(d_model):
    table = sinusoidal_encoding(50, d_model)
    for position in range(50):
        for pair in range(d_model // 2):
            angle = position / math.pow(10000, 2 * pair / d_model)
            assert abs(table[position, 2 * pair] - math.sin(angle)) < 1e-12
            assert abs(table[position, 2 * pair + 1] - math.cos(angle)) < 1e-12


@pytest.mark.parametrize("encoding", [SinusoidalPositionalEncoding, LearnedPositionalEncoding])
def test_position_decides_what_is_added_whatever_else_is_in_the_batch(encoding):
    encode = encoding(9, 6)
    x = torch.randn(2, 5, 6)
    assert torch.allclose(encode(x) - x, encode.table[:5].float().expand(2, -1, -1), atol=1e-6)
    assert torch.equal(encode(x)[:, 3:], encode(x[:, 3:], torch.tensor([[3, 4]])))
    each = torch.tensor([[0, 0, 0, 1, 2], [4, 5, 6, 7, 8]])  # the first is padded on the left
    assert torch.equal(
        encode(x, each),
        torch.stack([row + encode.table[at].float() for row, at in zip(x, each, strict=True)]),
    )
    assert len({tuple(row) for row in encode.table.tolist()}) == 9


def test_sines_are_rounded_once_and_belong_to_no_checkpoint():
    encode = SinusoidalPositionalEncoding(2000, 8)
    zeros = torch.zeros(1, 2000, 8)
    assert torch.equal(encode(zeros)[0], sinusoidal_encoding(2000, 8).float())
    assert encode(zeros.double()).dtype == torch.float64
    assert encode.state_dict() == {}
    assert list(encode.parameters()) == []


def test_learned_positions_are_drawn_as_large_as_embeddings_and_receive_gradients():
    encode = LearnedPositionalEncoding(500, 64)
    assert encode.table.mean().abs() < 0.04
    assert encode.table.std().item() == pytest.approx(1, rel=0.02)
    encode(torch.zeros(2, 3, 64)).sum().backward()
    assert torch.equal(encode.table.grad.sum(dim=1), torch.tensor([128.0] * 3 + [0.0] * 497))


def test_a_sine_needs_its_cosine():
    with pytest.raises(InputError, match="d_model is 5, it must be even"):
        sinusoidal_encoding(3, 5)


@pytest.mark.parametrize(
    "encoding",
    [SinusoidalPositionalEncoding, LearnedPositionalEncoding, NoPositionalEncoding],
)
def test_a_position_beyond_the_table_is_refused(encoding):
    encode = encoding(4, 6)
    assert encode(torch.zeros(1, 1, 6), torch.tensor([[3]])).shape == (1, 1, 6)
    assert encode(torch.zeros(1, 0, 6)).shape == (1, 0, 6)
    with pytest.raises(InputError, match="at position 4, counted from 0, and the model has 4"):
        encode(torch.zeros(1, 6, 6))
    for row, first in (([3, 4], 4), ([-1, 0], -1), ([3, 9], 9)):
        with pytest.raises(InputError, match=f"at position {first}, counted from 0"):
            encode(torch.zeros(2, 2, 6), torch.tensor([[0, 1], row]))


def test_no_encoding_adds_nothing():
    encode, x = NoPositionalEncoding(4, 6), torch.randn(2, 3, 6)
    assert torch.equal(encode(x), x)
    assert encode.state_dict() == {}
