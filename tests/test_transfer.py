"""μP takes the steps of its published form (Yang et al. 2022, table 8), in any width."""

from copy import deepcopy

import pytest
import torch
from torch.nn import functional as F

from annotated_transformer.ground.errors import InputError
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.transfer import scale_logits, width_groups
from oracles import assert_close

BASE = {"norm_position": "pre", "dropout": 0.0, "has_source": False, "num_layers": 2}
TODAY = {"positions": "learned", "norm": "rms", "num_kv_heads": 1, "gated": True, "qk_norm": True}
TEXT = torch.randint(1, 11, (4, 9), generator=torch.Generator().manual_seed(0))


def config(m=1, **changes):
    sizes = {"d_model": 8 * m, "d_ff": 24 * m, "num_heads": 2 * m} | BASE | changes
    return LanguageModelConfig(11, 11, **sizes | ({"num_kv_heads": m} if changes == TODAY else {}))


def train(model, optimizer, steps=3):
    """Return the logits before and after each step."""
    logits = [model(TEXT)]
    for _ in range(steps):
        model.zero_grad()
        F.cross_entropy(logits[-1][:, :-1].mT, TEXT[:, 1:]).backward()
        optimizer.step()
        logits.append(model(TEXT))
    return torch.stack(logits).detach()


def published(model, base, m, lr):
    """As microsoft/mup writes it: an axis that differs from the base's is a width."""
    for weight in {model.tgt_embedding.tokens.weight, model.output.weight}:
        weight.data *= m**0.5  # of a size that does not depend on the width
    model.tgt_embedding.scale /= m**0.5
    model.output.register_forward_pre_hook(lambda _, inputs: inputs[0] / m)
    pairs = zip(model.parameters(), LanguageModel(base).parameters(), strict=True)
    widths = [(p, sum(a != b for a, b in zip(p.shape, q.shape, strict=True))) for p, q in pairs]
    return [{"params": p, "lr": lr / m if axes == 2 else lr} for p, axes in widths]


@pytest.mark.parametrize("changes", [{}, {"tie_output": False}, TODAY])
@pytest.mark.parametrize("m", [1, 3])
def test_its_steps_are_those_of_the_published_form(changes, m):
    base, ours = config(**changes), LanguageModel(config(m, **changes)).double()
    theirs = deepcopy(ours)
    scale_logits(ours, base)
    groups = width_groups(ours, base, 0.01), published(theirs, base, m, 0.01)
    mine, other = (torch.optim.Adam(group, eps=1e-30) for group in groups)
    assert_close(train(ours, mine), train(theirs, other), 1e-9)


def moved(m, transferred):
    """How far three steps move the logits, on average."""
    model = LanguageModel(config(m)).double()
    if transferred:
        scale_logits(model, config())
    groups = width_groups(model, config(), 0.001) if transferred else model.parameters()
    logits = train(model, torch.optim.Adam(groups, 0.001))
    return (logits[-1] - logits[0]).abs().mean()


def test_only_with_it_a_step_moves_a_wide_model_about_as_far_as_a_narrow_one():
    ratios = [moved(32, transferred) / moved(2, transferred) for transferred in (True, False)]
    assert 1 / 2 < ratios[0] < 2
    assert ratios[1] > 4  # sixteen times as wide


OTHERS = [("d_ff", 24), ("num_heads", 2), ("num_layers", 3), ("norm_position", "post")]


@pytest.mark.parametrize(("name", "value"), OTHERS)
def test_what_differs_in_more_than_width_is_refused(name, value):
    model = LanguageModel(config(2, **{name: value}))
    with pytest.raises(InputError, match=f"^{name}.*({value}|rule)"):
        width_groups(model, config(), 0.1)
