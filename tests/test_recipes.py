import json
from dataclasses import asdict

import pytest

from annotated_transformer.errors import InputError
from annotated_transformer.recipes import MODELS, Recipe, preset

every_preset = pytest.mark.parametrize(
    ("model", "corpus"), [(model, corpus) for model in MODELS for corpus in ("toy", "multi30k")]
)


@every_preset
def test_a_preset_survives_its_file(model, corpus):
    recipe = preset(model, corpus, seed=7)
    assert recipe.seed == 7
    assert (recipe.model, recipe.corpus) == (model, corpus)
    assert Recipe(**json.loads(json.dumps(asdict(recipe)))) == recipe


@every_preset
def test_a_preset_has_sizes_that_the_model_knows(model, corpus):
    config = preset(model, corpus).make_config(50, 50)
    assert type(config) is MODELS[model][1]
    assert (config.src_vocab, config.tgt_vocab) == (50, 50)
    for name, size in preset(model, corpus).sizes.items():
        assert getattr(config, name) == size


@every_preset
def test_the_rate_is_highest_at_the_end_of_the_warm_up(model, corpus):
    recipe = preset(model, corpus)
    rate = recipe.make_schedule()
    rates = [rate(step) for step in range(1, recipe.steps + 1)]
    assert max(rates) == pytest.approx(recipe.peak_rate)
    assert 1 + rates.index(max(rates)) == recipe.warmup < recipe.steps


@pytest.mark.parametrize("schedule", ["paper", "linear"])
def test_a_schedule_without_warm_up_begins_at_its_peak(schedule):
    rate = Recipe("luong", "toy", steps=100, schedule=schedule, warmup=0).make_schedule()
    assert rate(1) == pytest.approx(3e-3, rel=0.02)
    assert rate(2) < rate(1)


def test_a_model_that_is_unknown():
    with pytest.raises(InputError, match="model is 'lstm', it must be one of seq2seq, bahdanau"):
        preset("lstm", "toy")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", "gpt"),
        ("schedule", "cosine"),
        ("steps", 0),
        ("batch_tokens", 1),
        ("validate_every", 0),
        ("subwords", -1),
        ("warmup", -1),
        ("peak_rate", 0.0),
        ("clip", 0.0),
        ("smoothing", 1.0),
        ("average_decay", 1.0),
        ("beam", 0),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(name, value):
    with pytest.raises(InputError, match=f"{name} is {value!r}, it must be"):
        preset("luong", "toy", **{name: value}) if name != "model" else preset(value, "toy")
