"""Checking: judge what a reader wrote, and say which mistake it is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from threading import TIMEOUT_MAX
from typing import Any

from torch import nn

from transformer_workbook.judge.catalogue import Mistake, mistakes_in
from transformer_workbook.judge.comparing import (
    LONG,
    Failure,
    all_equal,
    brief,
    difference,
    equal,
    show,
)
from transformer_workbook.judge.diagnosing import Diagnosis
from transformer_workbook.judge.probes import Remembered
from transformer_workbook.judge.relations import always_the_same, other_kind, two_mistakes
from transformer_workbook.judge.tasks import Cases, Task, Verdict
from transformer_workbook.judge.trials import SECONDS, Trial, attempt


@dataclass(frozen=True)
class Exercise(Task):
    """A function is asked for: call it with the reader's.

    A mistake is named only if simulating it gives the reader's answer in *every* case; where the
    simulation raises an exception, the reader's function must raise the same one. Otherwise the
    smallest case that fails is shown. Whatever the reader's function does becomes part of the
    verdict; only an interruption from the keyboard goes through.
    """

    reference: Callable[..., Any]
    """A right answer; its name, less the underscore, and its docstring are the exercise's."""
    cases: Sequence[tuple[Any, ...]]
    """Arguments to try."""
    ask: Callable[..., Any] | None = None
    """How an answer is put to a case: ``ask(answer, *case)``. If missing, it is called."""
    whole: bool = False
    """Whether the numbers asked for are ids or places, which floats are not."""
    seconds: float = SECONDS
    """How long the answer may take for one case."""
    mistakes_given: Any = None
    _known: dict[Callable[..., Any], Remembered[Any]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "cases", Cases(self.cases))

    @cached_property
    def mistakes(self) -> list[Mistake]:
        """What readers often get wrong."""
        if self.mistakes_given is not None:
            return [Mistake(says, answer) for says, answer in self.mistakes_given.items()]
        return mistakes_in(self.reference)

    @property
    def name(self) -> str:  # type: ignore[override]
        """What the exercise is called in ``exercises``."""
        return self.reference.__name__.lstrip("_")

    @property
    def statement(self) -> str:  # type: ignore[override]
        """What is asked, in one line."""
        return (self.reference.__doc__ or "").partition("\n")[0]

    def check(self, answer: Any) -> Verdict:
        """Compare the answer with the reference. Until it is written, it returns ``None``."""
        if not callable(answer):
            return Verdict("wrong", "the check wants the function itself, not what it returns.")
        if isinstance(answer, nn.Module) and self._asks_for_a_class:
            return Verdict("wrong", "this is one layer; hand over its class.")
        trials = list(self._trials(answer))
        answers = [trial.result for trial in trials]
        if all(got is None for got in answers):
            if any(trial.printed for trial in trials):
                print(trials[0].printed, end="")
                return Verdict("wrong", "your function returns None; did you print the result?")
            return Verdict("not attempted")
        right = self.results(self.reference)
        failing = [i for i, got in enumerate(answers) if not self.same(got, right[i])]
        told = min(failing, key=lambda i: len(self._literals[i]), default=0)
        print(trials[told].printed, end="")
        if not failing:
            return Verdict("right")
        if trials[-1].endless:
            return Verdict(
                "wrong", f"for {self._arguments(len(trials) - 1)} {answers[-1].sentence}"
            )
        named = self._named(answers) or self._diagnosis.swapped(answers)
        sentence = named or self._by_itself(answer, answers, right, told)
        if trials[told].changed and not named:
            sentence += f" It changes `{trials[told].changed[0]}`, outside it; work on a copy."
        return Verdict("wrong", sentence)

    @property
    def _asks_for_a_class(self) -> bool:
        return signature(self.reference).return_annotation is nn.Module

    def results(self, function: Callable[..., Any]) -> list[Any]:
        """What a function gives in every case; of our own functions it is kept."""
        return list(self._results(function))

    def _results(self, function: Callable[..., Any]) -> Iterable[Any]:
        """The same, one after the other: most mistakes differ from an answer in the first case."""
        if function in self._known:
            return self._known[function]
        results = Remembered(lambda: (trial.result for trial in self._trials(function)))
        if function is self.reference or any(function is m.answer for m in self.mistakes):
            self._known[function] = results
        return results

    def same(self, got: Any, want: Any) -> bool:
        """Whether a result is as good as the right one."""
        return equal(got, want, self.whole)

    def tell(self, got: Any, want: Any) -> str:
        """How a wrong result differs from the right one: the end of a sentence."""
        return difference(got, want, self.whole)

    def _trials(self, function: Callable[..., Any]) -> Iterator[Trial]:
        """What a function does in every case, up to one that does not end."""
        seconds = TIMEOUT_MAX if function is self.reference else self.seconds  # it does end
        for case in self.cases:
            yield (trial := attempt(function, case, seconds, self.ask))
            if trial.endless:
                return

    def _named(self, answers: list[Any]) -> str:
        """The first mistake that gives these answers."""
        for mistake in self.mistakes:
            if all_equal(answers, self._results(mistake.answer), self.whole):
                return mistake.says
        return ""

    def _mended(self, answers: list[Any]) -> str:
        """Which mistake of the catalogue is made together with another."""
        every = {mistake.says: self._results(mistake.answer) for mistake in self.mistakes}
        return two_mistakes(answers, every, self.whole)

    @cached_property
    def _diagnosis(self) -> Diagnosis:
        return Diagnosis(self.reference, self.cases, self.ask, self.whole, self.seconds)

    def related(self, answers: list[Any], right: list[Any]) -> str:
        """What to say if the answers are always the same thing of the right ones."""
        return self._diagnosis.related(answers, right)

    def _by_itself(
        self, answer: Callable[..., Any], answers: list[Any], right: list[Any], told: int
    ) -> str:
        """What is said of a wrong answer without the catalogue."""
        diagnosis, case = self._diagnosis, self._arguments(told)
        if same := always_the_same(answers, right):
            return f"it gives {same} in every case; for {case}, {brief(right[told])} is right."
        if said := diagnosis.by_chance(answer, told) or self.related(answers, right):
            return said
        if said := diagnosis.wrong_axes(answers, right) or self._mended(answers):
            return said
        if said := other_kind(answers, right):
            return said
        none, some = diagnosis.dependent(answer, told)
        if some:
            return none or f"for {case} {some}"
        if isinstance(answers[told], Failure):
            return f"for {case} {diagnosis.failed(answers[told], told)}"
        if (said := diagnosis.circumstance(answer, answers, right)).endswith("."):
            return said
        return f"{said}for {case} {self.tell(answers[told], right[told])}"

    def _arguments(self, number: int) -> str:
        """A case as a reader may write it, or how to get it where it is large."""
        text = self._literals[number]
        return text if len(text) <= LONG else f"exercises.{self.name}.cases[{number}]"

    @cached_property
    def _literals(self) -> list[str]:
        """Every case as a reader may write it."""
        return [", ".join(map(show, case)) for case in self.cases]


def exercise(
    cases: Iterable[tuple[Any, ...]],
    ask: Callable[..., Any] | None = None,
    whole: bool = False,
    seconds: float = SECONDS,
) -> Callable[[Callable[..., Any]], Exercise]:
    """Make an exercise of its reference; a decorator. The mistakes stand in the table beside it."""
    return lambda reference: Exercise(reference, tuple(cases), ask, whole, seconds)
