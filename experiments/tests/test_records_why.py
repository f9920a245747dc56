"""The records of chapter 10: their design, the layers they compare, and what the chapter says."""

import math

import pytest
import torch
from torch.nn import functional as F

from oracles import assert_close
from records import copying, layers
from records.tables import Row
from test_records import rows_of

TRIED, FRESH = rows_of("copying_rates"), rows_of("copying")


def of(rows: list[Row], name: str, length: int) -> list[Row]:
    return [row for row in rows if (row["model"], int(row["length"])) == (name, length)]


# --- the design of the record of copying ---------------------------------------------------------


@pytest.mark.parametrize("case", copying.CASES, ids=str)
def test_every_rate_had_the_same_seeds_and_the_best_is_inside_the_grid(
    case: tuple[str, int],
) -> None:
    rates, runs = copying.RATES[case[0]], copying.runs_by_rate(TRIED, *case)
    assert sorted(runs) == list(rates)
    for tried in runs.values():
        both = all(row["learned"] == "True" for row in tried[:2]) and case[1] == 81
        seeds = [100, 101, 102, 103, 104] if both else [100, 101]
        assert [int(row["seed"]) for row in tried] == seeds
    assert copying.best_rate(TRIED, *case) in rates[1:-1]


@pytest.mark.parametrize("case", copying.CASES, ids=str)
def test_ten_fresh_seeds_trained_with_the_best_rate(case: tuple[str, int]) -> None:
    fresh = of(FRESH, *case)
    assert [int(row["seed"]) for row in fresh] == list(range(10))
    assert {float(row["rate"]) for row in fresh} == {copying.best_rate(TRIED, *case)}
    assert not {row["seed"] for row in fresh} & {row["seed"] for row in TRIED}


def test_nobody_is_asked_for_what_cannot_reach_the_answer() -> None:
    def pull(name: str, length: int) -> float:
        torch.manual_seed(0)
        x = torch.randn(1, length, copying.WIDTH, dtype=torch.float64, requires_grad=True)
        copying.BODIES[name](length).double()(x)[:, -1].sum().backward()
        assert x.grad is not None
        return float(x.grad[:, 0].norm())

    for name, length in copying.CASES:
        assert pull(name, length) > 0, (name, length)
    assert pull("convolutions", 10) == 0


# --- the layers ----------------------------------------------------------------------------------


def test_the_masked_attentions_that_are_timed_do_the_same() -> None:
    torch.manual_seed(0)
    qkv = [torch.randn(1, 2, 150, 8, dtype=torch.float64) for _ in range(3)]
    found = {name: attend(*qkv) for name, attend in layers.masked_attentions(150).items()}
    assert_close(found["causal, is_causal"], found["causal, Boolean mask"])
    assert_close(found["window, gathered"], found["window, Boolean mask"])
    place = torch.arange(150)
    near = (place[:, None] - place).abs() <= 32
    scores = qkv[0] @ qkv[1].mT / math.sqrt(8)
    by_hand = F.softmax(scores.masked_fill(~near, -math.inf), dim=-1) @ qkv[2]
    assert_close(found["window, gathered"], by_hand)


# --- what the chapter says -----------------------------------------------------------------------


def test_equal_work_takes_attention_less_time_than_the_gru() -> None:
    times = {(row["layer"], int(row["length"])): row for row in rows_of("layers_times")}
    for length in (16, 32, 64, 128, 256, 512, 1024):
        layers_of_interest = (
            "self-attention", "recurrent", "self-attention, written out", "convolutional",
        )  # fmt: skip
        ours, gru, written, convolution = (times[layer, length] for layer in layers_of_interest)
        work = int(ours["operations"]) / int(gru["operations"])
        assert work / float(ours["ratio_to_recurrent"]) > 1.2
        assert float(ours["ratio_to_recurrent"]) < 0.8
        assert float(gru["ratio_to_recurrent"]) == pytest.approx(1, abs=0.1)
        assert {256: work == 1, 1024: work == 2}.get(length, True)
        took = [float(row["milliseconds"]) for row in (convolution, ours, gru, written)]
        assert min(took) == took[0]
        assert max(took) == took[3 if length == 1024 else 2]


def test_the_gru_catches_up_when_its_portions_grow() -> None:
    speeds: dict[int, list[float]] = {}
    for row in rows_of("portions_times"):
        speeds.setdefault(int(row["sentences"]), []).append(float(row["speed_to_recurrent"]))
    means = [sum(runs) / len(runs) for _, runs in sorted(speeds.items())]
    assert means == sorted(means, reverse=True)
    assert means[-1] == pytest.approx(1, abs=0.05)


def test_only_a_kernel_that_is_told_of_its_mask_saves_time() -> None:
    ratios: dict[tuple[str, int], list[float]] = {}
    for row in rows_of("mask_times"):
        key = row["attention"], int(row["length"])
        ratios.setdefault(key, []).append(float(row["ratio_to_no_mask"]))
    means = {key: sum(runs) / len(runs) for key, runs in ratios.items()}
    assert means["causal, is_causal", 2048] < 0.7
    for mask in ("causal, Boolean mask", "window, Boolean mask"):
        assert all(means[mask, length] > 1 for length in (256, 512, 1024, 2048))
    gathered = [means["window, gathered", length] for length in (256, 512, 1024, 2048)]
    assert gathered == sorted(gathered, reverse=True)
    assert gathered[-1] > 1
