import math

import pytest
import torch

from annotated_transformer.errors import InputError
from annotated_transformer.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    sinusoidal_encoding,
)
from oracles import assert_close


@pytest.mark.parametrize("d_model", [2, 10, 64])
def test_every_entry_is_the_formula_of_the_paper(d_model):
    table = sinusoidal_encoding(50, d_model)
    for position in range(50):
        for pair in range(d_model // 2):
            angle = position / math.pow(10000, 2 * pair / d_model)
            assert abs(table[position, 2 * pair] - math.sin(angle)) < 1e-12
            assert abs(table[position, 2 * pair + 1] - math.cos(angle)) < 1e-12


@pytest.mark.parametrize("d_model", [2, 10, 512])
def test_every_encoding_has_the_same_norm(d_model):
    norms = sinusoidal_encoding(200, d_model).norm(dim=1)
    assert_close(norms, torch.full_like(norms, math.sqrt(d_model / 2)))


@pytest.mark.parametrize("offset", [1, 7, -3])
def test_a_step_of_some_positions_is_one_rotation_wherever_it_starts(offset):
    d_model, positions = 12, torch.arange(3, 40)
    table = sinusoidal_encoding(60, d_model)
    blocks = []
    for pair in range(d_model // 2):
        angle = offset / 10000 ** (2 * pair / d_model)
        blocks.append(
            torch.tensor(
                [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]],
                dtype=torch.float64,
            )
        )
    rotation = torch.block_diag(*blocks)
    assert_close(rotation @ rotation.T, torch.eye(d_model, dtype=torch.float64))
    assert_close(table[positions] @ rotation.T, table[positions + offset])


@pytest.mark.parametrize("encoding", [SinusoidalPositionalEncoding, LearnedPositionalEncoding])
def test_position_decides_what_is_added_and_a_later_start_continues_the_table(encoding):
    encode = encoding(9, 6)
    x = torch.randn(2, 5, 6)
    assert torch.allclose(encode(x) - x, encode.table[:5].float().expand(2, -1, -1), atol=1e-6)
    assert torch.equal(encode(x)[:, 3:], encode(x[:, 3:], start=3))
    assert encode(x, start=4).shape == x.shape
    assert len({tuple(row) for row in encode.table.tolist()}) == 9


def test_sines_are_rounded_once_and_belong_to_no_checkpoint():
    encode = SinusoidalPositionalEncoding(2000, 8)
    zeros = torch.zeros(1, 2000, 8)
    assert torch.equal(encode(zeros)[0], sinusoidal_encoding(2000, 8).float())
    assert encode(zeros.double()).dtype == torch.float64
    assert encode.state_dict() == {}
    assert list(encode.parameters()) == []


def test_learned_positions_are_drawn_like_embeddings_and_receive_gradients():
    encode = LearnedPositionalEncoding(500, 64)
    assert encode.table.mean().abs() < 0.005
    assert encode.table.std().item() == pytest.approx(64**-0.5, rel=0.02)
    encode(torch.zeros(2, 3, 64)).sum().backward()
    assert torch.equal(encode.table.grad.sum(dim=1), torch.tensor([128.0] * 3 + [0.0] * 497))


def test_a_sine_needs_its_cosine():
    with pytest.raises(InputError, match="d_model is 5, it must be even"):
        sinusoidal_encoding(3, 5)


@pytest.mark.parametrize("encoding", [SinusoidalPositionalEncoding, LearnedPositionalEncoding])
def test_a_position_beyond_the_table_is_refused(encoding):
    encode = encoding(4, 6)
    assert encode(torch.zeros(1, 1, 6), start=3).shape == (1, 1, 6)
    with pytest.raises(InputError, match="the sentence has 5 positions, the model knows 4"):
        encode(torch.zeros(1, 5, 6))
    with pytest.raises(InputError, match="the sentence has 5 positions, the model knows 4"):
        encode(torch.zeros(1, 2, 6), start=3)
