"""LoRA against an explicit sum in float64 and PyTorch's parametrisation, and merged."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from annotated_transformer.errors import InputError
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.lora import LoRALinear, add_lora, merge_lora


class Change(nn.Module):
    """Add a change of low rank to a matrix, as PyTorch's parametrisations do."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def forward(self, weight):
        return weight + self.change


def trained(layer):
    """Give B numbers as if it had been trained."""
    nn.init.normal_(layer.B)
    return layer


@pytest.mark.parametrize(("rank", "alpha"), [(1, None), (3, None), (2, 8.0)])
def test_it_is_the_frozen_layer_plus_a_product(rank, alpha):
    x, layer = torch.randn(2, 3, 7).double(), nn.Linear(7, 5).double()
    lora = trained(LoRALinear(layer, rank, alpha))
    expected, factor = layer(x), (alpha or rank) / rank
    for i in range(5):
        for r in range(rank):
            for j in range(7):
                expected[..., i] += factor * lora.B[i, r] * lora.A[r, j] * x[..., j]
    torch.testing.assert_close(lora(x), expected, rtol=0, atol=1e-12)
    other = nn.Linear(7, 5).double()
    other.load_state_dict(layer.state_dict())
    parametrize.register_parametrization(other, "weight", Change(factor * lora.B @ lora.A))
    torch.testing.assert_close(lora(x), other(x), rtol=0, atol=1e-12)


def test_nothing_changes_at_first_and_only_a_and_b_are_trained():
    layer, x = nn.Linear(4, 6).double(), torch.randn(3, 4).double()
    before, lora = layer(x), LoRALinear(layer, 2)
    assert torch.equal(lora(x), before)
    lora(x).square().sum().backward()
    assert {name for name, p in lora.named_parameters() if p.grad is not None} == {"A", "B"}
    assert lora.B.grad.any()
    assert not lora.A.grad.any()  # as long as B is zero


def test_a_merged_model_is_the_same_and_as_it_was_made():
    torch.manual_seed(0)
    config = LanguageModelConfig.tiny(11, 11, has_source=False, dropout=0.0)
    model, ids = LanguageModel(config).double(), torch.tensor([[5, 6, 7], [8, 9, 0]])
    names, before = set(model.state_dict()), model(ids)
    model.requires_grad_(False)
    add_lora(model.decoder, rank=2)
    torch.testing.assert_close(model(ids), before, rtol=0, atol=0)
    layers = [trained(m) for m in model.modules() if isinstance(m, LoRALinear)]
    assert len(layers) == 2 * 6  # four of the attention, two of the network, in two layers
    assert sum(p.requires_grad for p in model.parameters()) == 2 * len(layers)
    changed = model(ids)
    assert (changed - before).abs().max() > 0.1
    merge_lora(model)
    assert set(model.state_dict()) == names
    torch.testing.assert_close(model(ids), changed, rtol=0, atol=1e-12)


def test_a_rank_of_zero_is_refused():
    with pytest.raises(InputError, match="rank is 0"):
        LoRALinear(nn.Linear(2, 2), 0)
