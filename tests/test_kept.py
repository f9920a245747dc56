"""What abdd68f made and named (``tests/kept``): today's code opens it, and every name resolves."""

import csv
import json
import re
import shutil
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html import unescape
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from playwright.sync_api import Page
from typer.testing import CliRunner

import test_laboratory
from annotated_transformer.cli import app
from every_page import leads_to
from transformer_workbook import exercises
from transformer_workbook.judge.progress import FILE, read_progress

# A new name is said by a warning, which is no failure here.
pytestmark = [
    pytest.mark.usefixtures("as_readers_do"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

KEPT = Path(__file__).resolve().parent / "kept"
RUNS = sorted((KEPT / "trained").iterdir())
EXPECTED = json.loads((KEPT / "expected.json").read_text(encoding="utf-8"))
SENTENCES = ["the student reads a book", "a robot protects us"]

page = test_laboratory.page


def lines(name: str) -> list[str]:
    return (KEPT / name).read_text(encoding="utf-8").splitlines()


def command(*arguments: str | Path, typed: str | None = None) -> str:
    """Call the command line; return what it prints."""
    result = CliRunner().invoke(app, list(map(str, arguments)), input=typed)
    assert result.exit_code == 0, result.output
    return result.stdout


def copied(name: str, folder: Path) -> Path:
    """A copy, because what is kept stays as it is."""
    return Path(shutil.copytree(KEPT / name, folder / "copy"))


def test_every_file_is_kept_byte_for_byte() -> None:
    known = dict(reversed(line.split("  ")) for line in lines("SHA256SUMS"))
    found = {
        path.relative_to(KEPT).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in KEPT.rglob("*")
        if path.is_file() and path not in (KEPT / "README.md", KEPT / "SHA256SUMS")
    }
    assert found == known


@pytest.mark.parametrize("folder", [*RUNS, KEPT / "checkpoint"], ids=lambda path: path.name)
def test_a_model_says_what_it_said(tmp_path: Path, folder: Path) -> None:
    run = copied(folder.relative_to(KEPT).as_posix(), tmp_path)
    if folder.name == "language-ko":
        said = command("generate", run, "우리 가")
    else:
        said = command("translate", run, typed="\n".join(SENTENCES))
    assert said.splitlines() == EXPECTED[folder.name]["says"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", RUNS, ids=lambda path: path.name)
def test_a_run_takes_the_steps_that_it_would_have_taken(tmp_path: Path, folder: Path) -> None:
    """With other moments of its optimiser, another average or other dropout it does not."""
    run = copied(f"trained/{folder.name}", tmp_path)
    command("resume", run, "--steps", "320")
    *_, last = csv.DictReader((run / "learning_curve.csv").read_text().splitlines())
    assert last["step"] == "320"
    expected = EXPECTED[folder.name]["step 320"]
    assert {key: float(last[key]) for key in expected} == pytest.approx(expected, rel=1e-4)


def test_the_laboratory_translates_as_the_run_did(page: Page) -> None:
    test_laboratory.open_in_page(page, "kept", KEPT / "web")
    for text, said in zip(SENTENCES, EXPECTED["web"]["says"], strict=True):
        asked = {"model": "kept", "text": text, "beam": 4}
        assert page.evaluate("(asked) => translate(asked)", asked)["now"]["best"]["text"] == said


@pytest.mark.slow
def test_a_readers_package_is_judged_as_before(tmp_path: Path) -> None:
    package = copied("package", tmp_path)
    result = CliRunner().invoke(app, ["check", str(package), "08", "--json"])
    [module] = json.loads(result.stdout)["modules"].values()
    found = {check["subject"]: check["state"] for check in module["checks"]}
    assert found == {"padding_mask": "right", "causal_mask": "right", "target_mask": "wrong"}


def test_what_a_reader_has_passed_still_counts(tmp_path: Path, monkeypatch) -> None:
    shutil.copy(KEPT / "progress.json", tmp_path / FILE)
    monkeypatch.chdir(tmp_path)
    assert read_progress() == {"one_output": "right", "score_variances": "wrong"}
    shown = exercises.summary("self_attention").data
    assert [shown.count(sign) for sign in ("✓ right", "✗ not yet")] == [1, 1]


@pytest.mark.slow
def test_a_readers_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(KEPT / "notebook.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    assert read_progress(tmp_path / FILE) == read_progress(KEPT / "progress.json")


def lost(names: list[str]) -> Iterator[str]:
    """Each name that leads nowhere: ``module``, or ``module:name``, which may be a module, too."""
    for each in names:
        module, _, name = each.partition(":")
        try:
            if not name or not hasattr(import_module(module), name):
                import_module(f"{module}.{name}".rstrip("."))
        except ImportError as error:
            yield f"{each}: {error}"


def test_every_import_and_every_exercise_has_its_name() -> None:
    asked = [f"transformer_workbook.exercises:{name}" for name in lines("exercises.txt")]
    assert list(lost(lines("imports.txt") + asked)) == []


@cache
def places_of(page: Path) -> set[str]:
    """The anchors of a page and its top, ``""``; none if there is no page."""
    html = page.read_text(encoding="utf-8") if page.is_file() else ""
    found = set(map(unescape, re.findall(r'\b(?:id|name)="([^"]*)"', html)))
    return found | {""} if html else found


def is_there(page: Path, anchor: str) -> bool:
    """Tell whether a place of a page is there, or where the page has moved."""
    while page.is_file() and (target := leads_to(page, anchor)):
        address, _, anchor = target.partition("#")
        page = page.parent / address
    return anchor in places_of(page)


@pytest.mark.slow
@pytest.mark.parametrize("edition", ["", "ko"])
def test_every_address_leads_to_its_place(site: Path, edition: str) -> None:
    if not (site / edition).is_dir():
        pytest.skip("the Korean edition is not built")
    missing = [
        f"{address}#{anchor}"
        for address, *anchors in map(str.split, lines("addresses.txt"))
        for anchor in ("", *anchors)
        if not is_there(site / edition / address, anchor)
    ]
    assert missing == []
