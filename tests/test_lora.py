"""LoRA against an explicit sum in float64, and merged."""

import pytest
import torch
from torch import nn

from annotated_transformer.errors import InputError
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.lora import LoRALinear, add_lora, merge_lora


@pytest.mark.parametrize(("rank", "alpha"), [(3, None), (2, 8.0)])
def test_it_is_the_frozen_layer_plus_a_product(rank, alpha):
    x, layer = torch.randn(2, 3, 7).double(), nn.Linear(7, 5).double()
    lora = LoRALinear(layer, rank, alpha)
    nn.init.normal_(lora.B)
    change = sum(torch.outer(lora.B[:, r], lora.A[r]) for r in range(rank))
    expected = nn.functional.linear(x, layer.weight + (alpha or rank) / rank * change, layer.bias)
    torch.testing.assert_close(lora(x), expected, rtol=0, atol=1e-12)


def test_a_model_is_as_before_at_first_and_the_same_when_merged():
    config = LanguageModelConfig.tiny(11, 11, has_source=False, dropout=0.0)
    model, ids = LanguageModel(config).double(), torch.tensor([[5, 6, 7], [8, 9, 0]])
    names, before = set(model.state_dict()), model(ids)
    add_lora(model.requires_grad_(False).decoder, rank=2)
    torch.testing.assert_close(model(ids), before, rtol=0, atol=0)
    layers = [module for module in model.modules() if isinstance(module, LoRALinear)]
    assert len(layers) == 2 * 6  # four of the attention, two of the network, in two layers
    trained = {name for name, p in model.decoder.named_parameters() if p.requires_grad}
    assert {name.rpartition(".")[2] for name in trained} == {"A", "B"}
    for layer in layers:
        nn.init.normal_(layer.B)
    changed = model(ids)
    assert (changed - before).abs().max() > 0.1
    merge_lora(model)
    assert set(model.state_dict()) == names
    torch.testing.assert_close(model(ids), changed, rtol=0, atol=1e-12)


def test_layers_inside_a_lora_are_merged_as_well():
    module, x = nn.Sequential(nn.Linear(3, 4)), torch.randn(2, 3)
    for _ in range(2):
        add_lora(module, rank=1)
    for part in module.modules():
        if isinstance(part, LoRALinear):
            nn.init.normal_(part.B)
    changed = module(x)
    merge_lora(module)
    assert type(module[0]) is nn.Linear
    torch.testing.assert_close(module(x), changed)


def test_shared_weights_are_refused_before_anything_changes():
    model = LanguageModel(LanguageModelConfig.tiny(11, 11))  # the output has the embeddings' matrix
    with pytest.raises(InputError, match="layer 'output' gets no LoRA"):
        add_lora(model, rank=2)
    assert all(p.requires_grad for p in model.parameters())
    with pytest.raises(InputError, match="it must be inside the module"):
        add_lora(nn.Linear(2, 2), rank=1)
    with pytest.raises(InputError, match="rank is 0"):
        LoRALinear(nn.Linear(2, 2), 0)
