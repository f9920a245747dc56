"""The race is fair: equal tuning, equal time, and parts that are those of the models."""

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.corpora import load_corpus
from annotated_transformer.errors import DivergedError
from annotated_transformer.luong import Luong, LuongConfig
from annotated_transformer.run import Recipe
from annotated_transformer.run.encoded import CACHE_VARIABLE
from annotated_transformer.seq2seq import RecurrentConfig
from records import captions, parts, race
from records.race import Settings
from records.tables import RECORDS, Tables, read
from records.trials import SEEDS, TRIAL, best_rate

pytestmark = pytest.mark.nightly  # research

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


def test_the_combinations_differ_in_every_part() -> None:
    configs = {parts.config_of(name, **SIZES) for name in parts.MODELS}
    assert len(parts.COMBINATIONS) == 8
    assert len(configs) == 10


def test_an_encoder_of_two_halves_has_a_memory_as_wide_as_one_direction(batch: Any) -> None:
    for halves, other in zip(parts.MODELS[-2:], (0, -1), strict=True):
        ours, theirs = (
            parts.Parts(parts.config_of(name, **SIZES))
            for name in (halves, parts.COMBINATIONS[other])
        )
        assert ours.start(batch[0]).memory.shape == (2, 4, SIZES["hidden_dim"])
        assert type(ours.decoder) is type(theirs.decoder)


def test_every_combination_searches_as_it_is_trained(batch: Any) -> None:
    """Token by token the logits are those of the whole sentence."""
    for name in parts.MODELS:
        torch.manual_seed(0)
        model = parts.Parts(parts.config_of(name, **SIZES)).double()
        src, tgt = batch[0], torch.tensor([[1, 4, 5], [1, 9, 6]])
        state, steps = model.start(src), []
        for t in range(3):
            logits, state = model.extend(state, tgt[:, t : t + 1])
            steps.append(logits)
        torch.testing.assert_close(torch.cat(steps, dim=1), model(src, tgt))


def bowl(settings: Settings) -> float:
    """A perplexity that is lowest at one point; what is lost by the rate, the warm-up gains."""
    best = Settings("luong", "concat", 8e-3, 100, 0.2)
    rate, warmup = math.log2(settings.rate / best.rate), math.log2(settings.warmup / best.warmup)
    away = (rate + warmup / 2) ** 2 + (rate - warmup) ** 2 / 4
    return 5 + away + abs(settings.dropout - best.dropout) + (settings.score != best.score)


def tried_by_the_rule(number: int) -> dict[Settings, float]:
    first = race.first_settings("luong")
    tried = {first: bowl(first)}
    while len(tried) < number:
        settings = race.next_try(tried)
        assert settings not in tried
        tried[settings] = bowl(settings)
    return tried


def test_the_rule_finds_the_lowest_point_and_goes_on_beside_it() -> None:
    tried = tried_by_the_rule(20)
    best = race.best_of(tried)
    assert best == Settings("luong", "concat", 8e-3, 100, 0.2)
    assert race.is_inside(tried)
    assert not race.is_inside(tried_by_the_rule(6))
    assert not race.is_inside({race.first_settings("luong"): 5.0})


def test_what_lies_beside_the_best_differs_from_it_in_one_thing_alone() -> None:
    """A warm-up that was tried with another rate says nothing about the warm-up of the best."""
    tried = tried_by_the_rule(20)
    best = race.best_of(tried)
    alone = {
        name: {s for s in tried if s._replace(**{name: getattr(best, name)}) == best} - {best}
        for name in ("score", "rate", "warmup", "dropout")
    }
    for name, others in alone.items():
        assert len(others) >= 2
        for other in others:
            left = {settings: found for settings, found in tried.items() if settings != other}
            values = [getattr(settings, name) for settings in others - {other}]
            best_value, value = getattr(best, name), getattr(other, name)
            alone_on_its_side = all((v > best_value) != (value > best_value) for v in values)
            if name == "score" or alone_on_its_side:
                assert not race.is_inside(left)


def test_what_is_hardly_worse_than_the_best_may_lie_inside_in_its_place() -> None:
    tried = tried_by_the_rule(20)
    best = race.best_of(tried)
    assert race.is_inside(tried | {best._replace(warmup=119): 4.99})
    assert not race.is_inside(tried | {best._replace(warmup=119): 4.9})


def test_one_thing_is_changed_at_a_time() -> None:
    first = race.first_settings("luong")
    for quarters in race.QUARTERS:
        for other in [*first.beside(quarters), *first.with_other_scores()]:
            assert sum(a != b for a, b in zip(first, other, strict=True)) == 1
    without_dropout = first._replace(dropout=0.0)
    assert min(other.dropout for other in without_dropout.beside(4)) == 0
    assert first.with_other_scores() == [
        first._replace(score="dot"), first._replace(score="concat"),
    ]  # fmt: skip
    assert race.first_settings("seq2seq").with_other_scores() == []


def test_ways_to_the_same_rate_give_the_same_rate() -> None:
    first = race.first_settings("transformer")
    steps = [[4, -2, -1], [-1, 4, -2], [2, -1]]
    ends = set()
    for way in steps:
        settings = first
        for quarters in way:
            index = 0 if quarters > 0 else 1
            settings = settings.beside(abs(quarters))[index]
        ends.add(settings)
    assert ends == {first._replace(rate=2.4e-3)}


def test_when_all_beside_the_best_was_tried_the_rule_goes_on_beside_the_second_best() -> None:
    first = race.first_settings("luong")
    tried = {first: 1.0}
    for number in range(2 + 3 * 6):
        tried[race.next_try(tried)] = 3.0 + number
    second = first._replace(dropout=0.3)
    assert second not in tried
    tried[second] = 2.0
    assert race.next_try(tried) == second._replace(rate=4e-3)


def test_when_nothing_is_left_to_be_tried_the_rule_says_so() -> None:
    with pytest.raises(RuntimeError, match="all that is beside 1 settings was tried"):
        race.next_try({race.first_settings("seq2seq"): 1.0}, things=())


def test_all_models_get_as_many_tries_as_the_one_that_needs_most(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def extend(tables: Tables, name: str, function: Any, tasks: list[Any], *__: Any) -> Any:
        if name == "race_speed":
            return [
                {"model": model, "score": score, "seconds_per_step": "0.3"}
                for model, score in tasks
            ]
        if name == "race_pace":
            assert [task[:2] for task in tasks[::2]] == 7 * [
                ("seq2seq", ""), ("bahdanau", ""), ("luong", "concat"), ("transformer", ""),
            ]  # fmt: skip
            return [
                {"model": model, "score": score, "dropout": f"{dropout}"}
                | {"seconds_per_step": 0.5 if dropout else 0.25 + turn / 100}
                for model, score, dropout, turn in tasks
            ]
        if name == "race_tries":
            made.extend(task for task in tasks if task not in made)
            rows = [
                Settings(*task[:5])._asdict()
                | {"val_perplexity": found(Settings(*task[:5]), task[5])}
                | {"minutes": task[5], "steps": task[6]}
                | {"cpu_minutes": task[5] * (2 / 3 if task[1] == "concat" else 4 / 3)}
                for task in made
            ]
            tables.write(name, rows)
            return rows
        wanted[name] = tasks
        return tasks

    def found(settings: Settings, minutes: int) -> float:
        """The longer, the more dropout and the lower a rate is best."""
        if minutes == 6:
            return 5 + abs(settings.dropout - 0.3) + abs(settings.rate - 4e-3)
        return bowl(settings) if settings.model == "luong" else 5 + settings.dropout

    made: list[Any] = []
    wanted: dict[str, list[Any]] = {}
    monkeypatch.setattr(Tables, "extend", extend)
    race.make_race(Tables(tmp_path))
    race.make_others(Tables(tmp_path))
    for budget in race.BUDGETS:
        mine = [task for task in made if task[5] == budget.minutes]
        numbers = {sum(task[0] == model for task in mine) for model in race.MODELS}
        assert len(numbers) == 1
        assert numbers.pop() >= budget.tries
    assert len([task for task in made if task[5] == 3]) > 4 * 12
    assert {task[6] for task in made if task[0] == "luong" and task[5] == 6} == {1800}
    assert {task[6] for task in made if task[5] == 3} == {600}
    best = Settings("luong", "concat", 8e-3, 100, 0.2)
    of_luong = [task for task in wanted["race"] if task[0] == "luong"]
    late = best._replace(rate=4e-3, dropout=0.3)
    chosen = {1: best, 3: best, 6: late}
    assert of_luong == [
        (*settings, minutes, seed, 0.5) for minutes, settings in chosen.items() for seed in SEEDS
    ]
    others = [task for task in wanted["race"] if task[0] != "luong"]
    assert len(others) == 3 * 15
    assert {(task[4], task[-1]) for task in others if task[5] < 6} == {(0.0, 0.28)}
    assert {(task[4], task[-1]) for task in others if task[5] == 6} == {(0.3, 0.5)}
    second = [task for task in wanted["race_others"] if task[0] == "luong"]
    assert len(wanted["race_others"]) == 4 * 5
    assert {task[5:] for task in second} == {(1, seed, 0.5) for seed in SEEDS}
    assert {Settings(*task[:5]) for task in second} != {best}


@pytest.fixture
def small_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The race with the toy corpus of sixty pairs, tiny models and a few steps."""
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "val", captions.TEST):
        for language in ("de", "en"):
            lines = "".join(f"{language} {number} {'x ' * (number % 21)}\n" for number in range(60))
            (data / f"{split}.{language}").write_text(lines, encoding="utf-8")
    small = load_corpus(str(data), "de-en")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(captions, "corpus", lambda: small)
    monkeypatch.setattr(race, "SUBWORDS", 60)
    monkeypatch.setattr(race, "MOMENTS", (0.5, 2, 5))
    monkeypatch.setattr(race, "TIMED_STEPS", 5)
    original = captions.caption_recipe

    def small_recipe(model: str, **changes: Any) -> Recipe:
        sizes = {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16}
        return original(model, **changes).changed(
            sizes if model == "transformer" else {"d_model": 16, "hidden_dim": 16}
        )

    monkeypatch.setattr(captions, "caption_recipe", small_recipe)
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    for cached in (race.vocabularies, race.pairs, race.encoded):
        cached.cache_clear()
    yield
    for cached in (race.vocabularies, race.pairs, race.encoded):
        cached.cache_clear()


@pytest.mark.usefixtures("small_race")
@pytest.mark.parametrize("model", race.MODELS)
def test_a_model_is_timed_tried_and_run(model: str) -> None:
    settings = race.first_settings(model)
    assert race.time_model(model, settings.score)["seconds_per_step"] > 0
    assert race.time_in_turn(model, settings.score, 0.1, 5)["round"] == 5
    tried = race.try_settings(*settings, 2, 3)
    assert race.settings_of(tried) == settings
    assert tried["val_perplexity"] > 1
    assert (tried["minutes"], tried["steps"]) == (2, 3)
    row = race.run_model(*settings, 2, 1, 20.0)
    assert (row["minutes"], row["steps"], row["seed"]) == (2, 6, 1)
    assert row["val_perplexity_0.5"] > row["val_perplexity_2"] == row["val_perplexity"] > 1
    assert row["val_perplexity_5"] == ""
    assert 0 <= row["beam"] <= 100
    assert row["signature"].startswith("nrefs:1|case:mixed|")


@pytest.mark.usefixtures("small_race")
def test_a_training_that_fails_has_an_infinite_perplexity(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*_: Any) -> None:
        raise DivergedError("after step 1 the loss is nan")

    monkeypatch.setattr(race.Trainer, "update", diverge)
    row = race.try_settings(*race.first_settings("seq2seq"), 2, 3)
    assert (row["val_perplexity"], row["cpu_minutes"]) == (math.inf, "")


@pytest.mark.usefixtures("small_race")
def test_a_stage_has_the_weights_of_its_step() -> None:
    """Trained in two legs, a model is what it is when trained in one."""
    settings = race.first_settings("luong")
    results = []
    for goals in ([6], [2, 6]):
        model = race.build(settings, 1)
        *_, (average, _) = race.stages(model, 1e-2, 2, 1, goals)
        results.append(race.perplexity_on("val", average))
    assert results[0] == results[1]


@pytest.mark.usefixtures("small_race")
def test_a_combination_is_measured_at_equal_steps_and_at_equal_time() -> None:
    name = parts.MODELS[3]
    timed = [parts.time_parts(name, turn) for turn in range(3)]
    assert [row["round"] for row in timed] == [0, 1, 2]
    seconds = sorted(row["seconds_per_step"] for row in timed)[1]
    assert parts.steps_in(timed) == {name: int(60 / seconds)}
    row = parts.train_parts(dict.fromkeys(parts.MODELS, 2) | {name: 5}, name, 1e-2, 1)
    assert (row["steps"], row["equal_steps"]) == (5, 2)
    assert row["val_perplexity_equal_steps"] > row["val_perplexity"] > 1
    assert ", ".join(row[part] for part in parts.PARTS) == name


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


def test_every_model_ran_with_five_fresh_seeds_in_its_best_settings() -> None:
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


def test_the_others_are_five_fresh_seeds_of_what_was_second_best_for_one_minute() -> None:
    tries, rows = read(RECORDS / "race_tries.csv"), read(RECORDS / "race_others.csv")
    second = race.second_best(tries, 1)
    found = [(race.settings_of(row), int(row["minutes"]), int(row["seed"])) for row in rows]
    assert len(found) == len(set(found))
    assert set(found) == set(product(second, [1], SEEDS))
    for ours, theirs in zip(second, race.best_for(tries, 1), strict=True):
        tried = race.tries_of(tries, ours.model, 1)
        assert [s for s in tried if tried[s] < tried[ours]] == [theirs]


@pytest.mark.parametrize("name", ["race", "race_others"])
def test_every_run_had_as_many_steps_as_fit_into_its_budget(name: str) -> None:
    pace, rows = race.pace_in(read(RECORDS / "race_pace.csv")), read(RECORDS / f"{name}.csv")
    assert rows
    for row in rows:
        minutes, settings = int(row["minutes"]), race.settings_of(row)
        seconds = pace[settings.model, settings.score, settings.dropout > 0]
        assert float(row["seconds_per_step"]) == seconds
        assert int(row["steps"]) == race.steps_within(minutes, seconds)
        assert 0.8 < float(row["cpu_minutes"]) / minutes < 1.25


def test_only_the_transformer_has_one_table_for_source_target_and_output() -> None:
    for model in race.MODELS:
        sizes = captions.caption_recipe(model).sizes
        assert sizes.get("share_embeddings", False) == (model == "transformer")
