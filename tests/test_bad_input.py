"""The table of bad input: what the page says is what the command line and the functions say."""

import csv
import re
import shlex
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.batches import batches_by_tokens, pad
from annotated_transformer.bitext import Bitext
from annotated_transformer.cli import app
from annotated_transformer.corpora import load_corpus
from annotated_transformer.decoding import beam_search, decode, greedy
from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import perplexity
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.masking import causal_mask, padding_mask, target_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.schedule import inverse_sqrt_schedule, linear_schedule
from annotated_transformer.search import Search
from annotated_transformer.soft_lookup import masked_softmax
from annotated_transformer.tokens import Vocabularies, Vocabulary
from annotated_transformer.training import Trainer
from annotated_transformer.transformer import TransformerConfig
from annotated_transformer.translation import translate
from small_models import small_model

TABLE = Path(__file__).parent.parent / "book" / "bad_input.csv"
with TABLE.open(newline="", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))
FUNCTIONS = {
    f.__name__: f
    for f in (
        pad, Bitext, batches_by_tokens, Vocabulary, smoothed_cross_entropy, masked_softmax,
        padding_mask, causal_mask, target_mask, sinusoidal_encoding, MultiHeadAttention,
        TransformerConfig, greedy, beam_search, decode, Search, perplexity, load_corpus,
        inverse_sqrt_schedule, linear_schedule, Trainer, translate,
    )
}  # fmt: skip
NO_VALUES = {"--help", "--strict", "--sample", "--json"}
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


@pytest.mark.parametrize("row", rows("command line", "files"))
def test_a_command_says_one_sentence_and_writes_nothing(row, place, monkeypatch):
    monkeypatch.chdir(place)
    given = shlex.split(row["given"])
    if row["part"] == "files":
        Path(given[2]).write_text(row["holds"], encoding="utf-8")
    before = sorted(place.rglob("*"))
    result = call(*given)
    assert result.stderr == f"Error: {row['says']}\n"
    assert result.stdout == ""
    assert result.exit_code == 2
    assert sorted(place.rglob("*")) == before


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("row", rows("functions"))
def test_a_function_says_one_sentence(row):
    names = FUNCTIONS | {
        "torch": torch, "model": small_model("transformer"), "attention":
        ScaledDotProductAttention(), "vocabularies": Vocabularies.learn([("a", "b")], 0),
        "x": torch.zeros(2, 3, 4),
        "src": torch.tensor([[4, 5, 2], [6, 2, 0]]),
    }  # fmt: skip
    with pytest.raises(InputError, match=f"^{re.escape(row['says'])}$"):
        eval(row["given"], names)


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
