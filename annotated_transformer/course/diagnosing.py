"""Diagnosing: what is said of a wrong answer that no mistake of a catalogue gives."""

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.course.arguments import named_shape, parameters, sizes
from annotated_transformer.course.changes import RELATIONS
from annotated_transformer.course.circumstances import circumstance
from annotated_transformer.course.comparing import Failure, brief, equal, is_number
from annotated_transformer.course.explaining import explained
from annotated_transformer.course.influence import without_influence, wrong_influence
from annotated_transformer.course.other_arguments import other_cases
from annotated_transformer.course.partly import partly_right
from annotated_transformer.course.quantities import by_a_quantity
from annotated_transformer.course.relations import columns, holds, relation, wrong_columns
from annotated_transformer.course.trials import attempt, calculate, settings_put_back

BRIEFLY = 1.0
"""The seconds for a case that is tried to find out what is wrong: there are many."""

Results = Sequence[Any]
Part = Callable[[Any], Any]


@dataclass(frozen=True)
class Diagnosis:
    """What can be said of wrong answers to an exercise, without a catalogue of mistakes."""

    reference: Callable[..., Any]
    cases: Sequence[tuple[Any, ...]]
    ask: Callable[..., Any] | None
    whole: bool
    seconds: float

    @cached_property
    def known(self) -> dict[str, Any]:
        """The names of the arguments, with their annotations."""
        return parameters(self.reference, self.ask, self.cases[0])

    @cached_property
    def sizes(self) -> list[dict[str, float]]:
        """In every case the sizes and numbers that have a name."""
        return [sizes(self.known, case) for case in self.cases]

    def give(self, function: Callable[..., Any], case: tuple[Any, ...]) -> Any:
        """What a function gives in a case that is like those of the exercise."""
        return attempt(function, case, min(self.seconds, BRIEFLY), self.ask).result

    def right(self, case: tuple[Any, ...]) -> Any:
        """What the reference gives in such a case."""
        return calculate(self.reference, case, self.ask)

    def swapped(self, answers: Results) -> str:
        """Which two arguments are swapped, if these are the right answers for them."""
        return next((pair for pair, swapped in self._swaps.items() if equal(answers, swapped)), "")

    @cached_property
    def _swaps(self) -> dict[str, list[Any]]:
        """What the reference gives where two arguments are swapped, by what to say then."""
        names, swaps = list(self.known), {}
        if self.ask:
            return {}
        for i, j in itertools.combinations(range(len(names)), 2):
            order = [{i: j, j: i}.get(place, place) for place in range(len(names))]
            swapped = [tuple(case[place] for place in order) for case in self.cases]
            if all(type(x) is type(y) for x, y in zip(swapped[0], self.cases[0], strict=True)):
                results = list(map(self.right, swapped))
                if not all(isinstance(result, Failure) for result in results):
                    swaps[f"{names[i]} and {names[j]} are swapped."] = results
        return swaps

    def related(self, answers: Results, right: Results, part: Part = lambda x: x) -> str:
        """What all the answers are of the right ones, or of those for other arguments.

        ``part`` takes from a result of the reference what stands in ``right``.
        """
        said = relation(answers, right, self.whole) or self._given(answers)
        said = said or by_a_quantity(answers, right, self.sizes)
        if said or any(isinstance(got, Failure) for got in answers):
            return said
        said = self._for_others(answers, part) or self._partly(answers, right)
        return said or self._other_axes(answers, right) or self._one_entry(answers, right, part)

    def _given(self, answers: Results) -> str:
        """Which argument the answers are."""
        for place, name in enumerate(self.known):
            if equal(answers, [case[place] for case in self.cases], self.whole):
                return f"this is `{name}`, as it was given."
        return ""

    def _partly(self, answers: Results, right: Results) -> str:
        """What part of the answers is right."""
        returned = signature(self.reference).return_annotation
        return partly_right(answers, right, getattr(returned, "dim_str", "").split(), self.whole)

    def _one_entry(self, answers: Results, right: Results, part: Part) -> str:
        """The same of one entry, if all the others are right."""
        pairs = columns(answers, right)
        wrong = wrong_columns(pairs, self.whole)
        if len(wrong) != 1 or len(pairs) == 1:
            return ""
        place = wrong[0] - 1
        said = self.related(*pairs[place], lambda result: part(result)[place])
        return f"entry {wrong[0]} of {len(pairs)}: {said}" if said else ""

    def _for_others(self, answers: Results, part: Part) -> str:
        """For which other arguments these are the right answers."""
        for said, cases in other_cases(self.known, list(self.cases)):
            if all(map(partial(self._is_right_for, part), answers, cases)):
                return f"this is the right result for other arguments: {said}."
        return ""

    def _is_right_for(self, part: Part, got: Any, case: tuple[Any, ...]) -> bool:
        want = self.right(case)
        return not isinstance(want, Failure) and equal(got, part(want), self.whole)

    def _other_axes(self, answers: Results, right: Results) -> str:
        """What the axes are called that the answers have, where others are asked for."""
        shapes = {
            tuple(named_shape(x, known) for x in pair)
            for *pair, known in zip(answers, right, self.sizes, strict=True)
        }
        got, want = next(iter(shapes))
        if len(shapes) > 1 or not got or not want or got == want:
            return ""
        return f"the axes of the result are {got}; {want} is asked for."

    def two_mistakes(self, answers: Results, mistakes: Mapping[str, Callable[[], Results]]) -> str:
        """Which mistake of the catalogue is made, and what is wrong with its result besides."""
        if not all(map(_is_continuous, answers)):
            return ""
        for sentence, results in mistakes.items():
            for besides, change in RELATIONS.items():
                if holds(answers, results(), change, self.whole):
                    return f"two mistakes at once: {sentence} Besides, {besides}"
        return ""

    def dependent(self, answer: Callable[..., Any], told: int) -> tuple[str, str]:
        """Which argument the answer does not depend on; what counts wrongly in one case."""
        tried, right = partial(self.give, answer), self.right
        none = without_influence(tried, right, self.known, list(self.cases))
        return none, none or wrong_influence(tried, right, self.known, self.cases[told])

    def wrong_axes(self, answers: Results, right: Results) -> str:
        """What to say if the answer is right for one number of axes, and raises for others."""
        axes = [next((x.dim() for x in case if isinstance(x, Tensor)), 0) for case in self.cases]
        good = {
            n
            for n, got, want in zip(axes, answers, right, strict=True)
            if equal(got, want, self.whole)
        }
        bad = {n: i for i, n in enumerate(axes) if n not in good}
        if len(good) != 1 or not bad:
            return ""
        if not all(isinstance(answers[i], Failure) for i in bad.values()):
            return ""
        number, case = next(iter(bad.items()))
        return (
            f"it is right for {_axes(*good)} only; for {_axes(number)} "
            f"{self.failed(answers[case], case)} Count the axes from the end: -1, -2."
        )

    def circumstance(self, answers: Results, right: Results) -> str:
        """What the cases have in common in which the answers are right."""
        is_right = [equal(x, y, self.whole) for x, y in zip(answers, right, strict=True)]
        return circumstance(self.known, list(self.cases), is_right)

    def failed(self, failure: Failure, case: int) -> str:
        """What an exception says of the answer."""
        return explained(failure, self.sizes[case]) or failure.sentence

    def by_chance(self, answer: Callable[..., Any], told: int) -> str:
        """What to say if the answer depends on random numbers, and the right one does not."""

        def results(function: Callable[..., Any]) -> Iterator[Any]:
            for seed in (0, 0, 1):
                with settings_put_back():
                    random.seed(seed)
                    torch.manual_seed(seed)
                    yield self.give(function, self.cases[told])

        first, again, other = results(answer)
        if not equal(first, again) or equal(again, other):
            return ""
        right, _, other = results(self.reference)
        said = "called again with the same arguments, it returns something else."
        return said if equal(right, other) else ""


def always_the_same(answers: Results, right: Results) -> str:
    """The one number or word that is given in every case, if it should not be."""
    first = answers[0]
    plain = isinstance(first, bool | str) or is_number(first)
    if len(answers) == 1 or not plain or equal([right[0]] * len(right), right):
        return ""
    return brief(first) if equal([first] * len(answers), answers) else ""


def _is_continuous(result: Any) -> bool:
    """Whether these are floats, of which no two are the same by chance."""
    entries = result if isinstance(result, list | tuple) else [result]
    tensors = [x for x in entries if isinstance(x, Tensor)]
    others = [x for x in entries if not isinstance(x, Tensor)]
    return all(x.is_floating_point() for x in tensors) and all(type(x) is float for x in others)


def _axes(number: int) -> str:
    return f"{number} axis" if number == 1 else f"{number} axes"
