"""What a project owes those who use it: one version, one address, checks that run elsewhere too."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hatchling import build

import annotated_transformer
from check_dist import bill_of_materials, faults, package_files, requirements
from check_tag import disagreements
from hatch_build import INSIDE, Lessons, size_of

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").iterdir())
FORMS = sorted(set((GITHUB / "ISSUE_TEMPLATE").iterdir()) - {GITHUB / "ISSUE_TEMPLATE/config.yml"})
ADDRESS = "https://example.org/course"


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def metadata(folder: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> Message:
    """Return the package's metadata as an installer sees it, for another address."""
    source = folder / "source"
    source.mkdir()
    for name in ["pyproject.toml", "hatch_build.py", "_config.yml", "README.md", "LICENSE"]:
        shutil.copy(ROOT / name, source)
    (source / "annotated_transformer").mkdir()
    shutil.copy(ROOT / "annotated_transformer" / "__init__.py", source / "annotated_transformer")
    settings, count = re.subn(r'(?m)^(  url:) "\S*"', rf'\1 "{address}"', text("_config.yml"))
    assert count == 1
    (source / "_config.yml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(source)
    name = build.prepare_metadata_for_build_wheel(str(folder))
    return Parser().parsestr((folder / name / "METADATA").read_text(encoding="utf-8"))


# --- one version ---------------------------------------------------------------------------------


def test_the_changelog_begins_with_this_version_and_the_newest_release_is_cited() -> None:
    headings = re.findall(r"(?m)^## (\S+) - (\S+)$", text("CHANGELOG.md"))
    assert headings[0][0] == annotated_transformer.__version__
    released = [row for row in headings if re.fullmatch(r"[\d-]+", row[1])]
    cited = yaml.safe_load(text("CITATION.cff"))
    assert (cited["version"], str(cited["date-released"])) == released[0]


# --- one address ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("setting", "told"), [(ADDRESS, [f"Repository, {ADDRESS}"]), ("", None)])
def test_the_metadata_have_the_address_of_the_one_setting(
    tmp_path, monkeypatch, setting, told
) -> None:
    found = metadata(tmp_path, monkeypatch, setting)
    assert found.get_all("Project-URL") == told
    assert found["Version"] == annotated_transformer.__version__


def test_no_other_file_holds_the_address() -> None:
    assert not {"url", "repository", "repository-code"} & set(yaml.safe_load(text("CITATION.cff")))
    hosts = r"(github|gitlab|codeberg)\.(com|org|io)/(?!harvardnlp)\S*annotated[-_]transformer"
    folders = ("", ".github/", ".github/*/", "annotated_transformer/", "book/", "checkpoints/*/")
    files = [p for folder in (*folders, "tools/") for p in ROOT.glob(f"{folder}*") if p.is_file()]
    holding = [
        path.name
        for path in files
        if path.suffix in {".cff", ".ipynb", ".md", ".py", ".toml", ".yaml", ".yml"}
        and path.name != "_config.yml"
        and re.search(hosts, path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert holding == []


# --- the wheel and the sdist ---------------------------------------------------------------------


def test_what_does_not_belong_into_an_archive_or_is_missing_is_found() -> None:
    needed = package_files()
    assert faults(needed | {"README.md", "annotated_transformer/book/x"}, needed) == []
    foreign = ["book/intro.md", "checkpoints/a/b", "experiments/a.py", "tests/a.py", "tools/a.py"]
    assert faults(needed | set(foreign), needed) == [
        f"{name} does not belong into it" for name in foreign
    ]
    for path in (
        "annotated_transformer/py.typed",
        "transformer_workbook/chapters/masking/mistakes.toml",
        "transformer_workbook/notebook/explorer.css",
        "transformer_workbook/notebook/explorer.js",
    ):
        assert path in needed
        assert faults(needed - {path}, needed) == [f"{path} is missing"]


def test_a_wheel_ships_the_lessons_and_nothing_large() -> None:
    shipped: dict[str, dict[str, str]] = {"force_include": {}}
    Lessons.initialize(SimpleNamespace(root=ROOT), "standard", shipped)  # type: ignore[arg-type]
    inside = {name.removeprefix(f"{INSIDE}/") for name in shipped["force_include"].values()}
    assert "book/15_translation.ipynb" in inside
    assert "book/locale/ko/LC_MESSAGES/book/15_translation.po" in inside
    assert "book/locale/ko/LC_MESSAGES/sphinx.po" in inside  # the labels of folds
    assert "checkpoints/multi30k-de-en" not in inside  # 12 MB
    assert sum(size_of(Path(path)) for path in shipped["force_include"]) < 6_000_000


def test_what_a_wheel_needs_without_extras_is_read(tmp_path: Path) -> None:
    needs = ["Torch>=2.7", "typing_extensions", "pandas; extra == 'notebooks'"]
    lines = ["Name: a", *(f"Requires-Dist: {need}" for need in needs), "", "Requires-Dist: prose"]
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("a-1.dist-info/METADATA", "\n".join(lines))
    assert requirements(tmp_path / "a.whl") == {"torch", "typing-extensions"}


@pytest.mark.slow
def test_the_bill_of_materials_names_what_is_installed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"]
    subprocess.run(command, check=True)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / "some_thing-2.dist-info").mkdir()
    text = "Metadata-Version: 2.4\nName: some_thing\nVersion: 2\nLicense-Expression: MIT\n"
    (packages / "some_thing-2.dist-info" / "METADATA").write_text(text)
    bill = tmp_path / "bill.cdx.json"
    assert bill_of_materials(tmp_path / "venv" / "bin" / "python", bill) == {"some-thing"}
    (component,) = json.loads(bill.read_text())["components"]
    assert component["version"] == "2"
    assert component["licenses"][0]["license"]["id"] == "MIT"


# --- a release -----------------------------------------------------------------------------------


def test_a_tag_is_refused_where_a_place_says_another_version(tmp_path: Path) -> None:
    (tmp_path / "annotated_transformer").mkdir()
    places = {
        "annotated_transformer/__init__.py": '"""A package."""\n\n__version__ = "1.2.0"\n',
        "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.0\n",
        "CHANGELOG.md": "# Changelog\n\n## 1.2.0 - 2031-05-06\n\n## 1.1.0 - 2030-01-01\n",
    }
    for name, content in places.items():
        (tmp_path / name).write_text(content)
    assert disagreements("v1.2.0", tmp_path) == []
    assert disagreements("v1.1.0", tmp_path) == [
        f"{name} says 1.2.0, the tag v1.1.0" for name in places
    ]
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.0 - unreleased\n")
    said = ["CHANGELOG.md says no version, the tag v1.2.0"]
    assert disagreements("v1.2.0", tmp_path) == said


# --- the same checks everywhere ------------------------------------------------------------------


def locked(name: str) -> str:
    """Return the version of a package in requirements.txt."""
    (found,) = re.findall(rf"(?m)^{name}==(\S+)$", text("requirements.txt"))
    return str(found)


def test_pre_commit_has_the_ruff_of_the_lock() -> None:
    (repository,) = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    commands = [hook["entry"] for hook in repository["hooks"]]
    assert [command.split()[:2] for command in commands] == [["ruff", "check"], ["ruff", "format"]]
    for hook in repository["hooks"]:
        assert hook["additional_dependencies"] == [f"ruff=={locked('ruff')}"]
    assert version("ruff") == locked("ruff")


def steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Go through the steps of all jobs of a workflow."""
    for job in workflow["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_only_the_makefile(path: Path) -> None:
    """And apt-get; where there is no make, Python alone, with files that exist."""
    names = re.findall(r"(?m)^\.PHONY: (.*)$", text("Makefile") + text("tools/research.mk"))
    targets = " ".join(names).split()
    for step in steps(yaml.safe_load(path.read_text(encoding="utf-8"))):
        command = step.get("run", "make help").strip()
        make = re.fullmatch(r"make (\w+)(?: [A-Z_]+=\w+)*", command)
        apt = re.fullmatch(r"(sudo )?apt-get (update|install)[ \w-]*", command)
        python = re.fullmatch(r'python -m [\w ".,\[\]/-]+', command)
        if path.stem == "systems" and "run" in step:
            assert python
            assert all((ROOT / name).exists() for name in re.findall(r"tests/\S+", command))
        else:
            assert apt or (make and make[1] in targets)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_little_and_runs_once_at_a_time(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    writing = {name for name, job in workflow["jobs"].items() if "permissions" in job}
    allowed = {"release": {"publish"}, "site": {"publish", "lessons"}}
    assert writing == allowed.get(path.stem, set())
    for step in steps(workflow):
        assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/x@v1"))


def test_the_oldest_python_that_the_package_allows_is_checked() -> None:
    checks = yaml.safe_load(text(".github/workflows/checks.yml"))["jobs"]
    allowed = re.findall(r'(?m)^requires-python = ">=(.*)"$', text("pyproject.toml"))
    assert checks["check"]["strategy"]["matrix"]["python"][:1] == allowed


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_the_site_demands(path: Path) -> None:
    """A form without them is not shown, and nobody is told."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] in {"input", "textarea"}]
    assert len({field["id"] for field in fields}) == len(form["body"])
    assert all(field["attributes"]["label"] for field in fields)
