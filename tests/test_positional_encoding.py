import math

import pytest
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import (
    LlamaAttention,
    LlamaRotaryEmbedding,
)

from annotated_transformer.cross_attention import CrossAttention
from annotated_transformer.errors import InputError
from annotated_transformer.masking import causal_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import (
    ENCODINGS,
    LearnedPositionalEncoding,
    PositionalEncoding,
    SinusoidalPositionalEncoding,
    sinusoidal_encoding,
)
from oracles import BOTH_DTYPES, assert_close, own_pairs, randomise, to_theirs
from small_models import VOCAB, small_model


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


@pytest.mark.parametrize("encoding", [SinusoidalPositionalEncoding, LearnedPositionalEncoding])
def test_a_position_beyond_the_table_is_refused(encoding):
    encode = encoding(4, 6)
    assert encode(torch.zeros(1, 1, 6), torch.tensor([[3]])).shape == (1, 1, 6)
    assert encode(torch.zeros(1, 0, 6)).shape == (1, 0, 6)
    with pytest.raises(InputError, match="at position 4, counted from 0, and the model has 4"):
        encode(torch.zeros(1, 6, 6))
    for row, first in (([3, 4], 4), ([-1, 0], -1), ([3, 9], 9)):
        with pytest.raises(InputError, match=f"at position {first}, counted from 0"):
            encode(torch.zeros(2, 2, 6), torch.tensor([[0, 1], row]))


# --- an encoding that turns queries and keys ------------------------------------------------------


class RotaryAttention(MultiHeadAttention):
    """Number i of the first half of a query or key, with number i of the second, is turned by
    position · 10000^(−2i/d_k). (Su et al. 2021, section 3.2.2; halves as Hugging Face has them.)"""

    def with_positions(self, heads, positions):
        pairs = torch.complex(*heads.double().chunk(2, dim=-1))
        frequencies = 10000.0 ** (-torch.arange(pairs.size(-1)).double() / pairs.size(-1))
        angles = positions[:, None, :, None] * frequencies  # (batch, 1, time, pair)
        turned = pairs * torch.polar(torch.ones_like(angles), angles)
        return torch.cat([turned.real, turned.imag], dim=-1).to(heads.dtype)


class RotaryEncoding(PositionalEncoding):
    """Adds nothing: positions are told to queries and keys."""

    attention = RotaryAttention

    def __init__(self, max_length, d_model):
        super().__init__()
        self.register_buffer("table", torch.zeros(max_length, d_model), persistent=False)


@pytest.fixture
def rotary(monkeypatch):
    """A Transformer of an encoding that the package does not know."""
    monkeypatch.setitem(ENCODINGS, "rotary", RotaryEncoding)

    def build(**changes):
        sizes = {"positions": "rotary", "d_model": 16, "num_heads": 4}
        return randomise(small_model("transformer", **sizes | changes))

    return build


def llama(**changes):
    return LlamaConfig(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
        attention_bias=True, attn_implementation="eager", **changes,
    )  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_an_attention_that_turns_is_that_of_llama(dtype):
    ours, theirs = RotaryAttention(16, 4, 6, 6, 2).to(dtype), LlamaAttention(llama(), 0).to(dtype)
    names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "o_proj"}
    for name, other in names.items():
        to_theirs(own_pairs(randomise(getattr(ours, name)), getattr(theirs, other)))
    x, mask = torch.randn(2, 5, 16, dtype=dtype), causal_mask(5)
    turns = LlamaRotaryEmbedding(llama())(x, torch.arange(5)[None])
    hidden = torch.zeros(1, 1, 5, 5, dtype=dtype).masked_fill(~mask, -torch.inf)
    expected, _ = theirs(x, turns, hidden)
    # In float64, too, the library turns by angles of float32.
    assert_close(ours(x, x, x, mask), expected, 1e-5)


@pytest.mark.parametrize("changes", [{}, {"num_kv_heads": 2}, {"norm_position": "pre"}])
def test_a_decoder_turns_the_same_however_it_reads(rotary, changes):
    model = rotary(**changes)
    kinds = {type(layer.self_attention) for layer in (*model.encoder, *model.decoder)}
    assert kinds == {RotaryAttention}
    assert {type(layer.cross_attention) for layer in model.decoder} == {CrossAttention}
    src, tgt = (torch.randint(4, VOCAB, (2, length)) for length in (6, 5))
    logits = model(src, tgt)
    for cuts in ((1, 2, 3, 4, 5), (2, 5), (4, 5)):
        state, start = model.start(src), 0
        for end in cuts:
            part, state = model.extend(state, tgt[:, start:end])
            assert_close(part, logits[:, start:end], 1e-12)
            start = end


def test_turning_tells_the_order_of_the_words(rotary):
    model = rotary()
    src, tgt = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 6, 7]])
    assert (model(src, tgt) - model(src.flip(1), tgt)).abs().max() > 1e-6
    for layer in (*model.encoder, *model.decoder):
        layer.self_attention.__class__ = MultiHeadAttention
    assert_close(model(src, tgt), model(src.flip(1), tgt))
