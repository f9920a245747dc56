"""Checking: judge what a reader wrote, and say which mistake it is."""

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from threading import TIMEOUT_MAX
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.course.comparing import (
    LONG,
    Failure,
    brief,
    difference,
    equal,
    is_number,
    show,
)
from annotated_transformer.course.relations import relation
from annotated_transformer.course.tasks import Cases, Task, Verdict
from annotated_transformer.course.trials import SECONDS, Trial, attempt, settings_put_back


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
    mistakes: Mapping[str, Callable[..., Any]]
    """What readers often get wrong: a sentence, and a function that is wrong in this way."""
    cases: Sequence[tuple[Any, ...]]
    """Arguments to try."""
    ask: Callable[..., Any] | None = None
    """How an answer is put to a case: ``ask(answer, *case)``. If missing, it is called."""
    whole: bool = False
    """Whether the numbers asked for are ids or places, which floats are not."""
    seconds: float = SECONDS
    """How long the answer may take for one case."""
    _known: dict[Callable[..., Any], list[Any]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "cases", Cases(self.cases))

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
        trials = self._trials(answer)
        answers = [trial.result for trial in trials]
        if all(got is None for got in answers):
            if any(trial.printed for trial in trials):
                print(trials[0].printed, end="")
                return Verdict("wrong", "your function returns None; did you print the result?")
            return Verdict("not attempted")
        right = self.results(self.reference)
        failing = [i for i, got in enumerate(answers) if not self.same(got, right[i])]
        told = min(failing, key=lambda i: len(self._literal(i)), default=0)
        print(trials[told].printed, end="")
        if not failing:
            return Verdict("right")
        if trials[-1].endless:
            return Verdict(
                "wrong", f"for {self._arguments(len(trials) - 1)} {answers[-1].sentence}"
            )
        named = self._named(answers) or self._swapped(answers)
        sentence = (
            named
            or self._constant(answers, right, told)
            or self.related(answers, right)
            or self._wrong_axes(answers, right)
            or self._by_chance(answer, told)
        )
        if not sentence:
            sentence = f"for {self._arguments(told)} {self.tell(answers[told], right[told])}"
        if trials[told].changed and not named:
            sentence += f" It changes `{trials[told].changed[0]}`, outside it; work on a copy."
        return Verdict("wrong", sentence)

    def results(self, function: Callable[..., Any]) -> list[Any]:
        """What a function gives in every case; of our own functions it is kept."""
        if function in self._known:
            return self._known[function]
        results = [trial.result for trial in self._trials(function)]
        if function is self.reference or function in self.mistakes.values():
            self._known[function] = results
        return results

    def same(self, got: Any, want: Any) -> bool:
        """Whether a result is as good as the right one."""
        return equal(got, want, self.whole)

    def tell(self, got: Any, want: Any) -> str:
        """How a wrong result differs from the right one: the end of a sentence."""
        return difference(got, want, self.whole)

    def _trials(self, function: Callable[..., Any]) -> list[Trial]:
        """What a function does in every case, up to one that does not end."""
        trials: list[Trial] = []
        seconds = TIMEOUT_MAX if function is self.reference else self.seconds  # it does end
        for case in self.cases:
            trials.append(attempt(function, case, seconds, self.ask))
            if trials[-1].endless:
                break
        return trials

    def _named(self, answers: list[Any]) -> str:
        """The first mistake that gives these answers."""
        for sentence, mistaken in self.mistakes.items():
            if equal(answers, self.results(mistaken), self.whole):
                return sentence
        return ""

    def _swapped(self, answers: list[Any]) -> str:
        """Which two arguments are swapped, if these are the right answers for them."""
        return next((pair for pair, swapped in self._swaps.items() if equal(answers, swapped)), "")

    @cached_property
    def _swaps(self) -> dict[str, list[Any]]:
        """What the reference gives where two arguments are swapped, by what to say then."""
        names, swaps = list(signature(self.reference).parameters), {}
        if self.ask or any(len(case) != len(names) for case in self.cases):
            return {}
        for i, j in itertools.combinations(range(len(names)), 2):
            order = [{i: j, j: i}.get(place, place) for place in range(len(names))]
            swapped = [tuple(case[place] for place in order) for case in self.cases]
            if all(type(x) is type(y) for x, y in zip(swapped[0], self.cases[0], strict=True)):
                results = [attempt(self.reference, case).result for case in swapped]
                if not all(isinstance(result, Failure) for result in results):
                    swaps[f"{names[i]} and {names[j]} are swapped."] = results
        return swaps

    def related(self, answers: list[Any], right: list[Any]) -> str:
        """What to say if the answers are always the same thing of the right ones."""
        return relation(answers, right, self.whole)

    def _constant(self, answers: list[Any], right: list[Any], told: int) -> str:
        """What to say if one number or word is given in every case, and should not be."""
        first = answers[0]
        plain = isinstance(first, bool | str) or is_number(first)
        if len(answers) == 1 or not plain or equal([right[0]] * len(right), right):
            return ""
        if not equal([first] * len(answers), answers):
            return ""
        case, value = self._arguments(told), brief(right[told])
        return f"it gives {brief(first)} in every case; for {case} right is {value}."

    def _wrong_axes(self, answers: list[Any], right: list[Any]) -> str:
        """What to say if the answer is right for one number of axes, and raises for others."""
        axes = [next((x.dim() for x in case if isinstance(x, Tensor)), 0) for case in self.cases]
        good = {
            n for n, got, want in zip(axes, answers, right, strict=True) if self.same(got, want)
        }
        bad = {n: got for n, got in zip(axes, answers, strict=True) if n not in good}
        if len(good) != 1 or not bad or not all(isinstance(got, Failure) for got in bad.values()):
            return ""
        number, failure = next(iter(bad.items()))
        return (
            f"it is right for {_axes(*good)} only; for {_axes(number)} {failure.sentence} "
            "Count the axes from the end: -1, -2."
        )

    def _by_chance(self, answer: Callable[..., Any], told: int) -> str:
        """What to say if the answer depends on random numbers, and the right one does not."""

        def results(function: Callable[..., Any]) -> Iterator[Any]:
            for seed in (0, 0, 1):
                with settings_put_back():
                    random.seed(seed)
                    torch.manual_seed(seed)
                    yield attempt(function, self.cases[told], self.seconds, self.ask).result

        first, again, other = results(answer)
        if not equal(first, again) or equal(again, other):
            return ""
        right, _, other = results(self.reference)
        said = "called again with the same arguments, it returns something else."
        return said if equal(right, other) else ""

    def _arguments(self, number: int) -> str:
        """A case as a reader may write it, or how to get it where it is large."""
        text = self._literal(number)
        return text if len(text) <= LONG else f"exercises.{self.name}.cases[{number}]"

    def _literal(self, number: int) -> str:
        return ", ".join(map(show, self.cases[number]))


def _axes(number: int) -> str:
    return f"{number} axis" if number == 1 else f"{number} axes"
