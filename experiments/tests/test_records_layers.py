"""The records of chapter 11 are fair, and say what the chapter says."""

import math
from collections import Counter

import pytest
import torch

from records import norm, stacks, tables
from records.tables import RECORDS
from transformer_workbook.notebook import difference

STACKS, NORMS = (tables.read(RECORDS / f"{name}.csv") for name in ("stacks", "norms"))
DEEP = ("plain, 24", "shortcut, 24")


# Stacks


def losses(kind: str, step: int, warmup: int = 0) -> dict[tuple[float, int], float]:
    """The loss of each rate and seed."""
    return {
        (float(row["rate"]), int(row["seed"])): float(row[f"loss_{step}"])
        for row in STACKS if row["kind"] == kind and int(row["warmup"]) == warmup
    }  # fmt: skip


def best_rate(kind: str, step: int, seeds: tuple[int, ...]) -> float:
    found = losses(kind, step)
    return min(stacks.RATES, key=lambda r: math.prod(found[r, seed] for seed in seeds))


@pytest.mark.parametrize("step", stacks.STEPS)
@pytest.mark.parametrize("kind", stacks.KINDS)
def test_the_best_rate_of_a_stack_and_what_is_usable_end_inside_the_grid(
    kind: str, step: int
) -> None:
    assert not set(stacks.SEEDS) & set(stacks.TRIAL_SEEDS)
    for seeds in (stacks.TRIAL_SEEDS, stacks.SEEDS):
        assert best_rate(kind, step, seeds) in stacks.RATES[1:-1]
    found = losses(kind, step)
    ends = [found[rate, s] for rate in (stacks.RATES[0], stacks.RATES[-1]) for s in stacks.SEEDS]
    assert kind not in DEEP or min(ends) >= stacks.USABLE


def test_both_deep_stacks_have_the_same_weights_and_points() -> None:
    made = []
    for kind in DEEP:
        torch.manual_seed(3)
        made.append(stacks.Stack(*stacks.KINDS[kind]).state_dict())
    plain, shortcut = made
    assert plain.keys() == shortcut.keys()
    assert all(torch.equal(plain[name], shortcut[name]) for name in plain)


def test_with_warm_up_shortcuts_make_more_of_the_highest_rates_usable() -> None:
    """What holds without warm-up stands in test_claims.py."""
    plain, shortcut = (
        [
            float(sum(x < stacks.USABLE for (_, other), x in found.items() if other == seed))
            for seed in stacks.SEEDS
        ]
        for found in (losses(kind, 600, stacks.WARMUP) for kind in DEEP)
    )
    assert difference(shortcut, plain).low > 0


@pytest.mark.parametrize(
    ("ours", "theirs", "step", "lower"),
    [
        (*DEEP[::-1], 150, True),
        (*DEEP[::-1], 600, False),
        ("plain, 4", "plain, 24", 150, True),
        ("plain, 4", "plain, 24", 600, True),
    ],
)
def test_whether_the_loss_is_lower_is_settled_but_once(
    ours: str, theirs: str, step: int, lower: bool
) -> None:
    logs = []
    for kind in (theirs, ours):
        rate, found = best_rate(kind, step, stacks.TRIAL_SEEDS), losses(kind, step)
        logs.append([math.log10(found[rate, seed]) for seed in stacks.SEEDS])
    assert (difference(*logs).low > 0) == lower


# Norms


def runs(kind: tuple[str, int, int, str], seeds: tuple[int, ...]) -> list[dict[str, str]]:
    """The rows of a kind of run with these seeds."""
    wanted = [str(value) for value in kind]
    return [
        row for row in NORMS
        if [row[key] for key in norm.KEYS[:4]] == wanted and int(row["seed"]) in seeds
    ]  # fmt: skip


@pytest.mark.parametrize("kind", norm.KINDS, ids=str)
def test_the_rate_of_a_norm_is_the_best_of_two_trials_and_inside_the_grid(kind: tuple) -> None:
    assert not set(norm.SEEDS) & set(norm.TRIAL_SEEDS)
    first, second = (runs(kind, (seed,)) for seed in norm.TRIAL_SEEDS)
    assert sorted(float(row["rate"]) for row in first) == list(norm.rates_of(kind))
    scores = {row["rate"]: float(row["score"]) for row in first}
    assert {row["rate"] for row in second} == set(sorted(scores, key=lambda r: -scores[r])[:2])
    best = max(second, key=lambda row: float(row["score"]) + scores[row["rate"]])
    assert float(best["rate"]) in norm.rates_of(kind)[1:-1]
    reported = runs(kind, norm.SEEDS)
    assert [int(row["seed"]) for row in reported] == list(norm.SEEDS)
    assert {row["rate"] for row in reported} == {best["rate"]}


def test_the_kinds_are_all_orders_depths_and_warm_ups() -> None:
    kinds = Counter(kind[:3] for kind in norm.KINDS if kind[3] == "xavier")
    assert kinds == {(p, d, w): 1 for p in ("post", "pre") for d in (6, 12) for w in (0, 100)}


POST, SMALLER = ("post", 0, "xavier"), ("post", 0, "pytorch")
POST_WARM, PRE, PRE_WARM = ("post", 100, "xavier"), ("pre", 0, "xavier"), ("pre", 100, "xavier")


@pytest.mark.parametrize(
    ("layers", "ours", "theirs", "sooner"),
    [
        (6, POST_WARM, POST, False),
        (6, PRE, PRE_WARM, False),
        (6, PRE, POST_WARM, True),
        (12, PRE, PRE_WARM, False),
        (12, PRE, POST_WARM, True),
        (12, SMALLER, POST, True),
        (12, PRE, SMALLER, True),
    ],
)
def test_which_order_of_the_norms_learns_sooner(
    layers: int, ours: tuple, theirs: tuple, sooner: bool
) -> None:
    steps = []
    for position, warmup, init in (theirs, ours):
        found = runs((position, layers, warmup, init), norm.SEEDS)
        steps.append([float(row["learned_at"] or norm.STEPS) for row in found])
    assert (difference(*steps).low > 0) == sooner
