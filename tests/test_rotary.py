import math

import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from annotated_transformer.cross_attention import CrossAttention
from annotated_transformer.errors import InputError
from annotated_transformer.masking import causal_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.rotary import (
    RotaryAttention,
    interpolated,
    ntk_aware,
    pairs_from_halves,
    rotary_frequencies,
    rotate,
    yarn,
)
from oracles import BOTH_DTYPES, assert_close, randomise
from small_models import VOCAB, small_model


def test_a_rotation_is_a_product_of_complex_numbers():
    x, positions = torch.randn(2, 3, 5, 8).double(), torch.randint(0, 900, (2, 1, 5))
    frequencies = rotary_frequencies(8)
    for pair in range(4):
        assert abs(frequencies[pair] - math.pow(10000, -2 * pair / 8)) < 1e-15
    turns = torch.polar(torch.ones(()).double(), positions[..., None] * frequencies)
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (4, 2))) * turns)
    assert_close(rotate(x, positions, frequencies), expected.flatten(-2), 1e-12)


def test_scores_see_offsets_and_no_positions():
    query, key = torch.randn(2, 1, 5, 6).double(), torch.randn(2, 1, 5, 6).double()

    def scores(query_start, key_start):
        frequencies, at = rotary_frequencies(6), torch.arange(5)
        turned = rotate(query, at + query_start, frequencies)
        return turned @ rotate(key, at + key_start, frequencies).mT

    assert_close(scores(0, 0), scores(1000, 1000))
    assert (scores(0, 0) - scores(1, 0)).abs().max() > 0.1


@pytest.mark.parametrize("d_k", [1, 5])
def test_columns_are_turned_in_pairs(d_k):
    with pytest.raises(InputError, match=f"d_k is {d_k}, it must be even"):
        rotary_frequencies(d_k)
    with pytest.raises(InputError, match=f"d_k is {d_k}, it must be even"):
        RotaryAttention(8, 2, d_k)


def llama(**changes):
    return LlamaConfig(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
        attention_bias=True, attn_implementation="eager", **changes,
    )  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("base", [10000.0, 500.0])
@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_it_is_the_attention_of_llama_with_its_rows_in_another_order(dtype, base):
    config = llama(rope_theta=base)
    ours = randomise(RotaryAttention(16, 4, 6, 6, 2, base=base)).to(dtype)
    theirs = randomise(LlamaAttention(config, 0)).to(dtype)
    names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "o_proj"}
    for name, other in names.items():
        for kind, tensor in getattr(theirs, other).named_parameters():
            heads = {"query": 4, "key": 2}.get(name)
            tensor = pairs_from_halves(tensor, heads) if heads else tensor
            getattr(getattr(ours, name), kind).copy_(tensor)
    x, mask = torch.randn(2, 5, 16, dtype=dtype), causal_mask(5)
    turns = LlamaRotaryEmbedding(config)(x, torch.arange(5)[None])
    hidden = torch.zeros(1, 1, 5, 5, dtype=dtype).masked_fill(~mask, -torch.inf)
    expected, _ = theirs(x, turns, hidden)
    # In float64, too, the library turns by angles of float32.
    assert_close(ours(x, x, x, mask), expected, 1e-5)


@pytest.mark.parametrize("factor", [2.0, 8.0])
@pytest.mark.parametrize(("d_k", "length"), [(16, 64), (64, 64), (128, 4096), (64, 2048)])
def test_scaled_frequencies_are_those_of_hugging_face(d_k, length, factor):
    def theirs(kind, seq_len=None, **given):
        config = LlamaConfig(
            hidden_size=d_k, num_attention_heads=1, max_position_embeddings=length,
            rope_parameters={
                "rope_type": kind, "rope_theta": 10000.0, "factor": factor, **given
            },
        )  # fmt: skip
        return ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=seq_len)

    ours, near = rotary_frequencies(d_k), {"rtol": 1e-5, "atol": 0}
    torch.testing.assert_close(interpolated(ours, factor).float(), theirs("linear")[0], **near)
    # "Dynamic" NTK grows with the text: at this length its base is that of the fixed factor.
    long, _ = theirs("dynamic", seq_len=int(length * (2 - 1 / factor)))
    torch.testing.assert_close(ntk_aware(d_k, 10000.0, factor).float(), long, **near)
    scaled, amplitude = theirs("yarn", original_max_position_embeddings=length)
    torch.testing.assert_close(yarn(ours, 10000.0, factor, length).float(), scaled, **near)
    assert amplitude == pytest.approx(0.1 * math.log(factor) + 1)


def test_ntk_divides_the_slowest_pair_by_the_factor_and_keeps_the_fastest():
    before, after = rotary_frequencies(32), ntk_aware(32, 10000.0, 4.0)
    assert_close(before[0] / after[0], torch.tensor(1.0).double())
    assert_close(before[-1] / after[-1], torch.tensor(4.0).double())


@pytest.mark.parametrize(
    "changes",
    [{}, {"num_kv_heads": 2}, {"norm_position": "pre"}, {"rotary_base": 50.0, "qk_norm": True}],
)
@pytest.mark.parametrize("kind", ["transformer", "language"])
def test_a_decoder_turns_the_same_however_it_reads(kind, changes):
    sizes = {"positions": "rotary", "d_model": 16, "num_heads": 4}
    model = randomise(small_model(kind, **sizes | changes))
    attentions = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    assert {type(attention) for attention in attentions} <= {RotaryAttention, CrossAttention}
    src, tgt = (torch.randint(4, VOCAB, (2, length)) for length in (6, 5))
    logits = model(src, tgt)
    for cuts in ((1, 2, 3, 4, 5), (2, 5), (4, 5)):
        state, start = model.start(src), 0
        for end in cuts:
            part, state = model.extend(state, tgt[:, start:end])
            assert_close(part, logits[:, start:end], 1e-12)
            start = end


def test_turning_tells_the_order_of_the_words():
    src, tgt = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 6, 7]])
    for positions, tells in (("rotary", True), ("none", False)):
        model = randomise(small_model("transformer", positions=positions, d_model=16, num_heads=4))
        difference = (model(src, tgt) - model(src.flip(1), tgt)).abs().max()
        assert (difference > 1e-6) == tells
