"""Localization: find the reader's function that has a mistake, so that it is reported once.

It is the function for which replacing it by ours makes right what is wrong.
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from transformer_workbook.judge.comparing import Failure, equal
from transformer_workbook.judge.sentences import said
from transformer_workbook.judge.trials import attempt
from transformer_workbook.own.definitions import definitions, differing, is_private, name_of, ours
from transformer_workbook.own.judgement import SECONDS, Finding, asked, checks_of, judged, wanted
from transformer_workbook.own.loader import OURS, file_of, run_source
from transformer_workbook.own.repair import mended
from transformer_workbook.own.syllabus import PACKAGE

QUICKLY = 0.5
"""Seconds that an answer may take in such a trial."""


def placed(folder: Path, module: str, found: Iterable[Finding]) -> Iterator[Finding]:
    """Find the place of the mistake for each wrong finding of a module, if possible.

    Of several that come from one mistake, one reports it, and the others depend on it. A second
    mistake is reported as if the first were corrected.
    """
    left = {finding.subject: finding for finding in found if finding.state == "wrong"}
    try:
        tree = ast.parse(file_of(folder, module).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    theirs = _run(tree, module)
    if isinstance(theirs, Failure):
        return
    candidates = list(differing(tree, module))
    while left:
        right = {name: _right_with(tree, module, name, left) for name in candidates}
        place = max(candidates, key=lambda name: len(right[name]), default="")
        if not place or not right[place]:
            return
        now = _run(tree, module)
        group = [judged(now, module, subject, place) for subject in right[place]]
        # The subject to which the place belongs reports it; else one that can name the mistake.
        teller = min(group, key=lambda f: (not _belongs(place, f.subject), not f.named))
        told = _missing(theirs, module, place) or teller.sentence
        if not teller.named and place in (parts := dict(definitions(tree))):
            is_right = partial(_are_right_as, tree, module, place, now, group)
            change = mended(parts[place], tree, is_right)
            told, teller = f"{change} {told}".lstrip(), replace(teller, named=bool(change))
        yield replace(teller, place=place, sentence=told)
        also = said("it depends on {place}, where a mistake is.", place=place)
        for finding in group:
            if finding.subject != teller.subject:
                yield replace(finding, place=place, depends=True, sentence=also)
        tree = _grafted(tree, module, place)
        candidates.remove(place)
        again = _run(tree, module)
        left = {name: judged(again, module, name) for name in left if name not in right[place]}
        yield from left.values()


def _belongs(place: str, subject: str) -> bool:
    return place == subject or place.startswith(f"{subject}.")


def _right_with(tree: ast.Module, module: str, name: str, wrong: dict[str, Finding]) -> list[str]:
    """Return the findings that become right with our definition of that name."""
    made = _run(_grafted(tree, module, name), module)
    return [subject for subject, finding in wrong.items() if _are_right(made, [finding])]


def _are_right(made: ModuleType | Failure, wrong: Collection[Finding]) -> bool:
    """Tell whether everything is right; the questions that failed are asked first."""
    if isinstance(made, Failure):
        return False
    for finding in wrong:
        check = checks_of(finding.module, finding.subject)[finding.question]
        if not equal(asked(check, made, QUICKLY).result, wanted(check)):
            return False
    return all(judged(made, f.module, f.subject).state == "right" for f in wrong)


def _are_right_as(
    tree: ast.Module, module: str, name: str, now: Any, wrong: Collection[Finding]
) -> bool:
    """Tell whether everything is right with a definition of the tree; the rest is unchanged."""
    *outside, last = name.split(".")
    node: Any = dict(definitions(tree))[name]
    if isinstance(node, ast.ClassDef) or "super" in {getattr(n, "id", "") for n in ast.walk(node)}:
        return _are_right(_run(tree, module), wrong)
    holder, made = getattr(now, outside[0]) if outside else now, dict[str, Any]()
    before = vars(holder)[last]
    try:
        exec(compile(ast.Module([node], []), f"<{module}>", "exec"), vars(now), made)
    except Exception:  # the combination may make no sense
        return False
    setattr(holder, last, made[last])
    try:
        return _are_right(now, wrong)
    finally:
        setattr(holder, last, before)


def _grafted(tree: ast.Module, module: str, name: str) -> ast.Module:
    """Copy the reader's module, with one definition of ours."""
    tree, (*outside, last) = deepcopy(tree), name.split(".")
    inside: Any = tree
    for outer in outside:
        inside = next((node for node in tree.body if name_of(node) == outer), None)
    if inside is not None:
        at = [i for i, node in enumerate(inside.body) if name_of(node) == last]
        first, end = (at[0], at[-1] + 1) if at else (len(inside.body), len(inside.body))
        inside.body[first:end] = [deepcopy(ours(module)[name])]
    return tree


def _run(tree: ast.Module, module: str) -> ModuleType | Failure:
    """Run a module of the reader's, in which our definitions find all that they need."""
    public = {name for name in ours(module) if not is_private(name)}
    known = {
        name: value
        for name, value in vars(import_module(f"{OURS}.{module}")).items()
        if name not in public and not name.endswith("__")
    }

    def run() -> ModuleType:
        code = compile(tree, f"<{module}>", "exec")
        return run_source(code, PACKAGE, module, f"<{module}>", known)

    return attempt(run, (), SECONDS).result


def _missing(theirs: ModuleType, module: str, name: str) -> str:
    """Say that a name is missing, and which one was perhaps meant; or return ""."""
    *outside, last = name.split(".")
    holder: Any = getattr(theirs, outside[0], None) if outside else theirs
    if holder is None or hasattr(holder, last):
        return ""
    right = import_module(f"{OURS}.{module}")
    others = vars(holder).keys() - vars(getattr(right, outside[0]) if outside else right).keys()
    near = get_close_matches(last, others, n=1)
    if near:
        return said("there is no {name}: did you mean it by {near}?", name=name, near=near[0])
    return said("there is no {name}.", name=name)
