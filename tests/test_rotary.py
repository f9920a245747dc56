import math

import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from annotated_transformer.cross_attention import CrossAttention
from annotated_transformer.ground.errors import InputError
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
    yarn_amplitude,
)
from oracles import assert_close, randomise
from small_models import VOCAB, small_model


def test_a_rotation_is_a_product_of_complex_numbers():
    x, positions = torch.randn(2, 3, 5, 8).double(), torch.randint(0, 900, (2, 1, 5))
    frequencies = rotary_frequencies(8)
    for pair in range(4):
        assert abs(frequencies[pair] - math.pow(10000, -2 * pair / 8)) < 1e-15
    turns = torch.polar(torch.ones(()).double(), positions[..., None] * frequencies)
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (4, 2))) * turns)
    assert_close(rotate(x, positions, frequencies), expected.flatten(-2), 1e-12)


def test_columns_are_turned_in_pairs():
    for d_k in (1, 5):
        with pytest.raises(InputError, match=f"d_k is {d_k}, it must be even"):
            RotaryAttention(8, 2, d_k)
    with pytest.raises(InputError, match="d_k is 2, it must be at least 4"):
        ntk_aware(2, 10000.0, 4.0)


def llama(**changes):
    return LlamaConfig(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
        attention_bias=True, attn_implementation="eager", **changes,
    )  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize(("base", "dtype"), [(10000.0, torch.float32), (500.0, torch.float64)])
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


@pytest.mark.parametrize(("base", "factor"), [(10000.0, 2.0), (500.0, 8.0)])
@pytest.mark.parametrize(("d_k", "length"), [(16, 64), (128, 4096)])
def test_scaled_frequencies_are_those_of_hugging_face(d_k, length, factor, base):
    def theirs(kind, seq_len=None, **given):
        config = LlamaConfig(
            hidden_size=d_k, num_attention_heads=1, max_position_embeddings=length,
            rope_parameters={
                "rope_type": kind, "rope_theta": base, "factor": factor, **given
            },
        )  # fmt: skip
        return ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=seq_len)

    ours, near = rotary_frequencies(d_k, base), {"rtol": 1e-5, "atol": 0}
    torch.testing.assert_close(interpolated(ours, factor).float(), theirs("linear")[0], **near)
    # "Dynamic" NTK grows with the text: at this length its base is that of the fixed factor.
    long, _ = theirs("dynamic", seq_len=int(length * (2 - 1 / factor)))
    torch.testing.assert_close(ntk_aware(d_k, base, factor).float(), long, **near)
    scaled, amplitude = theirs("yarn", original_max_position_embeddings=length)
    torch.testing.assert_close(yarn(ours, base, factor, length).float(), scaled, **near)
    assert yarn_amplitude(factor) == pytest.approx(amplitude)


@pytest.mark.parametrize("changes", [{"num_kv_heads": 2}, {"rotary_base": 50.0, "qk_norm": True}])
@pytest.mark.parametrize("kind", ["transformer", "language"])
def test_a_decoder_turns_the_same_however_it_reads(kind, changes):
    sizes = {"positions": "rotary", "d_model": 16, "num_heads": 4}
    model = randomise(small_model(kind, **sizes | changes))
    attentions = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    assert {type(attention) for attention in attentions} <= {RotaryAttention, CrossAttention}
    src, tgt = (torch.randint(4, VOCAB, (2, length)) for length in (6, 5))
    logits = model(src, tgt)
    for sizes in ([1] * 5, [2, 3]):
        state, parts = model.start(src), []
        for tokens in tgt.split(sizes, dim=1):
            part, state = model.extend(state, tokens)
            parts.append(part)
        assert_close(torch.cat(parts, dim=1), logits, 1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_model_in_16_bits_still_tells_late_positions_apart(dtype):
    attention = RotaryAttention(16, 1).to(dtype)
    x, late = torch.randn(1, 1, 2, 16), torch.tensor([[900, 901]])
    exact = rotate(x, late[:, None], rotary_frequencies(16))
    turned = attention.with_positions(x.to(dtype), late)
    assert turned.dtype == dtype
    assert_close(turned.float(), exact, 0.05)
