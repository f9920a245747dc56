"""The race is fair: equal tuning, equal time, and parts that are those of the models."""

import math
from collections.abc import Iterator
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
from records.tables import Tables

SIZES: dict[str, Any] = {"src_vocab": 11, "tgt_vocab": 13, "d_model": 4, "hidden_dim": 6}


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Two sources, the second with padding, and two beginnings."""
    return torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]), torch.tensor([[1, 4, 5], [1, 9, 0]])


def test_the_first_combination_is_the_model_of_bahdanau(batch: Any) -> None:
    ours = parts.Parts(parts.config_of(parts.MODELS[0], **SIZES)).double()
    theirs = Bahdanau(RecurrentConfig(**SIZES)).double()
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(*batch), theirs(*batch), rtol=0, atol=0)


def test_the_last_combination_is_the_model_of_luong(batch: Any) -> None:
    ours = parts.Parts(parts.config_of(parts.MODELS[-1], **SIZES)).double()
    theirs = Luong(LuongConfig(**SIZES, score="concat")).double()
    weights = ours.state_dict()
    state, context = weights["readout.weight"].chunk(2, dim=-1)
    theirs.load_state_dict(weights | {"readout.weight": torch.cat([context, state], dim=-1)})
    torch.testing.assert_close(ours(*batch), theirs(*batch), rtol=0, atol=1e-12)


def test_the_combinations_differ_in_every_part() -> None:
    configs = {parts.config_of(name, **SIZES) for name in parts.MODELS}
    assert len(configs) == 8


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
    """A perplexity that is lowest at one point, and has no other valley."""
    best = Settings("luong", "concat", 8e-3, 100, 0.2)
    away = abs(math.log(settings.rate / best.rate)) + abs(math.log(settings.warmup / best.warmup))
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
    tried = tried_by_the_rule(16)
    assert race.best_of(tried) == Settings("luong", "concat", 8e-3, 100, 0.2)
    assert race.is_inside(tried)
    assert not race.is_inside(tried_by_the_rule(6))
    assert not race.is_inside({race.first_settings("luong"): 5.0})


def test_one_thing_is_changed_at_a_time() -> None:
    for factor in race.FACTORS:
        first = race.first_settings("luong")
        for other in first.beside(factor):
            assert sum(a != b for a, b in zip(first, other, strict=True)) == 1
    without_dropout = first._replace(dropout=0.0)
    assert min(other.dropout for other in without_dropout.beside(2.0)) == 0


def test_all_models_get_as_many_tries_as_the_one_that_needs_most(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def extend(_: Tables, name: str, function: Any, tasks: list[Any], *__: Any) -> Any:
        if name == "race_speed":
            return [
                {"model": model, "score": score, "seconds_per_step": "0.3"}
                for model, score in tasks
            ]
        made.extend(task for task in tasks if task not in made)
        return [
            Settings(*task[:5])._asdict()
            | {"val_perplexity": bowl(Settings(*task[:5])) if task[0] == "luong" else 5 + task[4]}
            for task in made
        ]

    made: list[Any] = []
    monkeypatch.setattr(Tables, "extend", extend)
    best = race.make_tries(Tables(tmp_path))
    numbers = {model: sum(task[0] == model for task in made) for model in race.MODELS}
    assert len(set(numbers.values())) == 1
    assert numbers["luong"] >= race.TRIES
    assert best["luong"] == Settings("luong", "concat", 8e-3, 100, 0.2)
    assert {best[model].dropout for model in race.MODELS if model != "luong"} == {0.0}
    assert {task[-1] for task in made} == {800}


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
    monkeypatch.setattr(race, "MINUTES", (0.5, 2))
    monkeypatch.setattr(race, "BUDGETS", (2,))
    original = captions.caption_recipe

    def small_recipe(model: str, **changes: Any) -> Recipe:
        sizes = {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16}
        return original(model, **changes).changed(
            sizes if model == "transformer" else {"d_model": 16, "hidden_dim": 16}
        )

    monkeypatch.setattr(captions, "caption_recipe", small_recipe)
    monkeypatch.setattr(captions, "steps_within", lambda budget, seconds: int(budget / seconds))
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
    tried = race.try_settings(*settings, 3)
    assert race.settings_of(tried) == settings
    assert tried["val_perplexity"] > 1
    row = race.run_model(*settings, 1, 20.0)
    assert (row["steps"], row["seed"]) == (6, 1)
    assert row["val_perplexity_0.5"] > row["val_perplexity_2"] > 1
    assert 0 <= row["beam_2"] <= 100
    assert row["signature"].startswith("nrefs:1|case:mixed|")


@pytest.mark.usefixtures("small_race")
def test_a_training_that_fails_has_an_infinite_perplexity(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*_: Any) -> None:
        raise DivergedError("after step 1 the loss is nan")

    monkeypatch.setattr(race.Trainer, "update", diverge)
    row = race.try_settings(*race.first_settings("seq2seq"), 3)
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
    assert parts.time_parts(name)["steps"] > 0
    row = parts.train_parts(dict.fromkeys(parts.MODELS, 2) | {name: 5}, name, 1e-2, 1)
    assert (row["steps"], row["equal_steps"]) == (5, 2)
    assert row["val_perplexity_equal_steps"] > row["val_perplexity"] > 1
    assert ", ".join(row[part] for part in parts.PARTS) == name
