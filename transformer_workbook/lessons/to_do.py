"""The lessons as notebooks to do: gaps in place of the decisive lines, and nothing computed yet."""

import copy
import json
import os
import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from annotated_transformer.ground.errors import InputError, require_choice
from annotated_transformer.ground.inputs import StrPath, require_path
from annotated_transformer.ground.sentences import ENGLISH, languages
from annotated_transformer.run.files import write_atomically
from transformer_workbook.judge.sentences import to_say
from transformer_workbook.lessons.gaps import Notebook, gaps_of, source_of
from transformer_workbook.lessons.languages import in_language
from transformer_workbook.places import ROOT, SHIPPED

BOOK = (SHIPPED if (SHIPPED / "book").is_dir() else ROOT) / "book"
"""The folder of the lessons: in a wheel those that have gaps, in the repository all of them."""

LINK = re.compile(r"\[([^\]]*)\]\(([\w./-]+)\.(ipynb|md)(#[^)]*)?\)")
"""A link to a page of the book."""

WRITTEN = "annotated_transformer"
"""Where the metadata of a notebook keep its language and the digest of the sources as written."""


YOURS = to_say("Yours to write: what is `None`, or what belongs in place of the line with `raise`.")
"""What stands below a gap: the bar beside its lines is on the site alone."""


def lessons() -> dict[str, Path]:
    """Return the notebooks of the lessons that have gaps, by name, in the order of the course."""
    every = sorted(BOOK.glob("[0-9][0-9]_*.ipynb"))
    return {path.stem: path for path in every if gaps_of(read(path))}


def read(path: Path) -> dict[str, Any]:
    """Read a notebook."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def digest(notebook: Notebook) -> str:
    """Return a digest of the sources: outputs and metadata do not count."""
    sources = [[cell["cell_type"], source_of(cell)] for cell in notebook["cells"]]
    return sha256(json.dumps(sources).encode()).hexdigest()


def to_do(notebook: Notebook) -> dict[str, Any]:
    """Return a notebook with its gaps open, hints below them, and no outputs from there on."""
    opened = copy.deepcopy(dict(notebook))
    gaps = gaps_of(notebook)
    cells = opened["cells"]
    for cell in cells[gaps[0].cell :] if gaps else ():
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    for gap in reversed(gaps):
        del cells[gap.cell]["metadata"]["blank"]
        cells[gap.cell]["source"] = gap.emptied()
        told = f"{YOURS}\n\n<details><summary>Hint</summary>\n\n{gap.hint}\n\n</details>"
        hint = {"cell_type": "markdown", "id": f"hint-{gap.check[:50]}".replace("_", "-")}
        cells.insert(gap.cell + 1, hint | {"metadata": {}, "source": told})
    return opened


def is_untouched(path: Path) -> bool:
    """Whether no source of a notebook that was written here has been changed since."""
    try:
        notebook = read(path)
        return bool(notebook["metadata"][WRITTEN]["sources"] == digest(notebook))
    except (ValueError, KeyError, TypeError, RecursionError):
        return False  # not one of ours


def chosen(names: Iterable[str]) -> dict[str, Path]:
    """Return the lessons of these names or numbers, such as ``07_positional_encoding`` or ``7``.

    Raises:
        InputError: if there is no such lesson, or it has nothing to write yet.
    """
    every = lessons()
    found: dict[str, Path] = {}
    for name in names:
        number = name.zfill(2) if name.isdecimal() else name
        fitting = [stem for stem in every if number in (stem, stem[:2], stem[3:])]
        if not fitting:
            raise InputError(f"{name} is no lesson with gaps, it must be one of {', '.join(every)}")
        found |= {stem: every[stem] for stem in fitting}
    return found or every


def relinked(markdown: str, leads: Callable[[str, str], str]) -> str:
    """Let links to pages of the book lead to where a page is; one that is nowhere is plain text.

    >>> relinked("see [masks](08_masking.ipynb#why)", lambda page, suffix: f"../{page}.html")
    'see [masks](../08_masking.html#why)'
    >>> relinked("see [masks](08_masking.ipynb#why)", lambda page, suffix: "")
    'see masks'
    """

    def link(found: re.Match[str]) -> str:
        text, page, suffix, place = found.groups()
        to = leads(page, suffix)
        return f"[{text}]({to}{place or ''})" if to else text

    return LINK.sub(link, markdown)


def write_to_do(
    lesson: Path, path: Path, leads: Callable[[str, str], str], language: str = ENGLISH
) -> None:
    """Write one lesson to do in a language, whatever is there; ``leads`` as in `relinked`."""
    notebook = to_do(read(lesson))
    if language != ENGLISH:
        notebook = in_language(notebook, lesson, language)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = relinked(source_of(cell), leads)
    notebook["metadata"][WRITTEN] = {"language": language, "sources": digest(notebook)}
    write_atomically(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def write_lessons(
    folder: StrPath, names: Iterable[str] = (), language: str = ENGLISH
) -> list[Path]:
    """Write lessons to do into a folder: all of them without names.

    Their links lead to those beside them, and else to the book, where it is. A file in which the
    source of a cell was changed is never overwritten.

    Raises:
        InputError: if there is no such lesson or language, or a file holds work; nothing is written
            then.
    """
    folder = require_path("folder", folder)
    require_choice("language", language, languages())
    if folder.is_file():
        raise InputError(f"{folder} is a file, it must be a folder.")
    wanted = {folder / f"{stem}.ipynb": path for stem, path in chosen(names).items()}
    mine = [str(path) for path in wanted if path.exists() and not is_untouched(path)]
    if mine:
        raise InputError(
            f"{', '.join(mine)} holds changes of yours: rename it to get a fresh one, or name "
            "another folder."
        )
    folder.mkdir(parents=True, exist_ok=True)

    def leads(page: str, suffix: str) -> str:
        beside, stored = folder / f"{page}.{suffix}", BOOK / f"{page}.{suffix}"
        if beside in wanted or beside.exists():
            return f"{page}.{suffix}"
        if not stored.exists():
            return ""
        try:
            return Path(os.path.relpath(stored, folder)).as_posix()
        except ValueError:  # another drive of Windows
            return stored.as_posix()

    for path, lesson in wanted.items():
        write_to_do(lesson, path, leads, language)
    return list(wanted)
