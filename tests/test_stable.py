"""What 1.x promises (``tests/kept/stable.txt``) is there, and is called as before."""

import re
from pathlib import Path

import pytest

import stable_names

PROMISED = Path(__file__).resolve().parent / "kept" / "stable.txt"


def parts(line: str) -> tuple[str, list[str]]:
    """A name and its parameters."""
    name, _, given = line.partition("(")
    return name, re.findall(r"[*\w]+=?", given)


def by_position(given: list[str]) -> list[str]:
    """The parameters that need no name."""
    return given[: next((at for at, name in enumerate(given) if name[0] == "*"), len(given))]


def breaks(promised: list[str], today: list[str]) -> bool:
    """Tell whether a call that was right is wrong today."""
    kept = [name.rstrip("=") for name in by_position(today)]
    before = [name.rstrip("=") for name in by_position(promised)]
    gone = {name for name in promised if name.startswith("*") and name != "*"} - set(today)
    names = {name.rstrip("=") for name in today}
    lacking = [name for name in promised if name[0] != "*" and name.rstrip("=") not in names]
    asked = [name for name in today if name[-1] not in "=*" and name[0] != "*"]
    new = [name for name in asked if name not in promised]
    return kept[: len(before)] != before or bool(gone or lacking or new)


def test_everything_that_is_promised_is_there() -> None:
    today = dict(map(parts, stable_names.lines()))
    promised = dict(map(parts, PROMISED.read_text(encoding="utf-8").splitlines()))
    assert sorted(promised.keys() - today.keys()) == []
    assert [name for name, given in promised.items() if breaks(given, today[name])] == []


@pytest.mark.parametrize(
    ("promised", "today", "broken"),
    [
        ("f(x, y=)", "f(x, y=, z=)", False),
        ("f(x, *, y)", "f(x, y=)", False),
        ("f(x, *, y=)", "f(x, *, z=, y=)", False),
        ("f(x, y=)", "f(y=, x=)", True),
        ("f(x, y=)", "f(x, *, y=)", True),
        ("f(x, y=)", "f(x, y)", True),
        ("f(x)", "f(x, z)", True),
        ("f(x, *, y=)", "f(x, *, z=)", True),
        ("f(*names)", "f(names)", True),
    ],
)
def test_a_call_that_was_right_is_right(promised: str, today: str, broken: bool) -> None:
    assert breaks(parts(promised)[1], parts(today)[1]) is broken
