"""A subject: what is asked of an answer, what is right, and the mistakes that are known."""

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
    """Questions to an answer, be it a function, a class or a module; and how it may be wrong."""

    ask: Sequence[Callable[[Any], Trial]]
    """Each puts one question to an answer."""
    want: Sequence[Callable[[], Any]]
    """What is right, for each question."""
    mistakes: Sequence[Mistake]
    whole: bool = False
    """Whether the numbers asked for are ids or places, which floats are not."""
    _known: dict[tuple[int, int], Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def right(self) -> list[Any]:
        """The right answers."""
        return [want() for want in self.want]

    def trials(self, answer: Any) -> Iterator[Trial]:
        """What an answer does with every question, up to one with which it does not end."""
        for ask in self.ask:
            yield (trial := ask(answer))
            if trial.endless:
                return

    def failing(self, answers: Sequence[Any]) -> list[int]:
        """The questions to which these answers are wrong."""
        pairs = enumerate(zip(answers, self.right, strict=False))
        return [i for i, (got, want) in pairs if not equal(got, want, self.whole)]

    def named(self, answers: Sequence[Any], failing: Collection[int]) -> str:
        """What is said of the first mistake that gives these answers to all questions, or nothing.

        Most mistakes differ from an answer where it is wrong, so that is looked at first.
        """
        order = sorted(range(len(self.ask)), key=lambda i: i not in failing)
        for number, mistake in enumerate(self.mistakes):
            if all(equal(answers[i], self._of(number, i), self.whole) for i in order):
                return mistake.says
        return ""

    def of_mistake(self, number: int) -> Iterable[Any]:
        """What a mistake gives to all questions, one after the other: most are not needed."""
        return Remembered(lambda: (self._of(number, i) for i in range(len(self.ask))))

    def _of(self, number: int, question: int) -> Any:
        key = number, question
        if key not in self._known:
            self._known[key] = self.ask[question](self.mistakes[number].answer).result
        return self._known[key]
