"""LoRA against an explicit sum in float64, and merged."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from annotated_transformer.ground.errors import InputError
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.lora import LoRALinear, add_lora, merge_lora
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.training import Trainer, linear_schedule


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
    assert not any(p.requires_grad for p in model.parameters())  # until `requires_grad_()`


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


X = torch.randn(2, 3, 6)
WITH_TORCH = {
    "attention": (nn.MultiheadAttention(6, 2, batch_first=True), (X, X, X)),
    "encoder": (nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True), (X,)),
    "decoder": (nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0, batch_first=True), (X, X)),
}


@pytest.mark.parametrize("name", WITH_TORCH)
def test_layers_of_pytorch_take_it_in_training_and_on_their_fast_path(name):
    module, given = deepcopy(WITH_TORCH[name][0]), WITH_TORCH[name][1]
    add_lora(module, rank=2, alpha=3.0)
    merged = deepcopy(module)
    for part, same in zip(module.modules(), merged.modules(), strict=True):
        if isinstance(part, LoRALinear):
            nn.init.normal_(part.B)
            same.B.data = part.B.data
    merge_lora(merged)
    assert not any(isinstance(part, LoRALinear) for part in merged.modules())
    for mode in (True, False):
        with torch.set_grad_enabled(mode):  # without gradients PyTorch has a path of its own
            outputs = [both.train(mode)(*given) for both in (module, merged)]
            first, second = (y[0] if isinstance(y, tuple) else y for y in outputs)
        torch.testing.assert_close(first, second)
        if mode:
            first.sum().square().backward()
    trained = {name for name, p in module.named_parameters() if p.grad is not None}
    assert {name.rpartition(".")[2] for name in trained} == {"A", "B"}


def test_what_is_not_plain_is_refused_and_nothing_trains_after_merging():
    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    computed = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    for layer in (Doubled(2, 2), computed):
        module = nn.Sequential(nn.Linear(2, 2), layer)
        with pytest.raises(InputError, match=r"layer '1' is a \w+, it must be an nn.Linear that"):
            add_lora(module, rank=1)
        assert all(p.requires_grad for p in module.parameters())
    with pytest.raises(InputError, match=r"module is a ReLU, it must have an nn.Linear in it"):
        add_lora(nn.ReLU(), rank=1)
    with pytest.raises(InputError, match="alpha is nan, it must be above 0"):
        add_lora(module := nn.Sequential(nn.Linear(2, 2)), 1, float("nan"))
    assert all(p.requires_grad for p in module.parameters())
    with pytest.raises(InputError, match="module is a LoRALinear, it must be the module around"):
        merge_lora(LoRALinear(nn.Linear(2, 2), 1))
    add_lora(module := nn.Sequential(nn.Linear(2, 2)), rank=1)
    merge_lora(module)
    with pytest.raises(InputError, match="model has 2 parameters and none is trained"):
        Trainer(module, smoothed_cross_entropy, linear_schedule(0.1, 9))
