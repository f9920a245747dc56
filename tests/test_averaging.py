import pytest
import torch
from torch import nn

from annotated_transformer.ground.errors import InputError
from annotated_transformer.training import WeightAverage


def walk(decay, steps):
    """The average, after the weights of a model were moved at random; the weights on the way."""
    model = nn.Linear(3, 2).double()
    average = WeightAverage(model, decay)
    passed = [model.weight.detach().clone()]
    for step in range(1, steps + 1):
        with torch.no_grad():
            model.weight += torch.randn(2, 3, dtype=torch.float64)
        average.update(model, step)
        passed.append(model.weight.detach().clone())
    return average.weights["weight"], passed


@pytest.mark.parametrize("decay", [0.0, 0.15, 0.5, 0.99])
def test_equals_the_sum_written_out(decay):
    ours, passed = walk(decay, 40)
    decays = [min(decay, (1 + t) / (10 + t)) for t in range(1, 41)]
    total, share = torch.zeros_like(ours), 1.0
    for weights, beta in zip(reversed(passed[1:]), reversed(decays), strict=True):
        total += share * (1 - beta) * weights
        share *= beta
    torch.testing.assert_close(ours, total + share * passed[0], rtol=0, atol=1e-12)


def test_the_average_is_no_part_of_what_is_learned():
    """Else it would hold on to every step that it has seen."""
    ours, _ = walk(0.9, 2)
    assert not ours.requires_grad


@pytest.mark.parametrize("decay", [-0.1, 1.0, 1.5])
def test_decay_outside_its_range(decay):
    with pytest.raises(InputError, match=f"decay is {decay}, it must be at least 0 and below 1"):
        WeightAverage(nn.Linear(1, 1), decay)
