"""Experts: dispatched = one token at a time = Mixtral's; balance, capacity, and two processes."""

import math
from copy import deepcopy

import pytest
import torch
from torch import distributed, multiprocessing
from torch.autograd import grad
from torch.distributed.nn.functional import all_reduce
from torch.nn import functional as F
from transformers import MixtralConfig
from transformers.models.mixtral import modeling_mixtral as mixtral

from annotated_transformer.experts import Experts, Router, Routing
from annotated_transformer.gated_feed_forward import GatedFeedForward
from annotated_transformer.ground.errors import InputError
from annotated_transformer.layers import FeedForward
from oracles import BOTH_DTYPES, assert_close, randomise, weigh

D, D_FF, NUMBER = 6, 5, 4


def layer(k=2, kind=GatedFeedForward, dtype=torch.float64, **options):
    return randomise(Experts(D, [kind(D, D_FF) for _ in range(NUMBER)], k, **options)).to(dtype)


def one_at_a_time(ours, x):
    """Every token alone, its experts found by sorting."""
    outputs = []
    for token in x.flatten(0, 1):
        p = (ours.router.logits.weight @ token).exp()
        p = p / p.sum()
        chosen = sorted(range(NUMBER), key=lambda i: -(p[i] + ours.router.bias[i]))[: ours.router.k]
        total = sum(p[i] for i in chosen) if ours.router.k > 1 else 1.0
        y = sum(p[i] / total * ours.experts[i](token[None, None]) for i in chosen)
        outputs.append(y + ours.shared(token[None, None]))
    return torch.cat(outputs).view_as(x)


@pytest.mark.parametrize(("k", "kind"), [(1, FeedForward), (2, GatedFeedForward)])
def test_dispatched_is_one_token_at_a_time_with_its_gradient(k, kind):
    ours, x = layer(k, kind, shared=kind(D, D_FF)), torch.randn(3, 7, D).double().requires_grad_()
    ours.router.bias += torch.randn(NUMBER)
    outputs, wanted = (ours(x), one_at_a_time(ours, x)), [x, *ours.parameters()]
    assert_close(*outputs, 1e-12)
    gradients = (grad(weigh(y), wanted, allow_unused=True, materialize_grads=True) for y in outputs)
    for mine, theirs in zip(*gradients, strict=True):
        assert_close(mine, theirs, 1e-12)


@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_it_is_the_block_of_mixtral(dtype):
    ours, x = layer(dtype=dtype), torch.randn(2, 9, D, dtype=dtype)
    for expert in ours.experts:
        for linear in (expert.gate, expert.inner, expert.outer):
            torch.nn.init.zeros_(linear.bias)
    sizes = {"hidden_size": D, "intermediate_size": D_FF, "num_local_experts": NUMBER}
    theirs = mixtral.MixtralSparseMoeBlock(MixtralConfig(**sizes, num_experts_per_tok=2)).to(dtype)
    both = [torch.cat([expert.gate.weight, expert.inner.weight]) for expert in ours.experts]
    theirs.load_state_dict({
        "gate.weight": ours.router.logits.weight,
        "experts.gate_up_proj": torch.stack(both),
        "experts.down_proj": torch.stack([expert.outer.weight for expert in ours.experts]),
    })  # fmt: skip
    # Theirs computes weights and loss in float32 whatever it gets; its loss is k when all is even.
    assert_close(ours(x), theirs(x.clone()), 1e-5)
    tokens = x.flatten(0, 1)
    expected = mixtral.load_balancing_loss_func((ours.router.logits(tokens),), NUMBER, 2) / 2
    assert_close(ours.router(tokens).imbalance.float(), expected, 1e-6)


@pytest.mark.parametrize("capacity", [0.25, 0.6])
@pytest.mark.parametrize("k", [1, 2])
def test_a_full_expert_drops_the_tokens_that_come_last_and_second_choices_first(k, capacity):
    ours, x = layer(k, capacity=capacity), torch.randn(2, 10, D).double()
    routing, expected = ours.router(x.flatten(0, 1)), layer(k).router
    expected.load_state_dict(ours.router.state_dict())
    expected, room = expected(x.flatten(0, 1)).weights, [math.ceil(capacity * k * 5)] * NUMBER
    for rank, token in torch.cartesian_prod(torch.arange(k), torch.arange(20)):
        expert = routing.chosen[token, rank]
        room[expert] -= 1
        expected[token, rank] *= room[expert] >= 0
    assert torch.equal(routing.weights, expected)
    dropped = (expected == 0).all(dim=-1)
    assert dropped.any() or capacity > 0.25
    assert (ours(x).flatten(0, 1)[dropped] == 0).all()


def test_an_even_load_has_the_loss_1_and_a_collapsed_one_the_number_of_experts():
    for chosen, expected in ((torch.arange(8) % 4, 1.0), (torch.zeros(8, dtype=torch.long), 4.0)):
        p = F.one_hot(chosen, 4).double()
        assert Routing(p, chosen[:, None], p[:, :1]).imbalance == expected


@pytest.mark.parametrize("how", ["loss", "bias"])
def test_both_ways_balance_a_router_that_prefers_one_expert(how):
    router, x = Router(D, NUMBER, 1, None).double(), torch.randn(400, D).double() + 0.5
    torch.nn.init.constant_(router.logits.weight[0], 0.5)
    before, adam = router(x).load.max(), torch.optim.Adam(router.parameters(), 0.01)
    for _ in range(300):
        routing = router(x)
        if how == "loss":
            adam.zero_grad()
            routing.imbalance.backward()
            adam.step()
        else:
            router.balance(routing, 0.003)
    assert router(x).load.max() < 0.3 < 0.5 < before


def test_experts_that_only_the_bias_chose_have_weights():
    router = Router(D, NUMBER, 2, None)
    router.bias[:2] = -2
    router.logits.weight.data = 200.0 * torch.eye(NUMBER, D)
    router.logits.weight.data[1:] = 0
    assert_close(router(torch.ones(1, D)).weights, torch.tensor([[0.5, 0.5]]))


def test_under_autocast_the_output_has_the_type_of_the_input():
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(dtype=torch.float32)(torch.randn(2, 3, D)).dtype == torch.float32


@pytest.mark.parametrize("k", [0, 5])
def test_there_are_at_least_k_experts(k):
    with pytest.raises(
        InputError, match=f"k is {k}, it must be an integer, at least 1 and at most 4"
    ):
        layer(k)


def test_the_bias_keeps_32_bits_in_which_small_steps_count():
    router = Router(D, NUMBER, 1, None).to(torch.bfloat16)
    p = torch.eye(NUMBER, dtype=torch.bfloat16)[[0, 0, 1, 1]]  # two experts have no token
    routing = Routing(p, p.argmax(dim=1, keepdim=True), p[:, :1])
    for _ in range(1000):
        router.balance(routing, 0.001)
    assert_close(router.bias, torch.tensor([-1.0, -1.0, 1.0, 1.0]), 1e-4)
    assert router.to("meta").bias.is_meta
    assert router.double().bias.dtype == torch.float64
    assert "bias" in router.state_dict()


def one_of_two_processes(rank, path):
    """One sentence and two experts of its own; tokens and outputs travel to the other and back."""
    distributed.init_process_group("gloo", f"file://{path}", rank=rank, world_size=2)
    torch.manual_seed(0)
    ours, x, here = layer(), torch.randn(2, 7, D).double(), torch.tensor([rank])
    alone, own = deepcopy(ours), ours.experts[2 * rank : 2 * rank + 2]
    weigh(expected := alone(x)).backward()
    tokens = all_reduce(torch.zeros_like(x).index_put((here,), x[rank])).flatten(0, 1)
    routing, y = ours.router(tokens), torch.zeros(14, D).double()
    for number, expert in enumerate(own, start=2 * rank):
        sent, choice = (routing.chosen == number).nonzero().T
        y = y.index_add(
            0, sent, routing.weights[sent, choice, None] * expert(tokens[None, sent])[0]
        )
    mine = torch.zeros_like(x).index_put((here,), all_reduce(y).view_as(x)[rank])
    assert_close(mine[rank], expected[rank], 1e-12)
    weigh(mine).backward()  # the loss of its own sentence
    distributed.all_reduce(ours.router.logits.weight.grad)
    assert_close(ours.router.logits.weight.grad, alone.router.logits.weight.grad, 1e-12)
    theirs = alone.experts[2 * rank : 2 * rank + 2]
    for a, b in zip(own.parameters(), theirs.parameters(), strict=True):
        assert_close(a.grad, b.grad, 1e-12)
    distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes_with_two_experts_each_are_one_process(tmp_path):
    multiprocessing.spawn(one_of_two_processes, (tmp_path / "meeting",), 2)
