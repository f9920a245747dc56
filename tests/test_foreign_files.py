"""In place of a file there is what a download left: every file that is read is looked at first."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotated_transformer.corpora import load_corpus
from annotated_transformer.exchange import import_marian, load_model
from annotated_transformer.ground.errors import InputError
from annotated_transformer.run import Run, recipe_of, train
from test_doors import CORPUS, RECIPE
from test_import import published, texts_folder
from test_real_weights import gpt2, llama

texts = texts_folder  # a fixture

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943\nsize 132\n"
FOREIGN = {
    "a pointer": (POINTER, "is only a pointer of Git LFS: `git lfs pull` fetches the file"),
    "a page": (b"\n<!DOCTYPE html>\n<html>", "is a web page: fetch the file itself, not the page"),
    "another page": (b"<HTML lang=en>", "is a web page: fetch the file itself, not the page"),
    "nothing": (b"", r"is empty \(0 bytes\): fetch it again"),
}


def write_run(folder: Path, _: Path) -> None:
    train(Run.create(folder, RECIPE, CORPUS), CORPUS)


def read_run(folder: Path) -> None:
    run = Run.open(folder)
    run.require_steps(RECIPE)  # reads the checkpoint
    assert run.model


def write_corpus(folder: Path, _: Path) -> None:
    folder.mkdir()
    for name in ("train.en", "train.ko", "val.en", "val.ko", "test.en", "test.ko"):
        (folder / name).write_text("a\nb\n")
    (folder / "val.ko.gz").write_bytes(gzip.compress((folder / "val.ko").read_bytes()))
    (folder / "val.ko").unlink()


def read_corpus(folder: Path) -> None:
    corpus = load_corpus(folder)
    assert corpus.checksum
    assert corpus.sides("test")


def write_table(folder: Path, _: Path) -> None:
    folder.mkdir()
    (folder / "pairs.tsv").write_text("".join(f"{i}\tb\n" for i in range(99)))
    (folder / "recipe.json").write_text('{"steps": 5}')


def read_table(folder: Path) -> None:
    assert load_corpus(folder / "pairs.tsv").checksum
    assert recipe_of(str(folder / "recipe.json"), None, None).steps == 5


PLACES: dict[str, tuple[Callable[[Path, Path], Any], Callable[[Path], Any]]] = {
    "GPT-2 in shards": (lambda folder, _: gpt2(folder, "4KB"), load_model),
    "Llama": (lambda folder, _: llama(folder), load_model),
    "Marian": (published, lambda folder: import_marian(folder, folder / "run")),
    "Marian, pickled": (
        lambda folder, texts: published(folder, texts, joint=False, binary=True),
        lambda folder: import_marian(folder, folder / "run"),
    ),
    "a run": (write_run, read_run),
    "a corpus": (write_corpus, read_corpus),
    "a table and a recipe": (write_table, read_table),
}
UNREAD = {".lock", "generation_config.json", "learning_curve.csv"}
"""Files that these readers do not need."""


@pytest.mark.parametrize("place", PLACES)
def test_every_file_says_what_it_is_instead(place, tmp_path, texts):
    write, read = PLACES[place]
    write(folder := tmp_path / "it", texts)
    names = {path.name for path in folder.iterdir() if path.is_file()} - UNREAD
    for name in sorted(names):
        path = folder / name
        kept = path.read_bytes()
        for content, sentence in FOREIGN.values():
            path.write_bytes(content)
            with pytest.raises(InputError, match=rf"{name} {sentence}"):
                read(folder)
        path.write_bytes(kept)
    read(folder)


@pytest.mark.parametrize("place", PLACES)
def test_a_file_that_may_not_be_read_is_not_called_missing(place, tmp_path, texts, monkeypatch):
    write, read = PLACES[place]
    write(folder := tmp_path / "it", texts)
    plainly = Path.open

    def refuse(path: Path, *arguments: Any, **settings: Any) -> Any:
        if path == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return plainly(path, *arguments, **settings)

    for locked in sorted({path for path in folder.iterdir() if path.is_file()}):
        if locked.name not in UNREAD:
            monkeypatch.setattr(Path, "open", refuse)
            with pytest.raises(InputError, match=f"{locked.name} cannot be read .*Permission den"):
                read(folder)
            monkeypatch.undo()
