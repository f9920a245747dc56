"""The project keeps together: the lock, the order of the modules, the documents."""

import ast
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path

import nbformat
import pytest
from contents import entries
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import annotated_transformer
from comparing_pages import code
from readme_pictures import FIGURE, PAGES, PICTURES, figure
from transformer_workbook.chapters import CHAPTERS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "annotated_transformer"
WORKBOOK = ROOT / "transformer_workbook"
SOURCES = sorted([*PACKAGE.rglob("*.py"), *WORKBOOK.rglob("*.py")])
LONGEST = 400
NOT_FOR_EVERYBODY = [
    "IPython",
    "ctranslate2",
    "ipykernel",
    "jupyter",
    "jupyterlab",
    "matplotlib",
    "nbformat",
    "pandas",
    "scipy",
    "sentencepiece",
    "sklearn",
]


def dotted(path: Path) -> str:
    """Return the name by which a module is imported; a folder has the name of its door."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_packages(source: str) -> set[str]:
    """Return the names of the packages that are imported as soon as the source is."""
    found = set()
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:
        if not isinstance(node, ast.FunctionDef):
            nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).split(".")[0])
    return found


def lines_of_code(source: str) -> int:
    """Count the lines that are neither blank, nor comments, nor docstrings."""
    lines = source.splitlines()
    kept = {n for n, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            kept -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(kept)


# --- the modules --------------------------------------------------------------------------------


def test_the_notebooks_go_through_the_doors() -> None:
    """What stands in a folder is imported from the folder."""
    inside = re.compile(r"(?m)^ *from (annotated_transformer|transformer_workbook)\.\w+\.\w+")
    for path in (ROOT / "book").rglob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            assert cell.cell_type != "code" or not inside.search(cell.source), path


def test_nothing_imports_an_experiment() -> None:
    """Their tables stay: what reads them needs no maker."""
    rooms = "|".join(path.parent.name for path in (ROOT / "experiments").glob("*/__init__.py"))
    imported = re.compile(rf"(?m)^ *(from|import) (experiments|{rooms})\b")
    folders = ("annotated_transformer", "transformer_workbook", "tests", "tools", "book")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in [*files, ROOT / "conftest.py"]]
    texts += [code(path) for path in (ROOT / "book").rglob("*.ipynb")]
    assert [text for text in texts if imported.search(text)] == []


def test_the_table_of_the_readme_names_every_module() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.split("| chapter | modules |")[1].split("\n\n")[0]
    rooms = {module.name for module in pkgutil.iter_modules([str(PACKAGE)])} - {"__main__"}
    assert rooms <= set(re.findall(r"`(\w+)`", table))


def test_the_figure_of_the_readme_is_that_of_the_chapter() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"]({FIGURE.relative_to(ROOT)})" in readme
    assert FIGURE.read_text(encoding="utf-8") == figure()


# --- what installing the package needs -----------------------------------------------------------


def test_the_package_imports_without_what_not_everybody_needs() -> None:
    program = (
        "import sys, importlib\n"
        f"sys.modules.update(dict.fromkeys({NOT_FOR_EVERYBODY!r}))\n"
        f"for name in {[dotted(path) for path in SOURCES if path.stem != '__main__']!r}:\n"
        "    importlib.import_module(name)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_types_and_shapes_are_checked_while_tests_run() -> None:
    """Without the hook of jaxtyping, every other test would check less than it says."""
    module = __import__("annotated_transformer.tokens").tokens
    assert type(module.__spec__.loader).__module__.startswith("jaxtyping")
    assert Path(annotated_transformer.__file__).parent == PACKAGE


# --- the lock ------------------------------------------------------------------------------------


LOCK = re.findall(r"(?m)^ *([^ #\n].*)$", (ROOT / "requirements.txt").read_text(encoding="utf-8"))
"""The lines that say something to pip."""


def test_the_lock_holds_exact_public_versions_and_nothing_else() -> None:
    """Anything else does not install everywhere."""
    exact = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+")
    assert [line for line in LOCK if not exact.fullmatch(line)] == []


def test_the_lock_satisfies_every_direct_dependency_which_all_modules_keep_to() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    direct = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    locked = {
        canonicalize_name(name): version for name, version in (line.split("==") for line in LOCK)
    }
    for requirement in map(Requirement, direct):
        if requirement.name == project["name"]:
            assert requirement.extras <= project["optional-dependencies"].keys()
            continue
        version = locked.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} is not in requirements.txt: run `make lock`"
        assert requirement.specifier.contains(version), f"{requirement} is locked at {version}"
    allowed = {Requirement(line).name for line in project["dependencies"]}
    allowed |= {"annotated_transformer", "transformer_workbook"} | sys.stdlib_module_names
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert imported_packages(text) <= allowed, path
        assert lines_of_code(text) <= LONGEST, path


def test_the_lock_installs_on_the_oldest_python() -> None:
    """A lock resolved by a newer Python than Debian 12's may name packages that refuse it."""
    packages = map(distribution, (line.split("==")[0] for line in LOCK))
    needs = {package.name: package.metadata.get("Requires-Python", "") for package in packages}
    assert [name for name in needs if "3.11.2" not in SpecifierSet(needs[name])] == []


# --- the documents -------------------------------------------------------------------------------


def test_continuous_integration_runs_the_commands_of_the_readme() -> None:
    _, quick_start = (ROOT / "README.md").read_text(encoding="utf-8").split("## Quick start\n")
    commands = re.findall(r"(?m)^make \w+", quick_start.split("```bash")[1].split("```")[0])
    assert commands == ["make book", "make test"]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in script if line in commands] == commands


@pytest.mark.parametrize("name", ["Makefile", "tools/research.mk"])
def test_make_help_lists_every_target(name: str) -> None:
    makefile = (ROOT / name).read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.M)
    assert phony
    assert set(re.findall(r"^## (\w+): ", makefile, re.M)) == set(phony.group(1).split())


def test_the_readme_shows_pages_in_small_pictures() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for picture in (PICTURES / name for name in PAGES):
        assert f"]({picture.relative_to(ROOT)})" in readme
        assert picture.stat().st_size < 150_000


def test_every_page_and_every_chapter_that_is_named_is_in_the_contents() -> None:
    files = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for path in (ROOT / "book").rglob("*")
        if path.suffix in {".ipynb", ".md"} and ".ipynb_checkpoints" not in path.parts
    }
    pages = {entry.name for entry in entries(ROOT) if entry.part}
    assert files == pages | {"book/index"}
    assert set(CHAPTERS) <= {re.sub(r"^\d+_", "", Path(page).name) for page in pages}
