"""Experts: dispatched = one token at a time = Mixtral's; balance, capacity, and two processes."""

import math
from copy import deepcopy

import pytest
import torch
from torch import distributed, multiprocessing
from torch.distributed.nn.functional import all_reduce
from torch.nn import functional as F
from transformers import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import (
    MixtralSparseMoeBlock,
    load_balancing_loss_func,
)

from annotated_transformer.errors import InputError
from annotated_transformer.experts import Experts, Router, Routing
from annotated_transformer.gated_feed_forward import GatedFeedForward
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
        outputs.append(y if ours.shared is None else y + ours.shared(token[None, None]))
    return torch.cat(outputs).view_as(x)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("kind", [FeedForward, GatedFeedForward])
@pytest.mark.parametrize("shares", [False, True])
def test_dispatched_is_one_token_at_a_time_with_its_gradient(k, kind, shares):
    ours = layer(k, kind, shared=randomise(kind(D, D_FF)).double() if shares else None)
    ours.router.bias += torch.randn(NUMBER)
    x, gradient = torch.randn(3, 7, D).double().requires_grad_(), torch.randn(3, 7, D).double()
    outputs = ours(x), one_at_a_time(ours, x)
    assert_close(*outputs, 1e-12)
    wanted = [x, *ours.parameters()]
    mine, theirs = (torch.autograd.grad(y, wanted, gradient, allow_unused=True) for y in outputs)
    for a, b in zip(mine, theirs, strict=True):
        assert_close(a, torch.zeros_like(a) if b is None else b, 1e-12)


@pytest.mark.parametrize("dtype", BOTH_DTYPES)
def test_it_is_the_block_of_mixtral(dtype):
    ours = layer(2, dtype=dtype)
    config = MixtralConfig(
        hidden_size=D, intermediate_size=D_FF, num_local_experts=NUMBER, num_experts_per_tok=2
    )
    for expert in ours.experts:
        for linear in (expert.gate, expert.inner, expert.outer):
            torch.nn.init.zeros_(linear.bias)
    theirs = MixtralSparseMoeBlock(config).to(dtype)
    theirs.load_state_dict({
        "gate.weight": ours.router.logits.weight,
        "experts.gate_up_proj": torch.stack(
            [torch.cat([e.gate.weight, e.inner.weight]) for e in ours.experts]
        ),
        "experts.down_proj": torch.stack([e.outer.weight for e in ours.experts]),
    })  # fmt: skip
    x = torch.randn(2, 9, D, dtype=dtype)
    # Theirs computes the weights in float32 whatever it gets.
    assert_close(ours(x), theirs(x.clone()), 1e-5)
    logits = ours.router.logits(x.flatten(0, 1))
    expected = load_balancing_loss_func((logits,), NUMBER, 2) / 2
    assert_close(ours.router(x.flatten(0, 1)).imbalance.float(), expected, 1e-6)


def test_two_weights_are_the_softmax_of_the_two_logits():
    router, tokens = layer(2).router, torch.randn(20, D).double()
    assert_close(router(tokens).weights, router.logits(tokens).topk(2).values.softmax(-1), 1e-12)


@pytest.mark.parametrize("k", [1, 2])
def test_a_permutation_of_the_tokens_permutes_the_outputs(k):
    ours, x, order = layer(k), torch.randn(1, 12, D).double(), torch.randperm(12)
    assert_close(ours(x[:, order]), ours(x)[:, order], 1e-12)


@pytest.mark.parametrize("capacity", [0.25, 0.6, 1.0, 4.0])
@pytest.mark.parametrize("k", [1, 2])
def test_a_full_expert_drops_the_tokens_that_come_last_and_second_choices_first(k, capacity):
    ours, x = layer(k, capacity=capacity), torch.randn(2, 10, D).double()
    most, taken = math.ceil(capacity * k * 20 / NUMBER), [0] * NUMBER
    routing = ours.router(x.flatten(0, 1))
    free = deepcopy(ours.router)
    free.capacity = None
    expected = free(x.flatten(0, 1)).weights
    for rank in range(k):
        for token in range(20):
            expert = routing.chosen[token, rank]
            taken[expert] += 1
            if taken[expert] > most:
                expected[token, rank] = 0
    assert torch.equal(routing.weights, expected)
    dropped = (expected == 0).all(dim=-1)
    assert (ours(x).flatten(0, 1)[dropped] == 0).all()
    assert dropped.any() or capacity > 0.25


def test_an_even_load_has_the_loss_1_and_a_collapsed_one_the_number_of_experts():
    for chosen, expected in ((torch.arange(8) % 4, 1.0), (torch.zeros(8, dtype=torch.long), 4.0)):
        p = F.one_hot(chosen, 4).double()
        assert Routing(p, chosen[:, None], p[:, :1]).imbalance == expected


@pytest.mark.parametrize("how", ["loss", "bias"])
def test_both_ways_balance_a_router_that_prefers_one_expert(how):
    router, x = Router(D, NUMBER, 1, None).double(), torch.randn(400, D).double() + 0.5
    with torch.no_grad():
        router.logits.weight[0] += 0.5
    before, adam = router(x).load.max(), torch.optim.Adam(router.parameters(), 0.01)
    for _ in range(300):
        routing = router(x)
        if how == "loss":
            adam.zero_grad()
            routing.imbalance.backward()
            adam.step()
        else:
            weights = routing.p.gather(-1, routing.chosen)
            assert torch.equal(routing.weights, weights)  # the bias chooses, it does not weigh
            router.balance(routing, 0.003)
    assert router(x).load.max() < 0.3 < 0.5 < before


@pytest.mark.parametrize("k", [0, 5])
def test_there_are_at_least_k_experts(k):
    with pytest.raises(InputError, match=f"k is {k}, it must be at least 1 and at most 4"):
        layer(k)


def one_of_two_processes(rank, path):
    """Half of the sentences and half of the experts; all see all tokens, and sums travel back."""
    distributed.init_process_group("gloo", f"file://{path}", rank=rank, world_size=2)
    torch.manual_seed(0)
    ours, x = layer(), torch.randn(2, 7, D).double()
    alone = deepcopy(ours)
    weigh(expected := alone(x)).backward()
    own = [2 * rank, 2 * rank + 1]
    tokens = all_reduce(torch.zeros_like(x).index_put((torch.tensor([rank]),), x[rank]))
    routing, y = ours.router(tokens.flatten(0, 1)), torch.zeros(14, D).double()
    for number in own:
        sent, choice = (routing.chosen == number).nonzero().T
        outputs = ours.experts[number](tokens.flatten(0, 1)[None, sent])[0]
        y = y.index_add(0, sent, routing.weights[sent, choice, None] * outputs)
    y = all_reduce(y).view_as(x)
    assert_close(y[rank], expected[rank], 1e-12)
    mine = torch.zeros_like(y).index_put((torch.tensor([rank]),), y[rank])
    weigh(mine).backward()  # the loss of its own sentence alone
    for number in own:
        for a, b in zip(
            ours.experts[number].parameters(), alone.experts[number].parameters(), strict=True
        ):
            assert_close(a.grad, b.grad, 1e-12)
    distributed.all_reduce(ours.router.logits.weight.grad)
    assert_close(ours.router.logits.weight.grad, alone.router.logits.weight.grad, 1e-12)
    distributed.destroy_process_group()


def test_two_processes_with_two_experts_each_are_one_process(tmp_path):
    multiprocessing.spawn(one_of_two_processes, (tmp_path / "meeting",), 2)
