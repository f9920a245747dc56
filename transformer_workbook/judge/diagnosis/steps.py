"""Steps: how far an answer is right, judged by the values of its names when it returns."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

from transformer_workbook.judge.comparing import equal
from transformer_workbook.judge.diagnosis.relations import are_telling, relation
from transformer_workbook.judge.sentences import said

Values = Mapping[str, Any]


def of_steps(
    answers: Sequence[Any], given: Sequence[Values], right: Sequence[Values], named: bool
) -> str:
    """Say which step an answer returns, or which of its steps is the first wrong or the last right.

    A step is right if it has the value of any step of the reference. One that is not may be
    another way; only if the names are those of the reference (``named``), it is wrong.

    >>> of_steps([0.5, 2.5], [{"a": 1.5, "b": 0.5}, {"a": 3.5, "b": 2.5}],
    ...          [{"c": 1.5, "b": 9.5}, {"c": 3.5, "b": 1.5}], named=True)
    '`b` is the first step that is wrong.'
    >>> of_steps([0.5], [{"q": 1.5, "b": 0.5}], [{"c": 1.5, "b": 9.5}], named=False)
    '`q` is right; the mistake comes after it.'
    """
    steps = {name: [values.get(name) for values in right] for name in right[0]}
    for name, values in steps.items():
        if are_telling(values) and equal(answers, values):
            return said("this is `{name}`, a step on the way to what is asked for.", name=name)
    known, sure = "", named
    for name in given[0]:
        got = [values.get(name) for values in given]
        if any(value is None for value in got):
            continue  # not assigned in every case
        if any(equal(got, values) for values in steps.values()):
            known = name if named or are_telling(got) else known
        elif named and name in steps and are_telling(steps[name]):
            if not sure:
                return said("`{name}` is wrong, or something before it.", name=name)
            if how := relation(got, steps[name]):
                return said("in the step `{name}`: {sentence}", name=name, sentence=how)
            return said("`{name}` is the first step that is wrong.", name=name)
        else:
            sure = False  # another way, perhaps, or another name
    return known and said("`{name}` is right; the mistake comes after it.", name=known)


def codes_of(function: Any) -> Iterator[CodeType]:
    """Iterate over the code of a function or of a class's methods, and that of functions inside."""
    written = vars(function).values() if isinstance(function, type) else [function]
    found = [inspect.unwrap(one).__code__ for one in written if inspect.isfunction(one)]
    for code in found:
        yield code
        found += [inside for inside in code.co_consts if isinstance(inside, CodeType)]


def values_of(
    ask: Callable[..., Any] | None, codes: Sequence[CodeType], function: Any, *case: Any
) -> dict[str, Any]:
    """Ask a function, and return the last values of all names that it assigns, in their order."""
    values, given = dict[str, Any](), dict[FrameType, Values]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if (code := frame.f_code) not in codes or code.co_name[0] == "<":
            return
        if event == "call":
            given[frame] = dict(frame.f_locals)
        if event == "return":
            own, first = frame.f_locals, given.pop(frame, {})
            assigned = (name for name in code.co_varnames if name in own and name != "_")
            found = {name: own[name] for name in assigned if own[name] is not first.get(name)}
            values.update(found)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with suppress(Exception):  # what was assigned before is known
            ask(function, *case) if ask else function(*case)
    finally:
        sys.setprofile(before)
    return values
