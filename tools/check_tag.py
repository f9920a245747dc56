"""Check that a tag, the version, the changelog and the citation agree."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.M)
CITED = re.compile(r"^version: (\S+)$", re.M)
RELEASED = re.compile(r"^## (\S+) - \d{4}-\d\d-\d\d$", re.M)


def disagreements(tag: str, root: Path = ROOT) -> list[str]:
    """Return a sentence for each place that does not have the version of the tag."""
    version = tag.removeprefix("v")
    found = []
    for name, pattern in {
        "annotated_transformer/__init__.py": VERSION,
        "CITATION.cff": CITED,
        "CHANGELOG.md": RELEASED,
    }.items():
        match = pattern.search((root / name).read_text(encoding="utf-8"))
        said = match[1] if match else "no version"
        if said != version:
            found.append(f"{name} says {said}, the tag {tag}")
    return found


def main() -> None:
    """Refuse a tag that does not agree with the rest."""
    if found := disagreements(sys.argv[1]):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
