"""The table of bad input: what the page says is what the command line and the functions say."""

import csv
import re
import shlex
from inspect import signature
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.batches import Batch, batches_by_tokens, pad
from annotated_transformer.bert import Bert
from annotated_transformer.cli import app
from annotated_transformer.corpora import load_corpus
from annotated_transformer.decoding import Search, beam_search, decode, greedy, length_penalty
from annotated_transformer.evaluation import (
    alignment_error_rate,
    alignment_errors,
    evaluate,
    forced_attention,
    perplexity,
    score_translations,
    strongest_links,
)
from annotated_transformer.exchange import load_model
from annotated_transformer.ground.devices import choose_device
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.sentences import LANGUAGE_VARIABLE
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.luong import LuongConfig
from annotated_transformer.masking import causal_mask, padding_mask, target_mask
from annotated_transformer.models import make_config
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.run import Recipe, Run, preset
from annotated_transformer.run.presets import recipe_of
from annotated_transformer.seq2seq import RecurrentConfig
from annotated_transformer.soft_lookup import masked_softmax
from annotated_transformer.text.examples import Examples
from annotated_transformer.tokens import Vocabularies, Vocabulary
from annotated_transformer.training import (
    Trainer,
    WeightAverage,
    endless_batches,
    inverse_sqrt_schedule,
    linear_schedule,
    paper_schedule,
)
from annotated_transformer.transformer import Transformer, TransformerConfig
from annotated_transformer.translation import translate, translations
from annotated_transformer.translator import Translator
from small_models import small_model

TABLE = Path(__file__).parent.parent / "book" / "bad_input.csv"
with TABLE.open(newline="", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))
NAMES = {
    f.__name__: f
    for f in (
        pad, Batch, Examples, batches_by_tokens, Vocabulary, Vocabularies, load_corpus,
        padding_mask, causal_mask, target_mask, masked_softmax, MultiHeadAttention,
        sinusoidal_encoding, RecurrentConfig, LuongConfig, Transformer, TransformerConfig,
        make_config, forced_attention, strongest_links, alignment_error_rate, alignment_errors,
        smoothed_cross_entropy, inverse_sqrt_schedule, paper_schedule, linear_schedule,
        WeightAverage, endless_batches, Trainer, Search, length_penalty, greedy, beam_search,
        decode, translate, translations, perplexity, score_translations, evaluate, choose_device,
        preset, recipe_of, Recipe, Run, load_model, Bert, Path,
    )
}  # fmt: skip
"""What a row may call."""
METHODS = {
    "Batch": ("of",),
    "Examples": ("of",),
    "Vocabulary": ("words", "subwords", "from_json", "encode", "encode_all", "decode", "tokens"),
    "Vocabularies": ("learn", "encode"),
    "Run": ("create", "open"),
}
"""Of these classes the methods are what is called."""
CALLED = {
    "attention": ScaledDotProductAttention.forward, "model": Translator.forward,
    "encoder": Bert.forward,
}  # fmt: skip
"""Of these objects, the method that calling them calls."""
ANYTHING = {
    "device": "PyTorch itself refuses a device that it does not know",
    "self": "it is what is called",
    "alpha": "any number; a search has its bounds, and they are in the table",
    "loss": "any function of logits and targets",
    "schedule": "any function of a step",
    "normalise": "any function that makes a module from a width",
    "optimizer": "any of torch.optim",
    "strict": "true or false",
    "force": "true or false",
    "changes": "settings of the recipe, which are in the table by their own names",
}
"""Parameters that need no row, and why."""
OF_A_KIND = {"model", "config", "vocabularies", "search", "corpus", "recipe", "start"}
"""Objects of our classes: what is inside was checked when they were made."""
NO_VALUES = {"--help", "--strict", "--force", "--sample", "--json"}
CODE, ENGLISH = re.compile("`.*?`"), re.compile("[a-z]+ [a-z]+ [a-z]+")
CHECKED_ELSEWHERE = {"--package", "--prefix", "--workers"}


def call(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a run in it that nobody changes."""
    place = tmp_path_factory.mktemp("place")
    sizes = ("d_model=8", "num_layers=1", "num_heads=2", "d_ff=8")
    settings = [part for size in sizes for part in ("--set", size)]
    trained = call("train", "--steps", "1", "--out", str(place / "run"), *settings)
    assert trained.exit_code == 0, trained.output
    return place


def rows(*parts):
    return [pytest.param(row, id=f"{row['given']} {row['holds']}") for row in ROWS
            if row["part"] in parts]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("row", rows("command line", "files"))
def test_a_command_says_one_sentence_and_writes_nothing(row, language, place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv(LANGUAGE_VARIABLE, language)
    given = shlex.split(row["given"])
    if row["part"] == "files":
        Path(given[2]).write_text(row["holds"], encoding="utf-8")
    before = sorted(place.rglob("*"))
    result = call(*given)
    if language == "ko":
        assert re.fullmatch("오류: .*[가-힣].*\n", result.stderr)
        assert not ENGLISH.search(CODE.sub("", result.stderr))
        values = re.findall(r"'[^' ]*'|\d[\d.,]*", row["says"].replace("parameter's", ""))
        assert [value for value in values if value.rstrip(".,") not in result.stderr] == []
    else:
        assert result.stderr == f"Error: {row['says']}\n"
    assert result.stdout == ""
    assert result.exit_code == 2
    assert sorted(place.rglob("*")) == before


@pytest.fixture(scope="module")
def names():
    """What a row may use."""
    return NAMES | {
        "torch": torch, "model": small_model("transformer"), "attention":
        ScaledDotProductAttention(), "vocabularies": Vocabularies.learn([("a", "b")], 0),
        "x": torch.zeros(2, 3, 4), "encoder": load_model(TABLE.parent / "records" / "small_bert"),
        "src": torch.tensor([[4, 5, 2], [6, 2, 0]]),
    }  # fmt: skip


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("row", rows("functions"))
def test_a_function_says_one_sentence(row, names):
    with pytest.raises(InputError, match=f"^{re.escape(row['says'])}$"):
        eval(row["given"], names)


def callables():
    """What the rows call, by its name."""
    single = {name: kind for name, kind in NAMES.items() if name not in {*METHODS, "Path"}}
    methods = {
        f"{name}.{method}": getattr(NAMES[name], method)
        for name, methods in METHODS.items()
        for method in methods
    }
    return single | methods | CALLED


def test_every_parameter_of_every_function_is_in_the_table():
    shown = {row["parameter"] for row in ROWS if row["part"] == "functions"}
    given = {
        f"{name}.{parameter}"
        for name, function in callables().items()
        for parameter in signature(function).parameters
        if not (function is LuongConfig and parameter in signature(RecurrentConfig).parameters)
    }
    assert shown - given == set()
    free = ANYTHING.keys() | OF_A_KIND
    assert {name for name in given - shown if name.rpartition(".")[2] not in free} == set()
    assert {name.rpartition(".")[2] for name in given} >= free


def test_every_row_calls_the_function_whose_parameter_it_names():
    for row in ROWS:
        if row["part"] == "functions":
            function = row["parameter"].rpartition(".")[0]
            assert f"{function.rpartition('.')[2]}(" in row["given"], row


def test_every_option_of_every_command_is_in_the_table():
    shown = {(words[0], word) for row in ROWS for words in [row["given"].split()] for word in words}
    options = {
        (name, option)
        for name, command in typer.main.get_command(app).commands.items()
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--") and option not in NO_VALUES | CHECKED_ELSEWHERE
    }
    assert options - shown == set()
