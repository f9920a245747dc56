"""Exercises: functions and derivations that a reader writes, and how wrong ones are judged."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

from torch import nn

from transformer_workbook.judge.catalogue import Mistake, mistakes_in, pairs_in
from transformer_workbook.judge.comparing import (
    LONG,
    Failure,
    brief,
    difference,
    equal,
    in_its_form,
    show,
)
from transformer_workbook.judge.diagnosis import Diagnosis
from transformer_workbook.judge.diagnosis.arguments import builds_a_layer
from transformer_workbook.judge.diagnosis.relations import (
    always_the_same,
    are_telling,
    columns,
    other_kind,
    swapped_entries,
    two_mistakes,
    wrong_columns,
)
from transformer_workbook.judge.probes import Remembered
from transformer_workbook.judge.sentences import said
from transformer_workbook.judge.stubs import has_empty_lines, is_stub
from transformer_workbook.judge.subjects import Subject
from transformer_workbook.judge.tasks import Cases, Task, Verdict
from transformer_workbook.judge.trials import SECONDS, Trial, attempt, calculate, of_ours


@dataclass(frozen=True)
class Exercise(Task):
    """An exercise that asks for a function: call it with the reader's.

    A mistake is named only if simulating it gives the reader's answer in *every* case; where the
    simulation raises an exception, the reader's function must raise the same one. Otherwise the
    smallest case that fails is shown. Whatever the reader's function does becomes part of the
    verdict; only an interruption from the keyboard goes through.
    """

    reference: Callable[..., Any]
    """A correct answer; its name and its docstring are the exercise's. Its mistakes are in the
    table beside it."""
    cases: Sequence[tuple[Any, ...]]
    """Arguments to try."""
    ask: Callable[..., Any] | None = None
    """How an answer is called on a case: ``ask(answer, *case)``; by default directly."""
    whole: bool = False
    """Whether the numbers asked for are ids or positions, which floats are not."""
    seconds: float = SECONDS
    """How long the answer may take for one case."""
    gap: bool = False
    """Whether it is the check of a lesson's gap: a cell whose marked lines the reader writes."""
    given: Sequence[Mistake] | None = None
    """Common mistakes, if they are not in a table beside the reference."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cases", Cases(self.cases))

    @property
    def name(self) -> str:  # type: ignore[override]
        """Return the name of the exercise in ``exercises``."""
        return self.reference.__name__.lstrip("_")

    @property
    def statement(self) -> str:  # type: ignore[override]
        """Return the statement, in one line."""
        return (self.reference.__doc__ or "").partition("\n")[0]

    @cached_property
    def mistakes(self) -> list[Mistake]:
        """Return the common mistakes."""
        return mistakes_in(self.reference) if self.given is None else list(self.given)

    @cached_property
    def subject(self) -> Subject:
        """Return the cases as questions."""
        numbers = range(len(self.cases))
        return Subject(
            [partial(self._put, number) for number in numbers],
            [partial(self._right, number) for number in numbers],
            lambda: self.mistakes,
            self.whole,
        )

    def _put(self, number: int, answer: Any) -> Trial:
        return attempt(answer, self.cases[number], self.seconds, self.ask)

    def _right(self, number: int) -> Any:
        return of_ours(self.reference, self.cases[number], self.ask)

    def verdict(self, answer: Any) -> Verdict:
        """Compare the answer with the reference; an answer that is not written returns ``None``."""
        if not callable(answer):
            sentence = said("the check wants the function itself, not what it returns.")
            return Verdict("wrong", sentence)
        if isinstance(answer, nn.Module) and self._asks_for_a_class:
            return Verdict("wrong", said("this is one layer; hand over its class."))
        trials = list(self.subject.trials(answer))
        pairs = zip(trials, self.subject.right, strict=False)  # a call without end is the last
        answers = [in_its_form(trial.result, want) for trial, want in pairs]
        failing = self.subject.failing(answers)
        if failing and self.gap and has_empty_lines(answer):
            return Verdict("not attempted")
        if all(got is None for got in answers):
            if any(trial.printed for trial in trials):
                print(trials[0].printed, end="")
                sentence = said("your function returns None; did you print the result?")
                return Verdict("wrong", sentence)
            return self._unfinished(answer)
        told = min(failing, key=lambda i: len(self._literals[i]), default=0)
        print(trials[told].printed, end="")
        if not failing:
            return Verdict("right")
        if trials[-1].endless:
            return Verdict("wrong", self._in_case(len(trials) - 1, answers[-1].sentence))
        named = self._named(answers, failing) or self._diagnosis.swapped(answers)
        sentence = named or self._by_itself(answer, answers, told)
        if trials[told].changed and not named:
            sentence = said(
                "{sentence} It changes `{name}`, outside it; work on a copy.",
                sentence=sentence,
                name=trials[told].changed[0],
            )
        return Verdict("wrong", sentence)

    def _unfinished(self, answer: Callable[..., Any]) -> Verdict:
        """Judge an answer that returns None in every case."""
        if is_stub(getattr(answer, "forward", answer)):
            return Verdict("not attempted")
        if isinstance(answer, type):
            sentence = said("`forward` returns None, or `__init__` makes no parameters.")
        else:
            sentence = said("your function returns None; is a `return` missing?")
        return Verdict("wrong", sentence)

    @property
    def _asks_for_a_class(self) -> bool:
        return builds_a_layer(self.reference)

    def tell(self, got: Any, want: Any) -> str:
        """Say how a wrong result differs from the right one."""
        return difference(got, want, self.whole)

    def _named(self, answers: list[Any], failing: list[int]) -> str:
        """Find the first mistake that gives these answers."""
        return self.subject.named(answers, failing)

    def _mended(self, answers: list[Any]) -> str:
        """Find the mistake of the catalogue that is made together with another."""
        if not all(map(are_telling, (answers, self.subject.right))):
            return ""  # many mistakes raise the same exception
        of = self.subject.of_mistake
        every = ((mistake.says, of(number)) for number, mistake in enumerate(self.mistakes))
        return two_mistakes(answers, every, self.whole) or self._paired(answers)

    def _paired(self, answers: list[Any]) -> str:
        """Find two mistakes of the catalogue that are made at once."""
        for both, results in self._pairs:
            if all(
                equal(got, want, self.whole) for got, want in zip(answers, results, strict=True)
            ):
                return both.says
        return ""

    @cached_property
    def _pairs(self) -> Remembered[tuple[Mistake, Remembered[Any]]]:
        """Combine every two mistakes of the catalogue, with what they give."""

        def results(both: Mistake) -> Iterator[Any]:
            return (calculate(both.answer, case, self.ask) for case in self.cases)

        pairs = pairs_in(self.reference) if self.given is None else ()
        return Remembered(lambda: ((both, Remembered(partial(results, both))) for both in pairs))

    @cached_property
    def _diagnosis(self) -> Diagnosis:
        return Diagnosis(self.reference, self.cases, self.ask, self.whole, self.seconds)

    def related(self, answer: Callable[..., Any], answers: list[Any], right: list[Any]) -> str:
        """Say how all answers are related to the right ones."""
        return self._diagnosis.related(answer, answers, right)

    def _by_itself(self, answer: Callable[..., Any], answers: list[Any], told: int) -> str:
        """Judge a wrong answer without the catalogue."""
        diagnosis, right = self._diagnosis, self.subject.right
        if same := always_the_same(answers, right):
            return said(
                "it gives {same} in every case; for {case}, {right} is right.",
                same=same,
                case=self._arguments(told),
                right=brief(right[told]),
            )
        if sentence := diagnosis.by_chance(answer, told) or self.related(answer, answers, right):
            return sentence
        if sentence := diagnosis.wrong_axes(answers, right) or self._mended(answers):
            return sentence
        if sentence := other_kind(answers, right):
            return sentence
        none, some = diagnosis.dependent(answer, told)
        if some:
            return none or self._in_case(told, some)
        if isinstance(answers[told], Failure):
            sentence = self._in_case(told, diagnosis.failed(answers[told], told))
            step = self._step(answer, answers) if self.gap else ""
            return f"{sentence} {step}".rstrip()
        otherwise = self._in_case(told, self.tell(answers[told], right[told]))
        step = self._step(answer, answers) or otherwise
        return diagnosis.circumstance(answer, answers, right, step)

    def _step(self, answer: Callable[..., Any], answers: list[Any]) -> str:
        """Say how far the answer is right."""
        return self._diagnosis.step(answer, answers, self.gap)

    def _in_case(self, number: int, sentence: str) -> str:
        """Say that a sentence holds for a case."""
        return said("for {case} {sentence}", case=self._arguments(number), sentence=sentence)

    def _arguments(self, number: int) -> str:
        """Write a case as a reader may type it, or how to get it if it is large."""
        text = self._literals[number]
        return text if len(text) <= LONG else f"exercises.{self.name}.cases[{number}]"

    @cached_property
    def _literals(self) -> list[str]:
        """Write every case as a reader may type it."""
        return [", ".join(map(show, case)) for case in self.cases]


class Derivation(Exercise):
    """An exercise that asks for the steps of a derivation, which are judged one by one.

    A mistake is named if its first wrong step is the reader's as well; what follows from a wrong
    step differs from reader to reader.
    """

    def related(self, answer: Callable[..., Any], answers: list[Any], right: list[Any]) -> str:
        """Say how the first wrong step, or all steps, are related to the right ones."""
        number, got = self._first_wrong(answers)
        if not number:
            return super().related(answer, answers, right)
        step = itemgetter(number - 1)
        for other, results in enumerate(zip(*right, strict=True), start=1):
            if equal(got, list(results), self.whole):
                sentence = said("this is what is asked for in step {other}.", other=other)
                break
        else:
            sentence = self._diagnosis.related(answer, got, list(map(step, right)), step)
        values = {"number": number, "sentence": sentence}
        return said("step {number}: {sentence}", **values) if sentence else ""

    def _named(self, answers: list[Any], failing: list[int]) -> str:
        number, got = self._first_wrong(answers)
        if not number:
            return super()._named(answers, failing)
        if places := swapped_entries(answers, self.subject.right, self.whole):
            one, other = places
            return said("steps {one} and {other} have changed places.", one=one, other=other)
        for i, mistake in enumerate(self.mistakes):
            results = list(self.subject.of_mistake(i))
            if equal([number, got], self._first_wrong(results), self.whole):
                return mistake.says
        return ""

    def _step(self, answer: Callable[..., Any], answers: list[Any]) -> str:
        return ""  # the steps are what is returned

    def _first_wrong(self, answers: list[Any]) -> tuple[int, list[Any]]:
        """Return the number of the first wrong step, and its value in every case.

        It is 0 if no step is wrong, or the number of steps is not the one asked for.
        """
        pairs = columns(answers, self.subject.right)
        number = min(wrong_columns(pairs, self.whole), default=0)
        return number, pairs[number - 1][0] if number else []

    def tell(self, got: Any, want: Any) -> str:
        """Say which step is the first wrong one, and how it is wrong."""
        if not isinstance(got, list | tuple) or len(got) != len(want):
            return super().tell(got, want)
        pairs = enumerate(zip(got, want, strict=True), start=1)
        step, (first, right) = next((i, pair) for i, pair in pairs if not equal(*pair, self.whole))
        if first is None:
            return said("step {number} is still missing.", number=step)
        sentence = super().tell(first, right)
        return said("step {number} is wrong: {sentence}", number=step, sentence=sentence)


def exercise(
    cases: Iterable[tuple[Any, ...]],
    ask: Callable[..., Any] | None = None,
    whole: bool = False,
    seconds: float = SECONDS,
    gap: bool = False,
) -> Callable[[Callable[..., Any]], Exercise]:
    """Make an exercise, or the check of a gap, from its reference; a decorator."""
    return lambda reference: Exercise(reference, tuple(cases), ask, whole, seconds, gap)


def derivation(
    cases: Iterable[tuple[Any, ...]],
    ask: Callable[..., Any] | None = None,
    whole: bool = False,
    seconds: float = SECONDS,
) -> Callable[[Callable[..., Any]], Derivation]:
    """Make a derivation from its reference; a decorator."""
    return lambda reference: Derivation(reference, tuple(cases), ask, whole, seconds)
