import json
import math

import pytest
import torch

from annotated_transformer.decoding import Search
from annotated_transformer.ground.errors import InputError
from annotated_transformer.models import MODELS
from annotated_transformer.run import PRESETS, Recipe, preset
from annotated_transformer.run.footprint import needed_memory, require_memory
from annotated_transformer.transformer import TransformerConfig


@pytest.mark.parametrize(
    ("model", "name"), [(model, name) for model, kind in MODELS.items() for name in kind.sizes]
)
def test_a_preset_is_a_recipe_that_survives_its_file(model, name):
    recipe = preset(model, "toy", name, seed=7)
    assert (recipe.model, recipe.corpus, recipe.seed) == (model, "toy", 7)
    assert Recipe.of_settings(json.loads(json.dumps(recipe.to_settings()))) == recipe
    config = recipe.make_config(50, 50)
    assert type(config) is MODELS[model].config
    assert (config.src_vocab, config.tgt_vocab) == (50, 50)
    assert {size: getattr(config, size) for size in recipe.sizes} == recipe.sizes
    rate = recipe.make_schedule()
    rates = [rate(step) for step in range(1, recipe.warmup + 1000)]
    assert max(rates) == pytest.approx(recipe.peak_rate)
    assert 1 + rates.index(max(rates)) == recipe.warmup < recipe.steps


def test_every_preset_is_for_some_model():
    assert PRESETS.keys() == {name for kind in MODELS.values() for name in kind.sizes}


def test_the_toy_corpus_gets_the_tiny_recipe_and_others_the_medium_one():
    assert preset("luong", "toy") == preset("luong", "toy", "tiny")
    assert preset("luong", "texts") == preset("luong", "texts", "medium")


@pytest.mark.parametrize(
    ("name", "paper"), [("base", TransformerConfig.base), ("big", TransformerConfig.big)]
)
def test_the_recipes_of_the_paper(name, paper):
    """Vaswani et al. 2017, section 5 and Table 3."""
    recipe = preset("transformer", "texts", name)
    assert recipe.make_config(99, 99) == paper(99, 99)
    assert recipe.batch_tokens * recipe.accumulate == 25_000
    assert recipe.peak_rate == pytest.approx((recipe.make_config(9, 9).d_model * 4000) ** -0.5)
    assert (recipe.warmup, recipe.schedule, recipe.smoothing) == (4000, "inverse_sqrt", 0.1)
    assert (recipe.optimizer, recipe.optimizer_settings) == ("Adam", {})
    assert (recipe.search.beam, recipe.search.alpha) == (4, 0.6)
    assert (recipe.steps, recipe.subwords) == ({"base": 100_000, "big": 300_000}[name], 37_000)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "linear"])
def test_a_schedule_without_warm_up_begins_at_its_peak(schedule):
    rate = Recipe("luong", "toy", steps=100, schedule=schedule, warmup=0).make_schedule()
    assert rate(1) == pytest.approx(3e-3, rel=0.02)
    assert rate(2) < rate(1)


# What a file, or the command line, may hold.
BAD = [
    ({"steps": "many"}, "steps is 'many', it must be an integer"),
    ({"seed": 2**64}, "seed is 18446744073709551616, it must be"),
    ({"peak_rate": float("nan")}, "peak_rate is nan, it must be"),
    ({"engine": "fast"}, "engine is 'fast' and model is 'luong', it must be a transformer"),
    ({"optimizer_settings": {"bets": 1}}, "optimizer_settings is .*Adam does not accept them"),
    ({"optimizer": "SGD", "optimizer_settings": {"momentum": -1}}, "SGD does not accept them"),
    ({"optimizer_settings": {"betas": {"a": 1}}}, "Adam does not accept them"),
    ({"optimizer_settings": {"betas": [0.9]}}, "Adam does not accept them"),
    (
        {"sizes": {"src_vocab": 5}},
        "src_vocab is given, it must be left out: the text determines it",
    ),
    ({"search": {"extra_length": 10**24}}, "extra_length is 1000000000000000000000000, it must"),
    ({"wide": 3}, "there is no setting 'wide', there are model, corpus, languages, steps"),
    ({"format": 2}, "format is 2, written by version unknown; version .* reads up to format 1"),
    ({"sizes": {"d_modle": 8}}, "there is no setting 'd_modle': did you mean d_model"),
    ({"sizes": [1]}, "sizes is .*, it must be settings by name"),
    ({"sizes": {"score": "nope"}}, "score is 'nope', it must be one of dot, general, concat"),
    ({"search": {"beam": 0}}, "beam is 0, it must be an integer, at least 1"),
    ({"search": 3}, "search is 3, it must be settings by name"),
    ({"schedule": "linear", "steps": 3, "warmup": 5}, "warmup=5 must be below total=3"),
    ({"warmup": 10**320}, "warmup is 1000.*000, it must be an integer, at least 0 and at most"),
    (
        {"optimizer_settings": {"betas": [0.9, math.nan]}},
        r"betas is \[0.9, nan\], it must be finite",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[str(changes)[:40] for changes, _ in BAD])
def test_a_recipe_that_cannot_be_trained_is_refused_in_one_sentence(changes, message):
    settings = preset("luong", "toy").to_settings() | changes
    with pytest.raises(InputError, match=message) as caught:
        Recipe.of_settings(settings).require_optimizer()
    assert "\n" not in str(caught.value)


def test_words_share_no_embeddings():
    with pytest.raises(InputError, match="share_embeddings is set and subwords is 0"):
        preset("transformer", "toy", sizes={"share_embeddings": True})


# --- other settings, by name ----------------------------------------------------------------------


def test_settings_are_found_in_the_recipe_its_model_and_its_search():
    recipe = preset("transformer", "toy").changed(
        {"steps": 9, "d_model": 16, "sizes.dropout": 0.5, "beam": 7, "search.seed": 3, "clip": None}
    )
    assert (recipe.steps, recipe.clip, recipe.seed) == (9, None, 0)
    assert (recipe.sizes["d_model"], recipe.sizes["dropout"]) == (16, 0.5)
    assert recipe.search == Search(beam=7, seed=3)
    assert recipe.sizes["num_layers"] == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_modle": 8}, "there is no setting 'd_modle': did you mean d_model"),
        ({"sizes.steps": 8}, "there is no setting 'sizes.steps'"),
        ({"src_vocab": 8}, "there is no setting 'src_vocab'"),
        ({"d_model": "wide"}, "d_model is 'wide', it must be an integer"),
        ({"model": "luong"}, "model cannot be changed: name a single setting, as in d_model=128"),
        ({"sizes": {"d_model": 8}}, "sizes cannot be changed: name a single setting"),
        ({"search": 5}, "search cannot be changed: name a single setting"),
        ({"hidden_dim": 8}, "hidden_dim is a setting of seq2seq, bahdanau, luong, not of"),
        ({"ширина": 5}, "there is no setting 'ширина', there are accumulate, activation, alpha, "),
    ],
)
def test_changes_that_cannot_be_made(changes, message):
    recipe = preset("transformer", "toy")
    with pytest.raises(InputError, match=message):
        recipe.changed(changes)
    assert recipe == preset("transformer", "toy")


# --- optimisers and memory ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings"),
    [("Adam", {}), ("Adam", {"betas": [0.9, 0.99]}), ("SGD", {"momentum": 0.9}), ("AdamW", {})],
)
def test_the_optimizer_is_the_one_that_the_recipe_names(name, settings):
    recipe = preset("luong", "toy", optimizer=name, optimizer_settings=settings)
    made = recipe.make_optimizer(torch.nn.Linear(2, 2))
    assert type(made) is getattr(torch.optim, name)
    assert made.defaults["lr"] == 0.0
    if name == "Adam":
        betas = settings.get("betas", (0.9, 0.98))
        assert tuple(made.defaults["betas"]) == tuple(betas)
    if name == "SGD":
        assert made.defaults["momentum"] == 0.9


def test_the_memory_of_a_training_is_counted_by_hand():
    model = torch.nn.Linear(10, 7)  # 77 weights, in five copies, and three of 30 · 50 logits
    model.register_buffer("table", torch.zeros(6, dtype=torch.float64))
    assert needed_memory(model, batch_tokens=30, tgt_vocab=50) == 4 * (5 * 77 + 3 * 30 * 50) + 48


def test_a_training_that_cannot_fit_is_refused():
    with torch.device("meta"):
        model = torch.nn.Linear(10**6, 10**6)
    message = r"needs at least 20,000\.0 GB of memory, \w+ has \d+\.\d: use a smaller model"
    with pytest.raises(InputError, match=message):
        require_memory(model, 10, 10, torch.get_default_device())
    require_memory(torch.nn.Linear(2, 2), 10, 10, torch.get_default_device())
