"""A lesson finds the files of the course from any folder, by one function."""

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from annotated_transformer.ground.errors import InputError
from comparing_pages import code, drawn, files_of, imported, name_of, notebooks
from transformer_workbook import places
from transformer_workbook.places import course_file

ROOT = Path(__file__).resolve().parent.parent
WORKBOOK = [*(ROOT / "transformer_workbook").rglob("*.py")]
FILES = re.compile(r"(\.\.?/)*(book/)?(records|checkpoints)(/|$)")
HANDED_OVER = re.compile(r"(course_file|\.to_dict)$")  # pandas has records of its own


def by_hand(source: str) -> Iterator[str]:
    """Go through the paths of the course's files that are not handed to ``course_file``."""
    nodes, fine = [*ast.walk(ast.parse(source))], set[ast.AST]()
    for node in nodes:
        if isinstance(node, ast.Call) and HANDED_OVER.search(ast.unparse(node.func)):
            fine |= {part for argument in node.args for part in ast.walk(argument)}
    for node in nodes:
        if isinstance(node, ast.Constant) and node not in fine and FILES.match(str(node.value)):
            yield str(node.value)


def reads(notebook: Path) -> bool:
    """Tell whether a notebook, or what it draws and checks with, reads a file of the course."""
    source = code(notebook)
    modules = {file for name in imported(source) for file in files_of(name)} & {*WORKBOOK}
    theirs = [file for file in modules if file.parent.name not in ("notebook", PACKAGE)]
    return bool(
        re.search(r"\b(course_file|compare|train_once)\(", source)
        or any("course_file(" in file.read_text(encoding="utf-8") for file in theirs)
    )


PACKAGE = places.__name__.partition(".")[0]
READERS = sorted(filter(reads, notebooks()))


def test_no_code_has_a_path_of_its_own() -> None:
    sources = {name_of(path): code(path) for path in notebooks()}
    sources |= {path.name: path.read_text(encoding="utf-8") for path in WORKBOOK}
    found = {name: [*by_hand(source)] for name, source in sources.items()}
    assert {name: paths for name, paths in found.items() if paths} == {}
    paths = by_hand('Path("../records", x), open(f"records/{x}"), course_file("records")')
    assert [*paths] == ["../records", "records/"]


def test_files_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (ROOT, ROOT / "book", ROOT / "book" / "deeper", ROOT / "tests", tmp_path):
        monkeypatch.chdir(folder)
        for name in ("records/heads.csv", "records/small_bert"):
            assert course_file(name).samefile(ROOT / "book" / name)
        assert course_file("checkpoints").samefile(ROOT / "checkpoints")


def test_a_file_beside_the_notebook_comes_first(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (own := tmp_path / "records").mkdir()
    (own / "heads.csv").touch()
    assert course_file("records/heads.csv") == own / "heads.csv"


def test_where_there_is_none_one_sentence_says_so(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "ROOT", tmp_path)
    with pytest.raises(
        InputError, match=r"^records/heads\.csv is neither in .*, nor above it, nor"
    ):
        course_file("records/heads.csv")


@pytest.mark.verify
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=() if p in drawn() else pytest.mark.nightly) for p in READERS],
    ids=name_of,
)
def test_a_copy_of_a_lesson_runs_elsewhere(path: Path, tmp_path: Path) -> None:
    copy = shutil.copy(path, tmp_path)
    notebook = nbformat.read(copy, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
