"""The contents of the book, as ``_toc.yml`` lists them."""

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


def entries(root: Path = ROOT) -> Iterator[Entry]:
    """Iterate over the pages of the book, in order."""
    contents = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    yield Entry("", contents["root"], False)
    for part in contents["parts"]:
        for chapter in part["chapters"]:
            for page in [chapter, *chapter.get("sections", [])]:
                yield Entry(part["caption"], page["file"], part.get("numbered", False))
