"""The records of Multi30k's captions are fair, and the checkpoint is what its card says."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from signal import SIGTERM
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from annotated_transformer.cli import app
from annotated_transformer.corpora import load_corpus
from annotated_transformer.corpora.multi30k import DATA_VARIABLE
from annotated_transformer.decoding import Search
from annotated_transformer.ground.errors import InputError
from annotated_transformer.run import Recipe, Run, loop, train
from annotated_transformer.run.checkpoint import load_checkpoint
from annotated_transformer.run.encoded import CACHE_VARIABLE
from annotated_transformer.tokens import Vocabularies
from records import captions, checkpoint, tries
from records.captions import CHECKPOINT
from records.tables import RECORDS, Tables, read

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = [  # at least one for each bin of lengths
    ("ein hund rennt", "a dog runs"),
    *(
        (" und ".join(["ein kind"] * number), " and ".join(["a child"] * number))
        for number in (3, 5, 6, 8)
    ),
]


def rows_of(name: str) -> list[dict[str, Any]]:
    return read(RECORDS / f"{name}.csv")


def test_a_beam_was_better_than_greedy_search_and_long_translations_were_favoured() -> None:
    (beam,) = (row for row in rows_of("capstone_beams") if row["chosen"] == "True")
    assert float(beam["alpha"]) > 1
    greedy = [float(row["val_bleu"]) for row in rows_of("capstone_beams") if row["beam"] == "1"]
    assert float(beam["val_bleu"]) > max(greedy)


@pytest.mark.parametrize("name", ["capstone_tries", "capstone_tried", "capstone_beams"])
def test_what_was_chosen_is_best_on_the_validation_split(name: str) -> None:
    rows = rows_of(name)
    (chosen,) = (row for row in rows if row["chosen"] == "True")
    assert float(chosen["val_bleu"]) == max(float(row["val_bleu"]) for row in rows)


def test_the_checkpoint_is_that_of_the_chosen_way() -> None:
    (chosen,) = (row for row in rows_of("capstone_tried") if row["chosen"] == "True")
    (search,) = (row for row in rows_of("capstone_beams") if row["chosen"] == "True")
    assert Run.open(CHECKPOINT).recipe == replace(
        checkpoint.recipe_of_way(chosen["name"]),
        search=Search(beam=int(search["beam"]), alpha=float(search["alpha"])),
    )


def test_the_checkpoint_is_small_and_holds_no_sentence() -> None:
    files = {path.name: path.stat().st_size for path in CHECKPOINT.iterdir()}
    assert sum(files.values()) < 20_000_000
    assert set(files) == {
        "README.md", "model.safetensors", "recipe.json", "vocabulary.json",
    }  # fmt: skip


def plain(text: str) -> str:
    """The words of a sentence, without case and punctuation."""
    return " ".join(re.findall(r"\w+", text)).casefold()


PAGES = [
    ROOT / "book" / f"{name}.ipynb"
    for name in ("15_translation", "further/15_translation", "deeper/checkpoint", "deeper/race")
]


def sentences_of_the_chapter() -> set[str]:
    """All that may be a sentence in the text, the code and the outputs of chapter 15."""
    pages = [json.loads(path.read_text(encoding="utf-8")) for path in PAGES]
    cells = [cell for page in pages for cell in page["cells"]]
    texts = ["".join(cell["source"]) for cell in cells]
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        shown = [output.get("text", ""), *output.get("data", {}).values()]
        texts += ["".join(text) for text in shown if isinstance(text, str | list)]
    pieces = {plain(piece) for text in texts for piece in re.split(r'[\n"*<>→]', text)}
    return {piece for piece in pieces if len(piece.split()) >= 3}


BUILT = (r"einen? (hund|mann|clown|vogel|fisch) jagt einen? (hund|mann|clown|vogel|fisch)",)
"""What the cells of the chapter put together from words."""


@pytest.mark.skipif(DATA_VARIABLE not in os.environ, reason=f"{DATA_VARIABLE} names no folder")
def test_the_sentences_of_the_chapter_are_not_those_of_the_corpus() -> None:
    ours = sentences_of_the_chapter()
    assert {"ein elefant fährt fahrrad", "kein mensch ist am strand", "ich spiele gitarre"} <= ours
    corpus = captions.corpus()
    for split in ("train", *captions.SPLITS):
        theirs = {plain(text) for pair in corpus.split(split) for text in pair}
        assert not ours & theirs
        assert not [text for text in theirs for built in BUILT if re.fullmatch(built, text)]


def card_figures() -> dict[str, list[str]]:
    """The table of the model card: the figures by the name of the split."""
    text = (CHECKPOINT / "README.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows[1:]}


@pytest.mark.slow
@pytest.mark.skipif(DATA_VARIABLE not in os.environ, reason=f"{DATA_VARIABLE} names no folder")
def test_evaluate_prints_the_figures_of_the_card_again() -> None:
    arguments = ["evaluate", str(CHECKPOINT), "--corpus", "multi30k", "--split", "test_2016_flickr"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    printed = dict(
        re.findall(r"^(BLEU|BLEU, lower-cased|chrF|perplexity) ([\d.]+) ", result.stdout, re.M)
    )
    perplexity, bleu, lower, chrf = map(float, card_figures()["test_2016_flickr"])
    # A tie in the last bit may fall the other way on another processor.
    assert float(printed["BLEU"]) == pytest.approx(bleu, abs=0.1)
    assert float(printed["BLEU, lower-cased"]) == pytest.approx(lower, abs=0.1)
    assert float(printed["chrF"]) == pytest.approx(chrf, abs=0.1)
    assert float(printed["perplexity"]) == pytest.approx(perplexity, abs=0.02)


@pytest.mark.verify
@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.skipif(DATA_VARIABLE not in os.environ, reason=f"{DATA_VARIABLE} names no folder")
def test_in_8_bits_it_translates_as_the_card_says() -> None:
    size, greedy, beam = map(float, card_figures()["int8"])
    assert size <= 6.5
    assert beam >= 42
    found = checkpoint.in_a_page(Run.open(CHECKPOINT), "int8")
    precision, *figures = found.values()
    assert precision == "int8"
    assert figures == pytest.approx([size, greedy, beam], abs=0.1)


@pytest.fixture
def small_capstone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tools, with five sentences for a corpus, tiny models and a folder of their own."""
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "val", *captions.SPLITS[1:]):
        for side, language in enumerate(("de", "en")):
            lines = [pair[side] + "\n" for pair in SENTENCES]
            (data / f"{split}.{language}").write_text("".join(lines), encoding="utf-8")
    small = load_corpus(str(data), "de-en")
    original = captions.caption_recipe

    def small_recipe(model: str, **changes: Any) -> Recipe:
        sizes = {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16}
        if model != "transformer":
            sizes = {"d_model": 16, "hidden_dim": 16}
        short = {"steps": 12, "validate_every": 6} | changes | {"warmup": 2, "subwords": 300}
        return original(model, **short).changed(sizes)

    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(captions, "corpus", lambda: small)
    monkeypatch.setattr(captions, "caption_recipe", small_recipe)
    monkeypatch.setattr(captions, "CHECKPOINT", tmp_path / "checkpoint")
    monkeypatch.setattr(captions, "RUNS", tmp_path / "runs")
    # Beside another test, two threads of such a small model mostly wait for each other.
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    return tmp_path


def test_every_try_had_twenty_minutes_of_the_measured_speed() -> None:
    speeds = {row["name"]: row for row in rows_of("capstone_tries_speed")}
    assert {row["name"] for row in rows_of("capstone_tries")} == set(tries.TRIES) <= set(speeds)
    for row in rows_of("capstone_tries"):
        speed = speeds[row["name"]]
        assert row["steps"] == speed["steps"]
        seconds = int(row["steps"]) * float(speed["seconds_per_step"])
        assert tries.BUDGET * 0.95 < seconds < tries.BUDGET * 1.01


def test_records_are_of_the_last_weights_even_if_they_were_better_before(
    small_capstone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the figures of a record were not those of as many steps as it says."""
    monkeypatch.setattr(loop, "perplexity", lambda *_: next(worse_and_worse))
    recipe = captions.caption_recipe("luong", average_decay=0.0)
    worse_and_worse = iter([2.0, 3.0])
    run = captions.train_run(small_capstone / "run", recipe)
    last, _ = load_checkpoint(run.checkpoint)
    for name, parameter in run.model.named_parameters():
        assert torch.equal(parameter, last[f"model.{name}"])
    worse_and_worse = iter([2.0, 3.0])
    train(best := Run.create(small_capstone / "best", recipe, captions.corpus()), captions.corpus())
    assert not torch.equal(best.model.output.weight, run.model.output.weight)


def in_this_process(
    tables: Tables,
    name: str,
    function: Any,
    tasks: list[Any],
    keys: list[str],
    finish: Any = list,
    **_: Any,
) -> list[Any]:
    """What Tables.extend does, where the test's changes can be seen."""
    rows = finish([function(*task) for task in tasks])
    tables.write(name, rows)
    return rows


@pytest.mark.slow
def test_the_checkpoint_is_made_and_described(
    small_capstone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tables, "extend", in_this_process)
    monkeypatch.setattr(captions, "SEARCHES", [(1, 0.0), (4, 0.6), (4, 1.8)])
    monkeypatch.setattr(checkpoint, "WAYS", {"a": {"dropout": 0.3}, "b": {"steps": 6}})
    checkpoint.make_checkpoint(Tables(small_capstone))
    tried = read(small_capstone / "capstone_tried.csv")
    assert list(tried[0]) == list(rows_of("capstone_tried")[0])
    assert [(row["name"], row["dropout"], row["steps"]) for row in tried] == [
        ("a", "0.3", "12"), ("b", "0.2", "6"),
    ]  # fmt: skip
    assert {row["norm"] for row in tried} == {"pre"}
    assert {row["bfloat16"] for row in tried} == {"True"}
    assert {row["alpha"] for row in tried} <= {str(alpha) for alpha in captions.ALPHAS}
    card = (small_capstone / "checkpoint" / "README.md").read_text(encoding="utf-8")
    beams = read(small_capstone / "capstone_beams.csv")
    assert len(beams) == 3
    (search,) = (row for row in beams if row["chosen"] == "True")
    assert f"with a beam of {search['beam']} and a length penalty of\nα = {search['alpha']}" in card
    assert "| val | " in card
    assert re.search(r"^\| int8 \| 0\.\d\d( \| [\d.]+){2} \|$", card, re.M)
    before = {path.name: path.read_bytes() for path in (small_capstone / "checkpoint").iterdir()}
    checkpoint.make_checkpoint(Tables(small_capstone))  # a second time, it stays as it is
    assert before == {p.name: p.read_bytes() for p in (small_capstone / "checkpoint").iterdir()}


def test_what_a_try_is_trained_on_is_cut_at_random_and_all_else_as_ever() -> None:
    pairs = [("der kleine Hund", "the small dog")] * 20
    clean = Vocabularies.learn(pairs, 60)
    noisy = tries.NoisyVocabularies.of(clean, 0.5)
    assert noisy.encode(pairs) == clean.encode(pairs)
    seen = [pair for chunk in noisy.encode_in_chunks(pairs, 7) for pair in chunk]
    assert {clean.src.decode(source) for source, _ in seen} == {"der kleine Hund"}
    assert len({tuple(source) for source, _ in seen}) > 10


def test_what_was_begun_in_another_way_is_stopped_or_is_not_there_is_refused(
    small_capstone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_capstone / "runs" / "luong"
    first, other = (
        captions.caption_recipe("luong").changed({"score": score}) for score in ("dot", "concat")
    )
    Run.create(folder, first, captions.corpus())
    with pytest.raises(InputError, match="was started with another recipe: delete it first"):
        captions.train_run(folder, other)
    monkeypatch.setattr(captions, "train", lambda *_: SIGTERM)
    with pytest.raises(RuntimeError, match="SIGTERM came before the last step"):
        checkpoint.try_way("half an hour")
    monkeypatch.setattr(Tables, "extend", lambda _, name, *__, **___: rows_of(name))
    checked = Tables(small_capstone, check=True)
    with pytest.raises(InputError, match=r"there is no .*checkpoint: 'make records' makes what"):
        checkpoint.make_checkpoint(checked)
    Run.create(captions.CHECKPOINT, first, captions.corpus())
    with pytest.raises(InputError, match=r"there is no .*checkpoint/README.md: 'make records'"):
        checkpoint.make_checkpoint(checked)
