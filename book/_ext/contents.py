"""The contents of the book, as ``_toc.yml`` lists them, and pages that the build itself writes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Entry:
    """A page of the book, and the part that it belongs to: none for the first."""

    part: str
    name: str
    is_numbered: bool
    """Whether it is a chapter, which has a number; its second page has none of its own."""


def entries(root: Path = ROOT) -> Iterator[Entry]:
    """Iterate over the pages of the book, in order."""
    contents = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    yield Entry("", contents["root"], False)
    for part in contents["parts"]:
        for chapter in part["chapters"]:
            for page in [chapter, *chapter.get("sections", [])]:
                for name in [page["file"]] if "file" in page else made(root, page["glob"]):
                    numbered = page is chapter and part.get("numbered", False)
                    yield Entry(part["caption"], name, numbered)


def made(root: Path, pattern: str) -> list[str]:
    """Return the names of the pages in a folder, in the order of Sphinx."""
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.glob(pattern))


def write_pages(folder: Path, texts: dict[str, str]) -> None:
    """Write pages into a folder that Git ignores; what has not changed is left as it is."""
    folder.mkdir(exist_ok=True)
    for page in folder.glob("*.md"):
        if page.stem not in texts:
            page.unlink()
    for name, text in texts.items():
        page = folder / f"{name}.md"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
