"""The race was fair: equal tuning, equal time, and parts that are those of the models."""

from typing import Any

import pytest
import torch

from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.luong import Luong, LuongConfig
from annotated_transformer.seq2seq import RecurrentConfig
from records import parts, race
from records.tables import RECORDS, read
from records.trials import SEEDS, TRIAL, best_rate

SIZES: dict[str, Any] = {"src_vocab": 11, "tgt_vocab": 13, "d_model": 4, "hidden_dim": 6}


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Two sources, the second with padding, and two beginnings."""
    return torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]), torch.tensor([[1, 4, 5], [1, 9, 0]])


def test_the_first_combination_is_the_model_of_bahdanau(batch: Any) -> None:
    ours = parts.Parts(parts.config_of(parts.COMBINATIONS[0], **SIZES)).double()
    theirs = Bahdanau(RecurrentConfig(**SIZES)).double()
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(*batch), theirs(*batch), rtol=0, atol=0)


def test_the_last_combination_is_the_model_of_luong(batch: Any) -> None:
    ours = parts.Parts(parts.config_of(parts.COMBINATIONS[-1], **SIZES)).double()
    theirs = Luong(LuongConfig(**SIZES, score="concat")).double()
    weights = ours.state_dict()
    state, context = weights["readout.weight"].chunk(2, dim=-1)
    theirs.load_state_dict(weights | {"readout.weight": torch.cat([context, state], dim=-1)})
    torch.testing.assert_close(ours(*batch), theirs(*batch), rtol=0, atol=1e-12)


def test_the_best_lies_inside_if_others_differ_from_it_in_one_thing_alone_on_either_side() -> None:
    best = race.first_settings("luong")
    others = [*best.beside(4), *best.with_other_scores()]
    tried = dict.fromkeys(others, 6.0) | {best: 5.0}
    assert race.is_inside(tried)
    assert race.is_inside(tried | {best._replace(warmup=119): 4.99})  # hardly better than the best
    assert not race.is_inside(tried | {best._replace(warmup=119): 4.9})
    for other in others:
        assert not race.is_inside({s: found for s, found in tried.items() if s != other})


@pytest.mark.parametrize("measure", ["val_perplexity", "val_perplexity_equal_steps"])
def test_every_combination_was_trained_at_its_best_rate_by_either_measure(measure: str) -> None:
    rows = read(RECORDS / "race_parts.csv")
    for name in parts.MODELS:
        mine = [row for row in rows if row["model"] == name]
        rates = [float(row["rate"]) for row in mine if int(row["seed"]) == TRIAL]
        best = best_rate(rows, name, measure)
        assert min(rates) < best < max(rates)
        seeds = [int(row["seed"]) for row in mine if float(row["rate"]) == best]
        assert seeds == [TRIAL, *SEEDS]


@pytest.mark.parametrize("budget", race.BUDGETS, ids=lambda budget: f"{budget.minutes} min")
def test_the_tries_of_a_budget_are_equally_many_and_their_best_lies_inside(
    budget: race.Budget,
) -> None:
    rows = [
        row for row in read(RECORDS / "race_tries.csv") if row["minutes"] == f"{budget.minutes}"
    ]
    tried = {model: race.tries_of(rows, model, budget.minutes) for model in race.MODELS}
    assert sum(map(len, tried.values())) == len(rows)
    [number] = {len(found) for found in tried.values()}
    assert number >= budget.tries
    assert all(race.is_inside(found, budget.things) for found in tried.values())
    chosen = {race.settings_of(row) for row in rows if row["chosen"] == "True"}
    assert chosen == {race.best_of(found) for found in tried.values()}


def test_every_try_had_the_minutes_of_its_budget() -> None:
    rows = read(RECORDS / "race_tries.csv")
    speeds = {(row["model"], row["score"]): row for row in read(RECORDS / "race_speed.csv")}
    for row in rows:
        minutes, settings = int(row["minutes"]), race.settings_of(row)
        measured = float(speeds[settings[:2]]["seconds_per_step"])
        seconds = measured if minutes == race.TIMED else race.seconds_in_tries(rows, settings)
        assert int(row["steps"]) == race.steps_within(minutes, seconds)
        assert 0.8 < float(row["cpu_minutes"]) / minutes < 1.5


def test_every_model_ran_with_five_fresh_seeds_in_its_best_settings_for_its_budget() -> None:
    tries, rows = read(RECORDS / "race_tries.csv"), read(RECORDS / "race.csv")
    wanted = {
        (settings, budget.minutes, seed)
        for budget in race.BUDGETS
        for settings in race.best_for(tries, budget.minutes)
        for seed in SEEDS
    }
    found = {(race.settings_of(row), int(row["minutes"]), int(row["seed"])) for row in rows}
    assert len(rows) == len(found)
    assert found == wanted
    pace = race.pace_in(read(RECORDS / "race_pace.csv"))
    for row in [*rows, *read(RECORDS / "race_others.csv")]:
        minutes, settings = int(row["minutes"]), race.settings_of(row)
        seconds = pace[settings.model, settings.score, settings.dropout > 0]
        assert int(row["steps"]) == race.steps_within(minutes, seconds)
        assert 0.8 < float(row["cpu_minutes"]) / minutes < 1.25
