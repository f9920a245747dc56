"""Derivations: judge the steps of a formula one by one."""

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from transformer_workbook.judge.checking import SECONDS, Exercise
from transformer_workbook.judge.comparing import equal
from transformer_workbook.judge.relations import swapped_entries


class Derivation(Exercise):
    """A function is asked for that returns the steps of a derivation, to be checked one by one.

    A mistake is named if its first wrong step is the reader's, too; what follows from a wrong step
    differs from reader to reader.
    """

    def related(self, answers: list[Any], right: list[Any]) -> str:
        """What the first wrong step is of the right one, or all steps are of the right ones."""
        number, got = self._first_wrong(answers)
        if not number:
            return super().related(answers, right)
        for other, results in enumerate(zip(*right, strict=True), start=1):
            if equal(got, list(results), self.whole):
                return f"step {number}: this is what is asked for in step {other}."
        step = itemgetter(number - 1)
        said = self._diagnosis.related(got, list(map(step, right)), step)
        return f"step {number}: {said}" if said else ""

    def _named(self, answers: list[Any]) -> str:
        number, got = self._first_wrong(answers)
        if not number:
            return super()._named(answers)
        if places := swapped_entries(answers, self.results(self.reference), self.whole):
            return "steps {} and {} have changed places.".format(*places)
        for mistake in self.mistakes:
            if equal([number, got], self._first_wrong(self.results(mistake.answer)), self.whole):
                return mistake.says
        return ""

    def _first_wrong(self, answers: list[Any]) -> tuple[int, list[Any]]:
        """The number of the first wrong step, and what it is in every case.

        It is 0 where no step is wrong, or where there are more or fewer steps than asked for.
        """
        right = self.results(self.reference)
        if not all(isinstance(steps, list | tuple) for steps in answers):
            return 0, []
        if any(len(x) != len(y) for x, y in zip(answers, right, strict=True)):
            return 0, []
        both = zip(*(zip(*results, strict=True) for results in (answers, right)), strict=True)
        wrong = ((n, list(x)) for n, (x, y) in enumerate(both, start=1) if not self.same(x, y))
        return next(wrong, (0, []))

    def tell(self, got: Any, want: Any) -> str:
        """Which step is the first wrong one, and how."""
        if not isinstance(got, list | tuple) or len(got) != len(want):
            return super().tell(got, want)
        pairs = enumerate(zip(got, want, strict=True), start=1)
        step, (first, right) = next((i, pair) for i, pair in pairs if not self.same(*pair))
        if first is None:
            return f"step {step} is still missing."
        return f"step {step} is wrong: {super().tell(first, right)}"


def derivation(
    cases: Iterable[tuple[Any, ...]],
    ask: Callable[..., Any] | None = None,
    whole: bool = False,
    seconds: float = SECONDS,
) -> Callable[[Callable[..., Any]], Derivation]:
    """Make a derivation of its reference; a decorator. The mistakes stand in the table beside it."""
    return lambda reference: Derivation(reference, tuple(cases), ask, whole, seconds)
