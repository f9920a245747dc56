import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
    DeepseekV3Attention,
    DeepseekV3RotaryEmbedding,
)

from annotated_transformer.ground.errors import InputError
from annotated_transformer.latent_attention import LatentAttention
from annotated_transformer.masking import causal_mask
from annotated_transformer.transformer import remove_biases
from oracles import assert_close, randomise

SIZES = {"d_model": 16, "num_heads": 4, "d_k": 6, "d_v": 5, "d_latent": 7, "d_rotary": 4}
WAYS = {"rebuilt": False, "absorbed": True}


def layer(absorb=None):
    """A layer; one that always absorbs, or never does."""
    attention = randomise(LatentAttention(**SIZES)).double()
    if absorb is not None:
        attention.absorbs = lambda queries, positions: absorb
    return attention


@torch.no_grad()
@pytest.mark.parametrize("absorb", WAYS.values(), ids=WAYS)
def test_it_is_the_attention_of_deepseek_without_compressed_queries(absorb):
    ours = layer(absorb)
    remove_biases(ours)
    config = DeepseekV3Config(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=4, q_lora_rank=None,
        kv_lora_rank=7, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5,
        attn_implementation="eager",
    )  # fmt: skip
    theirs = randomise(DeepseekV3Attention(config, 0)).double()
    down = theirs.kv_a_proj_with_mqa.weight.split([7, 4])
    up = theirs.kv_b_proj.weight.unflatten(0, (4, -1)).split([6, 5], dim=1)
    weights = {
        "query": theirs.q_proj.weight,
        "value": down[0],
        "key": down[1],
        "latent_norm": theirs.kv_a_layernorm.weight,
        "key_up": up[0].flatten(0, 1),
        "value_up": up[1].flatten(0, 1),
        "output": theirs.o_proj.weight,
    }
    ours.load_state_dict({f"{name}.weight": tensor for name, tensor in weights.items()})
    x, mask = torch.randn(2, 5, 16).double(), causal_mask(5)
    turns = DeepseekV3RotaryEmbedding(config)(x, torch.arange(5)[None])
    hidden = torch.zeros(1, 1, 5, 5).double().masked_fill(~mask, -torch.inf)
    expected, _ = theirs(x, turns, hidden)
    # In float64, too, the library turns and normalises in float32.
    assert_close(ours(x, x, x, mask), expected, 1e-5)


@torch.no_grad()
def test_absorbing_changes_nothing():
    rebuilt, absorbed = layer(False), layer(True)
    absorbed.load_state_dict(rebuilt.state_dict())
    x, memory = torch.randn(2, 5, 16).double(), torch.randn(2, 7, 16).double()
    mask = torch.rand(2, 4, 5, 7) > 0.3
    assert_close(absorbed(x, memory, memory, mask), rebuilt(x, memory, memory, mask))


@torch.no_grad()
def test_it_reads_in_parts_as_at_once_and_keeps_one_latent_and_one_rotary_key_of_each():
    attention, x, mask = layer(), torch.randn(2, 6, 16).double(), causal_mask(6)
    whole, past, start = attention(x, x, x, mask), attention.empty(2), 0
    for end in (1, 3, 6):
        at, rows = torch.arange(start, end)[None], mask[:, :, start:end, :end]
        part, past = attention.extend(x[:, start:end], past, rows, at)
        assert_close(part, whole[:, start:end])
        assert past.length == end
        numbers = past.keys.numel() + past.values.numel()
        assert numbers == 2 * end * (SIZES["d_latent"] + SIZES["d_rotary"])
        start = end


@pytest.mark.parametrize("queries", [1, 3, 20])
@pytest.mark.parametrize("positions", [1, 5, 300])
def test_it_computes_in_the_way_of_fewer_operations(queries, positions):
    counts = []
    for absorb in (True, False, None):
        attention = layer(absorb).to("meta")
        x, memory = (torch.empty(1, n, 16).double().to("meta") for n in (queries, positions))
        seen = attention.project(memory, memory)
        with FlopCounterMode(display=False) as counter:
            attention.attend(x, seen)
        counts.append(counter.get_total_flops())
    assert counts[2] == min(counts[:2])


def test_a_size_that_cannot_be_is_refused():
    for name in ("d_k", "d_v", "d_latent", "d_rotary"):
        with pytest.raises(InputError, match=f"{name} is 0, it must be an integer, at least 1"):
            LatentAttention(**SIZES | {name: 0})
    with pytest.raises(InputError, match="d_rotary is 3, it must be even"):
        LatentAttention(**SIZES | {"d_rotary": 3})
