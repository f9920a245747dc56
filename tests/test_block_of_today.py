"""The modern block, made by settings alone, beside the decoder layers of Hugging Face."""

import pytest
import torch
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from annotated_transformer.gated_feed_forward import GatedFeedForward
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.rotary import pairs_from_halves
from annotated_transformer.tokens import BOS, PAD
from oracles import assert_close, randomise
from small_models import small_model

TODAY = {
    "norm": "rms", "norm_position": "pre", "activation": "swish", "gated": True, "bias": False,
    "positions": "rotary", "num_kv_heads": 2, "tie_output": False, "epsilon": 1e-6,
}  # fmt: skip
SIZES = {"d_model": 16, "num_layers": 2, "num_heads": 4, "d_k": 6, "d_v": 6, "d_ff": 20}
THEIRS = {
    "vocab_size": 13, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 20, "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False, "attn_implementation": "eager",
}  # fmt: skip
KINDS = {
    "llama": (LlamaForCausalLM, LlamaConfig, {}),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, {"qk_norm": True}),
}


def both(kind):
    """Our language model, and theirs with the same weights."""
    model, config, changes = KINDS[kind]
    theirs = randomise(model(config(**THEIRS)).double()).eval()
    given = TODAY | SIZES | {"has_source": False, "dropout": 0.0} | changes
    ours = LanguageModel(LanguageModelConfig(13, 13, **given)).double().eval()
    embedded = theirs.model.embed_tokens.weight / ours.tgt_embedding.scale
    weights = {
        "src_embedding.tokens": embedded,
        "tgt_embedding.tokens": embedded,
        "decoder_norm": theirs.model.norm.weight,
        "output": theirs.lm_head.weight,
    }
    for i, layer in enumerate(theirs.model.layers):
        look, network = layer.self_attn, layer.mlp
        parts = {
            "residual_1.norm": layer.input_layernorm,
            "residual_3.norm": layer.post_attention_layernorm,
            "self_attention.value": look.v_proj,
            "self_attention.output": look.o_proj,
            "feed_forward.gate": network.gate_proj,
            "feed_forward.inner": network.up_proj,
            "feed_forward.outer": network.down_proj,
        }
        weights |= {f"decoder.{i}.{name}": part.weight for name, part in parts.items()}
        turned = {"query": (look.q_proj, 4), "key": (look.k_proj, 2)}
        if kind == "qwen3":
            turned |= {"query_norm": (look.q_norm, 1), "key_norm": (look.k_norm, 1)}
        for name, (part, heads) in turned.items():
            weights[f"decoder.{i}.self_attention.{name}"] = pairs_from_halves(part.weight, heads)
    ours.load_state_dict({f"{name}.weight": tensor for name, tensor in weights.items()})
    return ours, theirs


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_it_is_the_model_of_hugging_face(kind):
    ours, theirs = both(kind)
    text = torch.tensor([[BOS, 5, 6, 7, 8, 5, 9], [BOS, 8, 9, 4, PAD, PAD, PAD]])
    real = text != PAD
    expected = theirs(text, attention_mask=real).logits
    # In float64, too, the library turns and normalises in float32.
    assert_close(ours(text)[real], expected[real], 1e-5)


@pytest.mark.parametrize("name", ["swish", "gelu", "relu"])
def test_a_gate_multiplies_each_hidden_unit(name):
    network, x = randomise(GatedFeedForward(4, 6, name)).double(), torch.randn(2, 3, 4).double()
    function = {"swish": F.silu, "gelu": F.gelu, "relu": F.relu}[name]
    expected = network.outer(function(network.gate(x)) * network.inner(x))
    assert_close(network(x), expected)


@pytest.mark.parametrize("kind", ["transformer", "language"])
def test_without_biases_no_linear_layer_has_one(kind):
    model = small_model(kind, **TODAY | {"num_kv_heads": 1, "qk_norm": True})
    linear = [part for part in model.modules() if isinstance(part, torch.nn.Linear)]
    assert all(part.bias is None for part in linear)
    assert not [name for name, _ in model.named_parameters() if name.endswith("bias")]
    norms = [part for part in model.modules() if isinstance(part, torch.nn.RMSNorm)]
    assert {norm.eps for norm in norms} == {1e-6}
    assert {norm.normalized_shape for norm in norms} == {(12,), (6,)}
