"""A subject: the questions to an answer, the right results, and the known mistakes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from transformer_workbook.judge.catalogue import Mistake
from transformer_workbook.judge.comparing import equal
from transformer_workbook.judge.probes import Remembered
from transformer_workbook.judge.trials import Trial


@dataclass(frozen=True, eq=False)
class Subject:
    """Questions to an answer, which is a function, a class or a module; and its known mistakes."""

    ask: Sequence[Callable[[Any], Trial]]
    """Each asks an answer one question."""
    want: Sequence[Callable[[], Any]]
    """The right result of each question."""
    known: Callable[[], Sequence[Mistake]]
    """Returns the known mistakes: they are made only if an answer is wrong."""
    whole: bool = False
    """Whether the numbers asked for are ids or positions, which floats are not."""
    _results: dict[tuple[int, int], Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def mistakes(self) -> Sequence[Mistake]:
        """Return the known mistakes."""
        return self.known()

    @cached_property
    def right(self) -> list[Any]:
        """Return the right results."""
        return [want() for want in self.want]

    def trials(self, answer: Any) -> Iterator[Trial]:
        """Try an answer on every question, up to one on which it does not end."""
        for ask in self.ask:
            yield (trial := ask(answer))
            if trial.endless:
                return

    def failing(self, answers: Sequence[Any]) -> list[int]:
        """Return the questions to which these answers are wrong."""
        pairs = enumerate(zip(answers, self.right, strict=False))
        return [i for i, (got, want) in pairs if not equal(got, want, self.whole)]

    def named(self, answers: Sequence[Any], failing: Collection[int]) -> str:
        """Return the sentence of the first mistake that gives all these answers, or "".

        Most mistakes differ from an answer where it is wrong, so those questions are tried first.
        """
        order = sorted(range(len(self.ask)), key=lambda i: i not in failing)
        for number, mistake in enumerate(self.mistakes):
            if all(equal(answers[i], self._of(number, i), self.whole) for i in order):
                return mistake.says
        return ""

    def of_mistake(self, number: int) -> Iterable[Any]:
        """Iterate over the results of a mistake for all questions: most are not needed."""
        return Remembered(lambda: (self._of(number, i) for i in range(len(self.ask))))

    def _of(self, number: int, question: int) -> Any:
        key = number, question
        if key not in self._results:
            self._results[key] = self.ask[question](self.mistakes[number].answer).result
        return self._results[key]
