"""Which notebooks `make test` compares: those that a change may concern, and six lessons more.

A change may concern a notebook whose digest is another than when it was last compared: that of
the notebook, of what it imports of ours (and what that imports), of the records, the checkpoints
and the lock. Only a comparison that passed writes a digest. Which six are drawn depends on all
lessons. `make verify` compares the others.
"""

import ast
import csv
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from transformer_workbook.aliases import real_name

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "compared.csv"
PACKAGES = ("annotated_transformer", "transformer_workbook")
DRAWN = 6
"""How many lessons are compared though nothing has changed."""


def digest(files: Iterable[Path]) -> str:
    """Return twelve letters that change when one of the files does."""
    found = hashlib.sha256()
    for path in sorted(set(files)):
        found.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:12]


def inside(*folders: str) -> list[Path]:
    """Return the files in some folders, without what Python and readers leave there."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return [path for path in found if path.suffix not in (".pyc", ".po")]  # tests speak English


def files_of(name: str) -> list[Path]:
    """Return the file of a module of ours, its tables and the doors above it."""
    path, found = ROOT, []
    for part in real_name(name).split("."):
        path /= part
        if (path / "__init__.py").exists():
            found.append(path / "__init__.py")
    if path.with_suffix(".py").exists():
        found += [file for file in path.parent.glob(f"{path.name}.*") if file.is_file()]
        found += path.parent.glob("mistakes.toml")
    return found


def imported(source: str) -> set[str]:
    """Return the modules of ours that some code names in its imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.partition(".")[0] in PACKAGES}


@cache
def imported_by(path: Path) -> frozenset[str]:
    """Return the modules of ours that a file imports."""
    return frozenset(imported(path.read_text(encoding="utf-8")) if path.suffix == ".py" else ())


def code(notebook: Path) -> str:
    """Return the code of a notebook, without the commands of IPython."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    lines = "".join(
        "".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code"
    ).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))


def computed_with(notebook: Path) -> set[Path]:
    """Return all files on which the outputs of a notebook may depend."""
    _, _, chapter = notebook.stem.partition("_")  # `exercises` imports those of all chapters
    waiting = [*imported(code(notebook)), f"transformer_workbook.chapters.{chapter}.exercises"]
    seen, files = set[str](), {notebook}
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            for path in files_of(name):
                files.add(path)
                waiting += imported_by(path)
    return files | {*inside("book/records", "checkpoints"), ROOT / "requirements.txt"}


def read() -> dict[str, str]:
    """Return the digests of the last comparisons that passed, by the names of the pages."""
    if not RECORD.exists():
        return {}
    with RECORD.open(newline="", encoding="utf-8") as file:
        return {row["page"]: row["digest"] for row in csv.DictReader(file)}


def cells(notebook: Path) -> int:
    """Return how many code cells a notebook has."""
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return sum(cell["cell_type"] == "code" for cell in found)


def digests() -> dict[Path, str]:
    """Return the digests of all notebooks as they are now."""
    imported_by.cache_clear()
    return {path: digest(computed_with(path)) for path in notebooks()}


def write(passed: Iterable[Path], before: Mapping[Path, str]) -> None:
    """Enter the notebooks whose comparison has passed, unless they have changed since."""
    now = digests()
    rows = read() | {name_of(path): now[path] for path in passed if now[path] == before[path]}
    rows = {name: rows[name] for name in map(name_of, now) if name in rows}
    with RECORD.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("page", "digest"), *sorted(rows.items())])


def name_of(path: Path) -> str:
    """Return the name of a page in the book."""
    return path.relative_to(ROOT / "book").with_suffix("").as_posix()


def notebooks() -> list[Path]:
    """Return all notebooks of the book."""
    return [path for pattern in ("*.ipynb", "*/*.ipynb") for path in ROOT.glob(f"book/{pattern}")]


def of_the_published_model() -> set[Path]:
    """Return the notebooks that can only be compared where its weights are."""
    return {path for path in notebooks() if "published_model()" in code(path)}


def drawn() -> set[Path]:
    """Return the lessons that are compared though nothing has changed."""
    lessons = list(ROOT.glob("book/[0-9]*.ipynb"))
    salt = digest(lessons).encode()
    lessons.sort(key=lambda path: hashlib.sha256(salt + path.name.encode()).digest())
    return set(lessons[:DRAWN])


def left_out() -> set[Path]:
    """Return the notebooks that `make test` does not compare."""
    known = read()
    same = {path for path, found in digests().items() if known.get(name_of(path)) == found}
    return same - drawn()
