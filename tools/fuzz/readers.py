"""The readers: a file that is right, what reads it, and how the file may be mutated."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.bitext import Bitext, read_bitext, write_bitext
from annotated_transformer.corpora import load_corpus
from annotated_transformer.course.progress import read_progress
from annotated_transformer.run import Recipe, Run
from annotated_transformer.run.checkpoint import load_checkpoint, save_checkpoint
from annotated_transformer.run.learning_curve import COLUMNS, LearningCurve
from annotated_transformer.run.presets import recipe_of
from fuzz.mutations import Mutation, bent, rewritten, rewritten_header

PAIRS = "".join(f"a small dog number {i}\tein kleiner Hund Nummer {i}\n" for i in range(60))
TEXT = "a small dog 7 ein Hund\u2028é"
SIZES = {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8}


@dataclass(frozen=True)
class Reader:
    """What reads one file of a folder."""

    file: str
    read: Callable[[Path], Any]
    """Reads the folder; raises AssertionError where the result cannot be."""
    mutations: tuple[Mutation, ...] = (bent,)
    most: int = 3
    """How many mutations at once: one where a second could cancel the check of the first."""


def write_all(folder: Path) -> None:
    """Write every file, as it should be."""
    (folder / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    split = folder / "split"
    split.mkdir()
    for column, language in enumerate(("de", "en")):
        text = "".join(line.split("\t")[column] + "\n" for line in PAIRS.splitlines()).encode()
        (split / f"val.{language}").write_bytes(text)
        (split / f"train.{language}.gz").write_bytes(gzip.compress(text))
    corpus = load_corpus(str(folder / "pairs.tsv"))
    recipe = Recipe("transformer", corpus.name, subwords=60, sizes=SIZES)
    run = Run.create(folder / "run", recipe, corpus)
    weights = dict(recipe.make_model(run.vocabularies).named_parameters())
    save_checkpoint(run.weights, weights, {"steps": 3, "best": [1.5, None]})
    row = ",".join(["3", *["0.5"] * (len(COLUMNS) - 1)])
    run.learning_curve.write_text(f"{','.join(COLUMNS)}\n{row}\n{row}\n", encoding="utf-8")
    (folder / "bitext").mkdir()
    write_bitext(folder / "bitext", [[([7, 8], [9]), ([7], [5, 6])], [([4], [])]])
    (folder / "my_exercises.json").write_text('{"kept_ends": "right"}', encoding="utf-8")


def read_corpus(path: Path) -> None:
    """Read all splits of a corpus."""
    corpus = load_corpus(str(path))
    for name in corpus.splits:
        assert all(source and target for source, target in corpus.split(name))


def open_run(folder: Path) -> None:
    """Open a run, load its model, and use its vocabularies."""
    run = Run.open(folder / "run")
    assert not run.model.training
    for vocabulary in run.vocabularies:
        ids = vocabulary.encode(TEXT)
        assert all(0 <= number < len(vocabulary) for number in ids), ids
        vocabulary.decode(ids)
        vocabulary.tokens(ids)


def read_weights(folder: Path) -> None:
    """Read weights: those that were written, or none."""
    tensors, progress = load_checkpoint(folder / "run" / "model.safetensors")
    wanted, right_progress = right_weights(folder.parent / "right" / "run" / "model.safetensors")
    assert progress == right_progress, progress
    assert tensors.keys() == wanted.keys()
    assert all(torch.equal(tensors[name], wanted[name]) for name in tensors)


@cache
def right_weights(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read the weights that were written, once."""
    return load_checkpoint(path)


def read_pairs(folder: Path) -> None:
    """Read all sentence pairs of a bitext."""
    bitext: Bitext = read_bitext(folder / "bitext")
    assert len(bitext.lengths) == len(bitext)
    for source, target in bitext:
        assert isinstance(source + target, list)


READERS = {
    "tsv": Reader("pairs.tsv", lambda folder: read_corpus(folder / "pairs.tsv")),
    "text": Reader("split/val.de", lambda folder: read_corpus(folder / "split")),
    "gzip": Reader("split/train.de.gz", lambda folder: read_corpus(folder / "split")),
    "recipe of a run": Reader("run/recipe.json", open_run, (bent, rewritten, rewritten)),
    "recipe": Reader(
        "run/recipe.json",
        lambda folder: recipe_of(str(folder / "run" / "recipe.json"), None, None),
        (bent, rewritten, rewritten),
    ),
    "vocabulary": Reader("run/vocabulary.src.json", open_run, (bent, rewritten, rewritten)),
    "weights": Reader("run/model.safetensors", read_weights, (bent, rewritten_header), most=1),
    "learning curve": Reader(
        "run/learning_curve.csv",
        lambda folder: LearningCurve(folder / "run" / "learning_curve.csv", 3),
    ),
    "starts": Reader("bitext/src.starts", read_pairs),
    "ids": Reader("bitext/tgt.ids", read_pairs),
    "exercises": Reader(
        "my_exercises.json",
        lambda folder: read_progress(folder / "my_exercises.json"),
        (bent, rewritten),
    ),
}
