"""Settings: one sentence for each thing that can be wrong with them, and nothing else passes."""

import re
from dataclasses import dataclass, field
from typing import Annotated

import pytest
from pydantic import Field

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.settings import (
    Share,
    Size,
    build,
    check_settings,
    check_value,
    one_of,
    unknown,
)
from annotated_transformer.models import MODELS, make_config, make_model

FLOURS = ("wheat", "rye")


@dataclass(frozen=True)
class Cake:
    layers: Size
    weight: Annotated[float, Field(gt=0)]
    flour: Annotated[str, one_of(FLOURS)] = "wheat"
    sugar: Share = 0.5
    candles: Size | None = None
    vegan: bool = False
    toppings: list[str] = field(default_factory=list)


SIZE = "an integer, at least 1 and at most 1,000,000,000"
RIGHT = {"layers": 2, "weight": 1.5}
WRONG = [
    ({"layers": 0}, f"layers is 0, it must be {SIZE}."),
    ({"layers": 10**10}, f"layers is 10000000000, it must be {SIZE}."),
    ({"layers": "2"}, f"layers is '2', it must be {SIZE}."),
    ({"layers": True}, f"layers is True, it must be {SIZE}."),
    ({"weight": 0.0}, "weight is 0.0, it must be a number, above 0."),
    ({"weight": float("nan")}, "weight is nan, it must be a number, above 0."),
    ({"flour": "oat"}, "flour is 'oat', it must be one of wheat, rye."),
    ({"sugar": 1.0}, "sugar is 1.0, it must be a number, at least 0 and below 1."),
    ({"sugar": -1e-9}, "sugar is -1e-09, it must be a number, at least 0 and below 1."),
    ({"candles": 0}, f"candles is 0, it must be {SIZE}, or null."),
    ({"vegan": 1}, "vegan is 1, it must be true or false."),
    ({"toppings": "cream"}, "toppings is 'cream', it must be a list, of which each is a text."),
]


def exactly(message):
    return f"^{re.escape(message)}$"


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_a_wrong_value_is_told_with_what_is_required(wrong, message):
    [(name, value)] = wrong.items()
    with pytest.raises(InputError, match=exactly(message)):
        build(Cake, RIGHT | wrong)
    with pytest.raises(InputError, match=exactly(message)):
        check_value(Cake, name, value)
    cake = build(Cake, RIGHT)
    object.__setattr__(cake, name, value)
    with pytest.raises(InputError, match=exactly(message)):
        check_settings(cake)


def test_what_is_right_is_taken_and_the_rest_is_the_default():
    cake = build(Cake, RIGHT | {"candles": 7, "flour": "rye", "toppings": ["cream"]})
    assert cake == Cake(2, 1.5, "rye", candles=7, toppings=["cream"])
    assert build(Cake, RIGHT) == Cake(2, 1.5)
    check_settings(cake)


def test_a_whole_number_may_stand_for_a_broken_one():
    cake = build(Cake, RIGHT | {"weight": 3, "sugar": 0})
    assert (cake.weight, type(cake.weight)) == (3.0, float)
    assert (cake.sugar, type(cake.sugar)) == (0.0, float)


def test_a_setting_that_is_missing_is_told():
    with pytest.raises(InputError, match=exactly("weight is missing, it must be set.")):
        build(Cake, {"layers": 2})
    with pytest.raises(InputError, match=exactly("layers is missing, it must be set.")):
        build(Cake, {})


@pytest.mark.parametrize(
    ("name", "meant"),
    [("layer", "layers"), ("wieght", "weight"), ("FLOUR", "flour"), ("topings", "toppings")],
)
def test_a_setting_that_there_is_not_is_told_with_the_nearest(name, meant):
    message = f"there is no setting {name!r}: did you mean {meant}?"
    assert unknown(name, list(vars(Cake(2, 1.5)))) == message
    with pytest.raises(InputError, match=exactly(message)):
        build(Cake, RIGHT | {name: 1})


@pytest.mark.parametrize("name", ["", "x", "???", "세팅"])
def test_of_a_name_that_is_near_to_none_all_are_told(name):
    message = f"there is no setting {name!r}, there are {', '.join(vars(Cake(2, 1.5)))}."
    with pytest.raises(InputError, match=exactly(message)):
        build(Cake, RIGHT | {name: 1})


# --- the configurations of the models -------------------------------------------------------------

SIZES = {
    "seq2seq": [
        ({"num_layers": 2}, "num_layers is a setting of transformer, "),
        ({"hidden_dim": 0}, f"hidden_dim is 0, it must be {SIZE}."),
        ({"src_vocab": 5}, "src_vocab is given, it must be left out: the text determines it."),
    ],
    "luong": [
        ({"scores": "dot"}, "there is no setting 'scores': did you mean score?"),
    ],
    "transformer": [
        ({"heads": 8}, "there is no setting 'heads': did you mean num_heads?"),
        ({"cell": "gru"}, "cell is a setting of seq2seq, bahdanau, luong, not of transformer."),
        ({"wide": 3}, "there is no setting 'wide', there are d_model, num_layers, "),
        ({"num_kv_heads": 0}, f"num_kv_heads is 0, it must be {SIZE}, or null."),
        ({"share_embeddings": 1}, "share_embeddings is 1, it must be true or false."),
    ],
}
CASES = [(model, *case) for model, cases in SIZES.items() for case in cases]


@pytest.mark.parametrize(("model", "sizes", "message"), CASES)
def test_sizes_that_a_model_cannot_have_are_told(model, sizes, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        make_config(model, 9, 8, sizes)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_made_by_its_name(model):
    kind, config_kind, _ = MODELS[model]
    config = make_config(model, 9, 8, {"d_model": 16})
    assert type(config) is config_kind
    assert config == config_kind(9, 8, d_model=16)
    made = make_model(model, config)
    assert type(made) is kind
    assert made.config == config


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "typo",
            "model is 'typo', it must be one of seq2seq, bahdanau, luong, transformer, language.",
        ),
        ("transformer", "config is a LuongConfig, transformer needs a TransformerConfig."),
    ],
)
def test_a_model_that_there_is_not_is_not_made(model, message):
    with pytest.raises(InputError, match=exactly(message)):
        make_model(model, make_config("luong", 9, 8, {}))


@pytest.mark.parametrize(
    "long", ["x" * 10**5, 10**4000, [["y" * 10**4] * 100] * 100], ids=["text", "number", "lists"]
)
def test_of_a_long_value_only_enough_is_shown(long):
    message = r"^hidden_dim is [^\n]{40,4000}\.{3}[^\n]*, it must be"
    with pytest.raises(InputError, match=message) as told:
        make_config("seq2seq", 9, 9, {"hidden_dim": long})
    assert len(str(told.value)) < 5000
