"""Steps: how far an answer is right, judged by the values that its lines give to names."""

import ast
import inspect
import linecache
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any, NamedTuple

from transformer_workbook.judge.comparing import Failure, equal
from transformer_workbook.judge.copying import copied
from transformer_workbook.judge.diagnosis.relations import are_telling, relation
from transformer_workbook.judge.sentences import said
from transformer_workbook.judge.stubs import syntax_of
from transformer_workbook.judge.trials import quoted


class Step(NamedTuple):
    """A line that gives a name its value."""

    name: str
    line: int = 0
    text: str = ""


Values = Mapping[Step, Any]


def of_steps(
    answers: Sequence[Any],
    given: Sequence[Values],
    right: Sequence[Values],
    named: Mapping[str, int],
) -> str:
    """Say which step an answer returns, or which of its steps is the first wrong or the last right.

    A step is right if it has the value of any step of the reference. One that is not may be
    another way; it is wrong only if the answer was given the names of the reference (``named``,
    with the number of lines of each), and the line has its counterpart there.

    >>> a, b, c = map(Step, "abc")
    >>> of_steps([0.5, 2.5], [{a: 1.5, b: 0.5}, {a: 3.5, b: 2.5}],
    ...          [{c: 1.5, b: 9.5}, {c: 3.5, b: 1.5}], named={"a": 1, "b": 1})
    '`b` is the first step that is wrong.'
    >>> of_steps([0.5], [{a: 1.5, b: 0.5}], [{c: 1.5, b: 9.5}], named={})
    '`a` is right; the mistake comes after it.'
    >>> of_steps([0.5], [{b: 0.5, a: 1.5}], [{c: 1.5, b: 9.5}], named={})
    '`a` is right; the mistake is elsewhere.'
    """
    steps = {step: [values.get(step) for values in right] for step in right[0]}
    for step, values in steps.items():
        if are_telling(values) and equal(answers, values):
            return said("this is `{name}`, a step on the way to what is asked for.", name=step.name)
    last, sure, failed = "", True, any(isinstance(got, Failure) for got in answers)
    for step in given[0]:
        got = [values.get(step) for values in given]
        if any(value is None or callable(value) for value in got):
            continue  # not assigned in every case, or a function
        lines, own = ([s for s in every if s.name == step.name] for every in (steps, given[0]))
        name = step.text if len(own) > 1 else step.name
        meant = steps[lines[own.index(step)]] if named.get(step.name) == len(lines) > 0 else None
        if any(equal(got, values) for values in steps.values()):
            if named or are_telling(got):
                after = said("`{name}` is right; the mistake comes after it.", name=name)
                elsewhere = said("`{name}` is right; the mistake is elsewhere.", name=name)
                last = after if sure else elsewhere
        elif meant and are_telling(meant) and (failed or all(map(_of_one_shape, got, meant))):
            if not sure:
                return said("`{name}` is wrong, or something before it.", name=name)
            if not failed and (how := relation(got, meant)):
                return said("in the step `{name}`: {sentence}", name=name, sentence=how)
            return said("`{name}` is the first step that is wrong.", name=name)
        else:
            sure = False  # another way, perhaps, or another name
    return "" if failed else last  # where it raises is said already


def _of_one_shape(one: Any, other: Any) -> bool:
    """Tell whether two values may be compared; one of another shape is perhaps another way."""
    return getattr(one, "shape", None) == getattr(other, "shape", None)


def _kept(value: Any) -> Any:
    """Copy a value, which a later line may change in its place."""
    try:
        return copied(value)
    except Exception:  # an iterator, for example
        return value


def assigned(function: Any) -> Counter[str]:
    """Count the lines of a function or of a class's methods that give each name a value."""
    count = Counter[str]()
    for syntax in syntax_of(function):
        names = [node for node in syntax if isinstance(node, ast.Name)]
        count.update(
            name for name, _ in {(x.id, x.lineno) for x in names if isinstance(x.ctx, ast.Store)}
        )
    return count


def codes_of(function: Any) -> Iterator[CodeType]:
    """Iterate over the code of a function or of a class's methods, and that of functions inside."""
    written = vars(function).values() if isinstance(function, type) else [function]
    found = [inspect.unwrap(one).__code__ for one in written if inspect.isfunction(one)]
    for code in found:
        yield code
        found += [inside for inside in code.co_consts if isinstance(inside, CodeType)]


def values_of(
    ask: Callable[..., Any] | None, codes: Sequence[CodeType], function: Any, *case: Any
) -> dict[Step, Any]:
    """Ask a function, and return what its lines give to names, in their order.

    Of a function that is called several times, it is the first call.
    """
    values, seen = dict[Step, Any](), dict[FrameType, tuple[Mapping[str, Any], int]]()
    left = [code for code in codes if code.co_name[0] != "<"]

    def note(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if event == "call":
            if code not in left:
                return None
            left.remove(code)
        else:
            before, line = seen[frame]
            for name, value in frame.f_locals.items():
                if name in code.co_varnames and name != "_" and value is not before.get(name):
                    text = quoted(linecache.getline(code.co_filename, line))
                    values[Step(name, line, text)] = _kept(value)
        seen[frame] = dict(frame.f_locals), frame.f_lineno
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        with suppress(Exception):  # what was assigned before is known
            ask(function, *case) if ask else function(*case)
    finally:
        sys.settrace(before)
    return values
