"""Muon against PyTorch's own, step by step, and its iteration against the singular vectors."""

import pytest
import torch
from torch import nn
from torch.optim import _muon

from annotated_transformer.ground.errors import InputError
from annotated_transformer.muon import Muon, MuonAndAdamW, orthogonalise
from oracles import assert_close
from small_models import TRANSFORMERS, small_model

SHAPES = [(6, 6), (4, 9), (9, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_singular_vectors_stay_and_the_singular_values_come_near_one(shape):
    matrix = torch.randn(shape).double()
    u, s, v = torch.linalg.svd(matrix, full_matrices=False)
    s = s / matrix.norm()
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    assert_close(orthogonalise(matrix), u @ s.diag() @ v, 1e-10)
    assert ((s > 0.5) & (s < 1.5)).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_its_steps_are_those_of_pytorch(shape, monkeypatch):
    # Theirs orthogonalises in bfloat16, the one thing that is replaced here; the rest is theirs.
    monkeypatch.setattr(_muon, "_zeropower_via_newtonschulz", lambda g, *_: orthogonalise(g))
    ours, theirs = (nn.Parameter(torch.ones(shape).double()) for _ in range(2))
    mine = Muon([ours], lr=0.1, momentum=0.9)
    other = torch.optim.Muon([theirs], lr=0.1, momentum=0.9, weight_decay=0.0)
    for _ in range(4):
        ours.grad = theirs.grad = torch.randn(shape).double()
        mine.step()
        other.step()
        assert_close(ours, theirs, 1e-12)


def test_only_matrices_are_moved_and_those_without_a_gradient_stay():
    still, zero = (nn.Parameter(torch.ones(2, 2)) for _ in range(2))
    muon, vector, zero.grad = Muon([still, zero], lr=0.1), nn.Parameter(still[0]), 0 * zero
    muon.step()
    assert (torch.stack([still, zero]) == 1).all()
    with pytest.raises(InputError, match="a parameter has 1 axes, Muon takes matrices: two"):
        muon.add_param_group({"params": vector})


@pytest.mark.parametrize("sizes", TRANSFORMERS)
def test_matrices_of_the_layers_are_moved_by_muon_and_the_rest_by_adamw(sizes):
    model, other = (small_model("transformer", **sizes) for _ in range(2))
    other.load_state_dict(model.state_dict())
    stacks = [*other.encoder.parameters(), *other.decoder.parameters()]
    matrices = [weight for weight in stacks if weight.dim() == 2]
    rest = [w for w in other.parameters() if all(w is not matrix for matrix in matrices)]
    parts = [Muon(matrices, 0.1, 0.9), torch.optim.AdamW(rest, 0.1, weight_decay=0.2)]
    both = MuonAndAdamW(model, momentum=0.9, weight_decay=0.2)
    for _ in range(3):
        for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
            ours.grad = torch.randn_like(ours)
            theirs.grad = ours.grad.clone()
        for group in both.param_groups:
            group["lr"] = 0.1
        for optimiser in (both, *parts):
            optimiser.step()
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)
