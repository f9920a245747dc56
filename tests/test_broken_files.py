"""A broken file is refused in one sentence or read: whoever reads it, and whatever it contains."""

import json
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotated_transformer.corpora import load_corpus
from annotated_transformer.decoding import Search
from annotated_transformer.exchange import import_marian
from annotated_transformer.ground.errors import DivergedError, InputError
from annotated_transformer.run import Run, recipe_of
from annotated_transformer.run.learning_curve import LearningCurve
from annotated_transformer.run.loop import Session
from annotated_transformer.run.processes import ALONE
from annotated_transformer.text.examples import read_examples, write_examples
from test_doors import CORPUS, RECIPE
from test_foreign_files import PLACES, texts  # noqa: F401
from transformer_workbook.judge.progress import read_progress

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("as_readers_do")]

EXAMPLES = settings(
    max_examples=300,
    deadline=10_000,  # milliseconds within which a file must be refused
    suppress_health_check=[*HealthCheck],
    database=None,  # it would take all files for one
)
TEXT = "a small dog 7 ein Hund\u2028é"
PIECES = st.binary(max_size=9) | st.sampled_from(
    [b"\t", b"\r", b"\n", b'"', b",", b"-1", b"1e999", b"NaN", b"9" * 40, b"[" * 100_000,
     b"a" * 100_000, b"\\ud800", b"\xff\xfe", "é́ 어\u2028".encode()]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | st.sampled_from([10**7, 10**30, "\ud800", "<pad>"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)  # fmt: skip


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """All pairs of a container and a key of it, however deep."""
    keys = [*value] if isinstance(value, dict) else [*range(len(value))]
    inside = [value[key] for key in keys if isinstance(value[key], dict | list)]
    return [(value, key) for key in keys] + [pair for each in inside for pair in places_in(each)]


def changed(draw: Any, text: bytes) -> bytes:
    """JSON in which a value, its name, or whether it is there is another."""
    whole = [json.loads(text)]
    container, key = draw(st.sampled_from(places_in(whole)))
    match draw(st.sampled_from(["delete", "rename", "replace", "wrap"])):
        case "rename" if isinstance(container, dict):
            container[draw(st.sampled_from(["", "x", key * 2]))] = container.pop(key)
        case "replace":
            container[key] = draw(VALUES)
        case "wrap":
            container[key] = [container[key]]
        case _:
            del container[key]
    return json.dumps(*whole or [None]).encode()


def bent(draw: Any, content: bytes) -> bytes:
    """The same bytes but for some, which are lost, repeated, moved or others."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = start + draw(st.sampled_from([0, 1, 8, 10_000]))
        before, part, after = content[:start], content[start:end], content[end:]
        others = [before, before + part * 9 + after, after + part + before]
        flip = draw(st.integers(1, 255))
        others += [before + draw(PIECES) + after, before + bytes(b ^ flip for b in part) + after]
        content = draw(st.sampled_from(others))
    return content


class Content(bytes):
    """What a file contains, which a failure need not print: the broken file stays."""

    def __repr__(self) -> str:
        return f"{len(self)} bytes"


@st.composite
def broken(draw: Any, path: Path, content: bytes) -> Content:
    """What a file might contain; JSON, and the header of safetensors, may stay JSON."""
    if path.suffix == ".json" and draw(st.booleans()):
        return Content(changed(draw, content))
    if path.suffix == ".safetensors" and draw(st.booleans()):
        (length,) = struct.unpack("<Q", content[:8])
        header = changed(draw, content[8 : 8 + length])
        return Content(struct.pack("<Q", len(header)) + header + content[8 + length :])
    return Content(bent(draw, content))


# --- the readers ----------------------------------------------------------------------------------


def read_corpus(folder: Path, name: str = "") -> None:
    corpus = load_corpus(folder / name)
    for name in corpus.splits:
        assert all(source and target for source, target in corpus.split(name))


def read_table(folder: Path) -> None:
    read_corpus(folder, "pairs.tsv")
    recipe_of(str(folder / "recipe.json"), None, None)


def translate_imported(source: Path) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place, "run")
        try:
            import_marian(source, folder)
        except InputError:
            assert not folder.exists()
            raise
        run = Run.open(folder)
        run.vocabularies.tgt.decode(range(len(run.vocabularies.tgt)))
        with suppress(DivergedError):  # weights may be finite and too large
            run.translate([TEXT], Search(extra_length=1))


def write_half(folder: Path, _: Path) -> None:
    session = Session(Run.create(folder, replace(RECIPE, steps=4), CORPUS), CORPUS, ALONE)
    session.trainer.update([next(session.batches)])
    session.save()


def resume(folder: Path) -> list[torch.Tensor]:
    return [*Session(Run.open(folder), CORPUS, ALONE).trainer.tensors().values()]


def read_run(folder: Path) -> list[torch.Tensor]:
    run = Run.open(folder)
    for vocabulary in run.vocabularies:
        ids = vocabulary.encode(TEXT)
        assert all(0 <= number < len(vocabulary) for number in ids), ids
        vocabulary.tokens(ids)
        vocabulary.decode(ids)
    LearningCurve(run.learning_curve, 1)
    return [*run.model.parameters()]


def write_others(folder: Path, _: Path) -> None:
    folder.mkdir()
    write_examples(folder, [[([7, 8], [9]), ([7], [5, 6])], [([4], [])]])
    (folder / "my_exercises.json").write_text('{"kept_ends": "right"}', encoding="utf-8")


def read_others(folder: Path) -> None:
    assert all(isinstance(src + tgt, list) for src, tgt in read_examples(folder))
    read_progress(folder / "my_exercises.json")


READERS: dict[str, tuple[Any, Any]] = PLACES | {
    "a corpus": (PLACES["a corpus"][0], read_corpus),
    "a table and a recipe": (PLACES["a table and a recipe"][0], read_table),
    "Marian": (PLACES["Marian"][0], translate_imported),
    "Marian, pickled": (PLACES["Marian, pickled"][0], translate_imported),
    "a run": (PLACES["a run"][0], read_run),
    "half a run": (write_half, resume),
    "examples and answers": (write_others, read_others),
}


@pytest.mark.parametrize("place", READERS)
def test_a_broken_file_is_refused_in_one_sentence_or_read(place, tmp_path, texts):  # noqa: F811
    write, read = READERS[place]
    write(folder := tmp_path / "it", texts)
    right = read(folder)
    for path in sorted(path for path in folder.iterdir() if path.stat().st_size):
        check(path, read, right)


def check(path: Path, read: Callable[[Path], Any], right: Any) -> None:
    kept = path.read_bytes()

    @EXAMPLES
    @given(broken(path, kept))
    def is_refused_or_read(content: bytes) -> None:
        path.write_bytes(content)
        found, said = None, ""
        try:
            found = read(path.parent)
        except InputError as error:
            said = str(error).strip()
        assert "\n" not in said
        if isinstance(found, list) and path.suffix == ".safetensors":
            assert all(map(torch.equal, found, right))  # the tensors of a run have a checksum
        assert not [*path.parent.rglob("*.unfinished")]

    is_refused_or_read()
    path.write_bytes(kept)
