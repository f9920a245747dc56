"""The engine of the exercises: whatever a reader's function does becomes a verdict."""

import contextlib
import math
import random
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from transformer_workbook.judge.catalogue import Mistake
from transformer_workbook.judge.comparing import difference, equal, show
from transformer_workbook.judge.copying import copied
from transformer_workbook.judge.exercises import Derivation, Exercise
from transformer_workbook.judge.faults import FAULT
from transformer_workbook.judge.probes import Remembered
from transformer_workbook.judge.questions import Question, letters, number, word
from transformer_workbook.judge.tasks import Task
from transformer_workbook.judge.trials import MOST, attempt, settings_put_back


def total(x: Tensor) -> Tensor:
    """Add up the last axis."""
    return x.sum(-1)


SUM = Exercise(
    reference=total,
    given=[
        Mistake("you take the mean.", lambda x: x.mean(-1)),
        Mistake("this works for matrices only.", lambda x: torch.mv(x, torch.ones(x.size(1)))),
    ],
    cases=[(torch.tensor([[1.0, 2.0, 4.0], [0.5, 0.0, 1.0]]),), (torch.rand(4, 2, 3),)],
)
"""A tensor is asked for."""

WORDS = Exercise(
    reference=sorted,
    given=[Mistake("you turn the words round.", lambda words: words[::-1])],
    cases=[(["b", "a"],), (["b", "c", "a"],)],
)
"""A list is asked for."""

TOTAL = Exercise(
    reference=sum,
    given=[Mistake("you count.", len)],
    cases=[([0.5, 1.0],), ([2.0, 4.0, 8.0],)],
)
"""A number is asked for."""


# --- right ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x.double().sum(-1),
        lambda x: x.float().sum(-1),
        lambda x: torch.nn.Parameter(x.sum(-1)),
        lambda x: x.sum(-1) * (1 + 1e-6),
    ],
)
def test_a_right_tensor_is_right(answer: Callable[[Tensor], Tensor]) -> None:
    assert SUM(answer).passed


@pytest.mark.parametrize("answer", [tuple, np.array, np.sum, math.fsum])
def test_a_number_may_be_of_any_kind_but_a_list_is_none(answer: Callable[[Any], Any]) -> None:
    assert TOTAL(answer).passed == (answer not in (tuple, np.array))


# --- not attempted, or wrong ----------------------------------------------------------------------


def test_an_empty_answer_is_not_attempted() -> None:
    verdict = SUM(lambda x: None)
    assert (repr(verdict), verdict.passed, verdict.mistake) == ("not attempted", False, "")


def in_one_line(words: list[str]) -> list[str]:
    ordered = None  # noqa: F841 - a line of the gap that this answer does not need
    return sorted(words)


def by_another_line(words: list[str]) -> list[str]:
    ordered = None  # noqa: F841
    return words


def test_a_gap_that_is_right_without_one_of_its_lines_is_right() -> None:
    gap = replace(WORDS, gap=True)
    assert [gap(in_one_line).state, gap(by_another_line).state] == ["right", "not attempted"]


def test_a_missing_return_is_told() -> None:
    verdict = WORDS(lambda words: sorted(words) if len(words) == 2 else None)
    assert verdict.mistake == "for ['b', 'c', 'a'] it gives None; does every branch return?"


def forgets(words: list[str]) -> None:
    sorted(words)


def test_a_function_that_lacks_its_return_has_been_attempted() -> None:
    asked = replace(WORDS, ask=lambda answer, words: None)
    assert "returns None" in asked(forgets).mistake


def test_a_result_in_place_of_the_function_is_told() -> None:
    assert SUM(torch.ones(3)).mistake == (
        "the check wants the function itself, not what it returns."
    )


def fails(*_: Any) -> Any:
    """A bug of ours."""
    raise ZeroDivisionError("planted")


@pytest.mark.parametrize(
    "bug",
    [
        replace(WORDS, reference=fails),
        replace(WORDS, ask=fails),
        Question(fails, "words", "What?"),
    ],
)
def test_what_fails_in_the_check_itself_is_told_as_ours(bug: Task) -> None:
    verdict = bug(sorted)
    assert (verdict.state, verdict.mistake, verdict.passed) == ("not judged", FAULT, False)
    assert verdict.trace.endswith("ZeroDivisionError: planted")
    assert repr(verdict).startswith(f"not judged: {FAULT}\nTraceback ")
    assert "<pre>Traceback " in verdict._repr_html_()


def test_a_table_of_mistakes_that_fails_is_ours_and_right_answers_do_not_need_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = replace(WORDS, given=None)
    monkeypatch.setattr("transformer_workbook.judge.exercises.mistakes_in", fails)
    assert asked(sorted).passed
    assert asked(lambda words: words[::-1]).state == "not judged"


class Stubborn(Exception):
    """Raises at whatever one does with it."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("==")

    def __repr__(self) -> str:
        raise ValueError("repr")

    __str__, __hash__ = __repr__, None  # type: ignore[assignment]


def raises(error: BaseException) -> Callable[[Any], None]:
    def answer(_: Any) -> None:
        raise error

    return answer


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no\nat all"), "ValueError: no"),
        (SystemExit(), "SystemExit"),
        (Stubborn(), "Stubborn"),
    ],
)
def test_an_exception_becomes_a_verdict(error: BaseException, told: str) -> None:
    assert SUM(raises(error)).mistake.startswith(
        f"for [[1, 2, 4], [0.5, 0, 1]] it raises {told}, in line "
    )


def fails_in_its_third_line(x: Tensor) -> Tensor:
    rows = x.sum(-1)
    return rows.view(7, 7)


def test_an_exception_is_told_with_the_line_of_the_answer_in_which_it_was_raised() -> None:
    number = fails_in_its_third_line.__code__.co_firstlineno + 2
    told = SUM(fails_in_its_third_line).mistake
    assert told.endswith(f"in line {number}: return rows.view(7, 7).")
    assert "2 (x.size(0)) numbers are put into the shape (7, 7)" in told


def test_an_exception_in_one_case_only_is_told_with_the_case() -> None:
    verdict = WORDS(lambda words: sorted(words) if len(words) == 2 else words[9])
    told = "for ['b', 'c', 'a'] an index of a list is beyond its end, in line "
    assert verdict.mistake.startswith(told)


def test_of_what_is_printed_or_said_without_an_end_little_is_kept() -> None:
    def noisy(loud: bool) -> int:
        for _ in range(1000):
            print("y" * 1000)
        if loud:
            raise ValueError("y" * 10**6)
        return 1

    trial = attempt(noisy, (False,))
    assert (trial.result, len(trial.printed)) == (1, MOST)
    assert len(attempt(noisy, (True,)).result.sentence) < 2 * MOST


def test_an_interruption_from_the_keyboard_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        SUM(raises(KeyboardInterrupt()))


def add_in_place(x: Tensor) -> Tensor:
    x += 1
    return (x - 1).sum(-1)


def sort_and_return_nothing(words: list[str]) -> None:
    words.sort()


def hide_a_stubborn_object(words: list[Any]) -> list[str]:
    result = sorted(words)
    words[0] = Stubborn()
    return result


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (SUM, add_in_place),
        (WORDS, sort_and_return_nothing),
        (WORDS, hide_a_stubborn_object),
    ],
)
def test_a_changed_argument_becomes_a_verdict(exercise: Exercise, answer: Any) -> None:
    before = show(exercise.cases)
    verdict = exercise(answer)
    assert verdict.mistake.endswith("it changes its arguments in place; return a new result.")
    assert show(exercise.cases) == before


def nested() -> list[Any]:
    result: list[Any] = []
    result.append(result)
    return result


STRANGE = [
    True,
    "right",
    [],
    1j,
    torch.tensor(1j),
    torch.ones(2, dtype=torch.bool),
    torch.ones(2, dtype=torch.complex64),
    torch.tensor([1, 2]),
    torch.full((2,), torch.nan),
    torch.ones(0),
    torch.ones(2, device="meta"),
    torch.ones(2).to_sparse(),
    np.ones(2),
    int,
    (i for i in range(3)),
    {1, 2},
    {"a": 1},
    [Stubborn(), Stubborn()],
    nested(),
    NotImplemented,
]


@pytest.mark.parametrize("exercise", [SUM, WORDS, TOTAL])
def test_a_strange_result_becomes_a_verdict(exercise: Exercise) -> None:
    for strange in STRANGE:
        verdict = exercise(lambda _, strange=strange: strange)
        assert verdict.state == "wrong"
        assert 0 < len(verdict.mistake) < 400
        assert verdict.mistake not in [mistake.says for mistake in exercise.mistakes]


# --- nothing hangs, nothing is changed, nothing is lost -------------------------------------------


def endless(x: Tensor) -> Tensor:
    while True:
        with contextlib.suppress(Exception):
            x = x + 1


def test_an_endless_loop_is_stopped_with_a_sentence() -> None:
    short = replace(SUM, seconds=0.2)
    assert short.check(endless).mistake == (
        "for [[1, 2, 4], [0.5, 0, 1]] it does not end within 0.2 seconds; "
        "is there a loop without an end?"
    )
    verdicts = []
    elsewhere = threading.Thread(target=lambda: verdicts.append(short.check(endless)))
    elsewhere.start()
    elsewhere.join()
    assert "does not end" in verdicts[0].mistake


STOPPED = """
import sys
import weakref
from transformer_workbook.judge.overtime import OutOfTime, within

class Thing:
    pass

def spin(_):
    while True:
        pass

def endless():
    thing = Thing()
    reference = weakref.ref(thing, spin)
    del thing  # spins until it is stopped, of which nothing comes out
    print("going on")
    spin(None)

def fail(_):
    raise ValueError("to be told")

def trace(frame, event, argument):
    return trace

def stops(function):
    try:
        within(0.05, function)
    except OutOfTime:
        print("stopped")

stops(endless)
thing = Thing()
reference = weakref.ref(thing, fail)
del thing
sys.settrace(trace)  # as a debugger does
for _ in range(5):
    stops(lambda: spin(None))
print(within(10.0, lambda: 2 + 2))
"""


def test_a_loop_is_stopped_though_python_drops_the_stop_or_a_debugger_traces_it() -> None:
    """In a process of its own, which can be ended if it hangs."""
    done = subprocess.run(
        [sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split("\n") == ["going on", *["stopped"] * 6, "4", ""]
    assert "OutOfTime" not in done.stderr
    assert "ValueError: to be told" in done.stderr


def test_a_call_that_ends_in_time_is_never_stopped_and_all_are_watched_by_one_thread() -> None:
    attempt(lambda: 1, (), 0.2)
    before = threading.active_count()
    for _ in range(20):
        assert attempt(lambda: attempt(lambda: 1, (), 0.05).result, (), 5.0).result == 1
    assert threading.active_count() == before
    time.sleep(0.1)  # past the end that was set to each of them


def test_of_two_calls_the_one_that_takes_too_long_is_stopped() -> None:
    def loops() -> None:
        while True:
            pass

    inner = attempt(lambda: (attempt(loops, (), 0.05).endless, "goes on"), (), 5.0)
    assert inner.result == (True, "goes on")


def test_an_interruption_does_not_spoil_what_is_remembered() -> None:
    interrupted = [True]

    def squares() -> Iterator[int]:
        yield 0
        if interrupted.pop():
            raise KeyboardInterrupt
        yield from (1, 4)

    remembered = Remembered(squares)
    interrupted[:] = [False, True]
    with pytest.raises(KeyboardInterrupt):
        list(remembered)
    assert list(remembered) == [0, 1, 4]


# --- nothing is done twice ------------------------------------------------------------------------


def test_the_right_results_are_found_once_for_all_answers() -> None:
    called = SimpleNamespace(times=0)  # of a list, a copy would be changed

    def product(x: float, y: float) -> float:
        """Multiply."""
        called.times += 1
        return x * y

    cases = [(2.5, 3.5), (4.5, 1.5), (0.5, 7.5)]
    asked = Exercise(product, cases, given=[Mistake("you add them.", lambda x, y: x + y)])
    first = asked.check(lambda x, y: x**3 + y).mistake
    assert called.times
    called.times = 0
    assert asked.check(lambda x, y: x**3 + y).mistake == first
    seeds = 3  # asked again only: does the right result depend on random numbers?
    assert called.times <= seeds


def test_a_copy_shares_nothing_but_what_was_shared() -> None:
    x = torch.arange(6.0)
    given = (x, x, [x, 1], x.view(2, 3).mT, x[1:4], torch.nn.Parameter(x.clone()), {"a": [x]})
    copy, deep = copied(given), deepcopy(given)
    assert copy[0] is copy[1] is copy[2][0] is copy[6]["a"][0]
    assert equal(copy, given)
    for mine, theirs in zip(copy[3:6], deep[3:6], strict=True):
        assert (mine.stride(), mine.requires_grad) == (theirs.stride(), theirs.requires_grad)
    copy[0].zero_()
    assert x.sum() == 15


NOTEBOOK: dict[str, Any] = {
    **{"__name__": "__main__", "torch": torch, "random": random},
    **{"deque": deque, "partial": partial},
}
"""What is defined in the notebook of a reader."""
exec(
    """
seen, table = [], torch.zeros(3)
model = torch.nn.Linear(2, 2)

def helper(x):
    table[0] += 1
    return x.mean(-1)

def meddles(x):
    global count
    count = 1
    seen.append(x)
    model.weight.data.zero_()
    torch.manual_seed(0)
    random.seed(0)
    return helper(x) + torch.rand(1) * 0 + 1

def wrong(x):
    return x.mean(-1) + 1

def closes(kept):
    def answer(x):
        kept.append(1)
        return wrong(x)
    return answer, kept

by_closure, of_closure = closes([])

def by_default(x, kept=[]):
    kept.append(1)
    return wrong(x)

of_default, = by_default.__defaults__

def by_keyword(x, *, kept=[]):
    kept.append(1)
    return wrong(x)

of_keyword = by_keyword.__kwdefaults__["kept"]

def first_kept(kept, x):
    kept.append(1)
    return wrong(x)

of_partial = []
by_partial = partial(first_kept, of_partial)

of_class = deque()

class Base:
    def mean(self, x):
        of_class.append(1)
        return wrong(x)

class Layer(Base):
    def __call__(self, x):
        return self.mean(x)

def by_class(x):
    return Layer()(x)
""",
    NOTEBOOK,
)


def test_nothing_of_the_notebook_is_changed_by_the_check() -> None:
    weight = NOTEBOOK["model"].weight.clone()
    state = torch.get_rng_state()
    told = SUM(NOTEBOOK["meddles"]).mistake
    assert NOTEBOOK["seen"] == []
    assert NOTEBOOK["table"].tolist() == [0, 0, 0]
    assert "count" not in NOTEBOOK
    assert torch.equal(NOTEBOOK["model"].weight, weight)
    assert torch.equal(state, torch.get_rng_state())
    assert re.search(r"It changes `(seen|table|model)`, outside it; work on a copy\.$", told)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("by_closure", "of_closure"),
        ("by_default", "of_default"),
        ("by_keyword", "of_keyword"),
        ("by_partial", "of_partial"),
        ("by_class", "of_class"),
    ],
)
def test_what_a_function_holds_or_reaches_is_not_changed(answer: str, kept: str) -> None:
    told = SUM(NOTEBOOK[answer]).mistake
    assert not NOTEBOOK[kept]
    assert "outside it; work on a copy." in told
    NOTEBOOK[answer](torch.ones(2))
    assert len(NOTEBOOK[kept]) == 1  # it is the same object as before
    NOTEBOOK[kept].clear()


def test_random_numbers_and_gradients_are_put_back() -> None:
    states = random.getstate(), torch.get_rng_state()
    of_numpy = np.random.get_state()[1].tolist()  # noqa: NPY002
    with settings_put_back():
        random.seed(0)
        torch.manual_seed(0)
        np.random.seed(0)  # noqa: NPY002
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32
    assert random.getstate() == states[0]
    assert torch.equal(torch.get_rng_state(), states[1])
    assert np.random.get_state()[1].tolist() == of_numpy  # noqa: NPY002


def test_a_function_that_calls_itself_is_tried_alone() -> None:
    world: dict[str, Any] = {}
    exec("def add(x):\n    return x[0] + add(x[1:]) if x else 0", world)
    assert TOTAL(world["add"]).passed


def test_what_is_printed_in_the_case_that_is_told_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert TOTAL(lambda numbers: print(sum(numbers))).mistake == (
        "your function returns None; did you print the result?"
    )
    assert capsys.readouterr().out == "1.5\n"


# --- what is asked for ---------------------------------------------------------------------------


def _pair(x: float) -> tuple[float, float]:
    return x, 2 * x


PAIR = Exercise(_pair, [(1.0,), (2.5,)], given=[])


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: torch.tensor([x, 2 * x]),
        lambda x: np.array([x, 2 * x]),
        lambda x: (torch.tensor(x), 2 * x),
    ],
)
def test_any_sequence_is_a_pair(answer: Callable[[float], Any]) -> None:
    assert PAIR(answer).passed


def _ids(n: int) -> Tensor:
    return torch.arange(n)


IDS = Exercise(_ids, [(2,), (3,)], whole=True, given=[])


def test_ids_are_whole_numbers() -> None:
    assert IDS(lambda n: torch.arange(n, dtype=torch.int32)).passed
    assert IDS(lambda n: torch.arange(float(n))).mistake == (
        "for 2 it gives a tensor of shape (2,) of floats; "
        "a tensor of shape (2,) of integers is asked for."
    )


class Scale(torch.nn.Module):
    """Multiply by a parameter."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


def put_to_work(kind: type[torch.nn.Module], x: Tensor) -> Tensor:
    """How a class is asked: build it, give it weights, use it."""
    layer = kind(x.size(-1))
    layer.load_state_dict({"factor": torch.arange(x.size(-1)) + 1.0})
    return layer(x)


def test_a_class_is_asked_for_what_its_objects_do() -> None:
    exercise = Exercise(Scale, [(torch.ones(2, 3),), (torch.ones(4),)], put_to_work, given=[])
    assert exercise(Scale).passed
    assert "nothing is given for 'out_features'" in exercise(torch.nn.Linear).mistake


def _steps(x: float) -> tuple[float, float]:
    return 2 * x, 2 * x + 1


def test_the_first_wrong_step_of_a_derivation_is_told() -> None:
    derivation = Derivation(_steps, [(1.0,), (2.0,)], given=[])
    assert derivation(_steps).passed
    assert derivation(lambda x: (2 * x, 5 * x)).mistake == (
        "for 1 step 2 is wrong: it gives 5; right is 3."
    )
    assert derivation(lambda x: (2 * x, None)).mistake == "for 1 step 2 is still missing."
    assert derivation(lambda x: 7 * x).mistake == ("this is a number; a tuple of 2 is asked for.")


def _three(x: float) -> tuple[float, float, float]:
    return x, x * x, x * x + 1


def _adds(x: float) -> tuple[float, float, float]:
    return x, x + x, x + x + 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (_adds, "step 2 is a sum."),
        (lambda x: (x, 2 * x, None), "step 2 is a sum."),
        (lambda x: (x + 0.1, 2 * x, 2 * x + 1), "for 3 step 1 is wrong: it gives 3.1; right is 3."),
        (lambda x: (x, x * x + 1, x * x), "steps 2 and 3 have changed places."),
        (lambda x: (x, x * x), "the last is missing; the rest is right."),
        (
            lambda x: (x, 2 * x),
            "two mistakes at once: step 2 is a sum. "
            "Besides, the last is missing; the rest is right.",
        ),
        (lambda x: (x, 3 * x + 1), "for 3 it gives (3, 10); right is (3, 9, 10)."),
    ],
)
def test_a_mistake_is_told_by_its_first_wrong_step(
    answer: Callable[[float], Any], told: str
) -> None:
    derivation = Derivation(_three, [(3.0,), (4.5,)], given=[Mistake("step 2 is a sum.", _adds)])
    assert derivation(answer).mistake == told


@number(within=0.1)
def rate() -> float:
    """Which rate is best?"""
    return 0.5


@number(among=(2, 6, 8))
def layers() -> int:
    """How many layers?"""
    return 6


@word
def kind() -> str:
    """Which layer is it?"""
    return "GRU"


@letters
def supported() -> str:
    """Which sentences does the record support?"""
    return "AC"


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        (rate, None, "not attempted"),
        (rate, 0.52, "right"),
        (rate, torch.tensor(0.5), "right"),
        (rate, -0.5, "wrong: the sign is wrong."),
        (rate, 50, "wrong: this is in per cent; the number itself is asked for."),
        (rate, 0.005, "wrong: this is a hundredth of what is asked for."),
        (rate, 2, "wrong: this is the reciprocal of what is asked for."),
        (rate, 0.25, "wrong: this is the square of what is asked for."),
        (rate, 0.707, "wrong: this is the root of what is asked for."),
        (rate, -0.301, "wrong: this is the exponent; 10 to the power of it is asked for."),
        (layers, 12, "wrong: this is twice what is asked for."),
        (layers, 3, "wrong: this is half of what is asked for."),
        (layers, 8, "wrong: 8 is too large."),
        (layers, 7, "wrong: 7 is none to choose from; they are 2, 6, 8."),
        (rate, 1, "wrong: at this rate the loss grows."),
        (rate, 0.8, "wrong: 0.8 is too large."),
        (rate, "a", "wrong: a number is asked for, not something of type str."),
        (kind, " gru", "right"),
        (kind, "attention", "wrong: attention waits for nobody."),
        (kind, 7, "wrong: 7 is none of the answers; they are GRU, attention."),
        (supported, "a, c", "right"),
        (supported, {"A", "C"}, "right"),
        (supported, "abc", "wrong: B does not belong to it: one seed."),
        (supported, "A", "wrong: C belongs to it: see row 2."),
        (supported, "AX", "wrong: there is no X; the letters are A, B, C."),
        (supported, 3, "wrong: letters are asked for, as in 'AC', not a number."),
    ],
)
def test_a_question_judges_values(question: Question, answer: Any, told: str) -> None:
    assert repr(question(answer)) == told
    assert question.name in ("rate", "layers", "kind", "supported")
    assert question.statement.endswith("?")


# --- which mistake it is -------------------------------------------------------------------------


def test_a_mistake_is_named_if_it_gives_the_answer_in_every_case() -> None:
    assert SUM(lambda x: x.double().mean(-1)).mistake == "you take the mean."
    told = SUM(lambda x: x.mean(-1) if x.dim() == 2 else x.sum(-1)).mistake
    assert told == "along the last axis the numbers are right up to a factor."


def for_matrices_only(x: Tensor) -> Tensor:
    return torch.mv(x, torch.ones(x.size(1)))


def test_a_mistake_that_raises_is_named_if_the_answer_raises_the_same() -> None:
    assert SUM(for_matrices_only).mistake == "this works for matrices only."
    by_exit = SUM(lambda x: x.sum(-1) if x.dim() == 2 else raises(SystemExit())(x))
    assert "it raises SystemExit" in by_exit.mistake


def test_an_answer_for_one_number_of_axes_is_told_neutrally() -> None:
    for einsum, axes in (("ij->i", "2 axes"), ("ijk->ij", "3 axes")):
        told = SUM(lambda x, einsum=einsum: torch.einsum(einsum, x)).mistake
        assert told.startswith(f"it is right for {axes} only; for ")
        assert told.endswith("Count the axes from the end: -1, -2.")


class ForMatrices(Scale):
    """Take rows and columns for granted."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("ij,j->ij", x, self.factor)


def test_a_class_for_one_number_of_axes_is_told_neutrally() -> None:
    def after_a_name(kind: type[torch.nn.Module], name: str, x: Tensor) -> Tensor:
        return put_to_work(kind, x)

    cases = [("rows", torch.ones(2, 3)), ("rows", torch.ones(4))]
    told = Exercise(Scale, cases, after_a_name, given=[])(ForMatrices).mistake
    assert told.startswith("it is right for 2 axes only; for 1 axis einsum is given")


def test_what_is_always_the_same_is_told_neutrally() -> None:
    assert TOTAL(lambda numbers: 7).mistake == (
        "it gives 7 in every case; for [0.5, 1], 1.5 is right."
    )


def test_an_answer_by_chance_is_told() -> None:
    told = "called again with the same arguments, it returns something else."
    assert SUM(lambda x: x.sum(-1) + torch.rand(())).mistake == told
    assert TOTAL(lambda numbers: sum(numbers) + random.random()).mistake == told
    assert TOTAL(lambda numbers: Stubborn()).mistake != told


def test_the_smallest_case_that_fails_is_shown() -> None:
    verdict = WORDS(lambda words: ["z"] * len(words))
    assert verdict.mistake == "for ['b', 'a'] it gives ['z', 'z']; right is ['a', 'b']."
    verdict = WORDS(lambda words: sorted(words) if len(words) == 2 else ["a", "z"])
    assert verdict.mistake == "for ['b', 'c', 'a'] it gives ['a', 'z']; right is ['a', 'b', 'c']."


# --- how a difference is told --------------------------------------------------------------------

LONG = torch.arange(60.0).view(3, 4, 5)


def changed(tensor: Tensor, place: tuple[int, ...], value: float) -> Tensor:
    tensor = tensor.clone()
    tensor[place] = value
    return tensor


ASKED = "a tensor of shape (2,) is asked for."


@pytest.mark.parametrize(
    ("got", "want", "told"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]), "[1, 2]; right is [1, 2.5]."),
        (0.123412, 0.123445, "0.123412; right is 0.123445."),
        ([LONG, changed(LONG, (0, 1, 0), -1)], [LONG] * 2, "-1 at [1][0, 1, 0]; right is 5."),
        (torch.ones(3, 4), torch.ones(2), f"a tensor of shape (3, 4); {ASKED}"),
        (torch.ones(2) > 0, torch.ones(2), f"a tensor of shape (2,) of True and False; {ASKED}"),
        (np.ones(2), torch.ones(2), f"a NumPy array of shape (2,); {ASKED}"),
        ([[1, 1]], [torch.ones(2)], f"a list of length 2 at [0]; {ASKED}"),
        (torch.ones(2), 1.0, "a tensor of shape (2,); a number is asked for."),
        (True, 1.0, "True or False; a number is asked for."),
        (torch.tensor(True), np.False_, "True; right is False."),
        ([8] * 99, [8] * 98, "a list of length 99; a list of length 98 is asked for."),
        (Stubborn(), "a", "something of type Stubborn, which cannot be compared."),
    ],
)
def test_a_difference_is_told_in_one_short_sentence(got: Any, want: Any, told: str) -> None:
    assert not equal(got, want)
    assert difference(got, want) == f"it gives {told}"


def _times(x: Tensor, n: int) -> Tensor:
    return x * n


def test_long_arguments_are_told_by_the_name_under_which_they_can_be_had() -> None:
    exercise = Exercise(_times, [(LONG, 2), (LONG, 3)], given=[])
    verdict = exercise(lambda x, n: changed(x * n, (1, 2, 3), 7))
    assert verdict.mistake == "for exercises.times.cases[0] it gives 7 at [1, 2, 3]; right is 66."
    exercise.cases[0][0].zero_()
    assert equal(exercise.cases[0], (LONG, 2))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1.0, True),
        (1, torch.tensor(True), False),
        (True, torch.tensor(True), True),
        (True, torch.tensor([True]), False),
        (True, np.True_, True),
        (torch.tensor([10**6]), torch.tensor([10**6 + 1]), False),
        (torch.tensor([10**6]), torch.tensor([1e6]), True),
        (1.0, 1.00001, True),
        (1.0, 1.001, False),
        ([1, (2, 3)], (1, [2, 3]), True),
        (torch.tensor([math.nan]), torch.tensor([math.nan]), True),
        (frozenset({1}), {1}, True),
        ({1}, {2}, False),
        (Fraction(3, 8), 0.375, True),
        (Fraction(1, 3), 0.34, False),
        (torch.tensor([1 + 2j]), torch.tensor([1 + 2j]), True),
        (torch.tensor([1 + 2j]), torch.tensor([1 + 9j]), False),
        ("1", 1, False),
    ],
)
def test_equal_means_up_to_rounding(a: Any, b: Any, same: bool) -> None:
    assert equal(a, b) == same
    assert equal(b, a) == same


# --- showing -------------------------------------------------------------------------------------


def test_a_verdict_shows_itself_in_html_without_trusting_the_answer() -> None:
    shown = SUM(raises(ValueError("<script>")))._repr_html_()
    assert shown.startswith("<p>✗ <strong>wrong</strong> for ")
    assert "it raises ValueError: &lt;script&gt;, in line" in shown
    assert SUM(lambda x: None)._repr_html_() == "<p>○ <strong>not attempted</strong> </p>"
    assert SUM(lambda x: x.sum(-1))._repr_html_() == "<p>✓ <strong>right</strong> </p>"
