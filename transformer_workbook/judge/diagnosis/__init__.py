"""Diagnosing: describe a wrong answer that no mistake of a catalogue explains."""

import ast
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.catalogue import source_of
from transformer_workbook.judge.comparing import Failure, equal, in_its_form
from transformer_workbook.judge.diagnosis.arguments import (
    named_shape,
    other_cases,
    own_names,
    parameters,
    sizes,
)
from transformer_workbook.judge.diagnosis.dependence import Influence, circumstance, mixed
from transformer_workbook.judge.diagnosis.exceptions import explained
from transformer_workbook.judge.diagnosis.places import partly_right
from transformer_workbook.judge.diagnosis.relations import (
    by_a_quantity,
    columns,
    combined,
    of_entry,
    relation,
    undefined,
    wrong_columns,
)
from transformer_workbook.judge.diagnosis.steps import assigned, codes_of, of_steps, values_of
from transformer_workbook.judge.probes import Probe, Remembered
from transformer_workbook.judge.sentences import said
from transformer_workbook.judge.stubs import syntax_of
from transformer_workbook.judge.trials import attempt, calculate, settings_put_back

BRIEFLY = 1.0
"""The seconds for a case that is tried for a diagnosis: there are many."""

Results = Sequence[Any]
Part = Callable[[Any], Any]
Answer = Callable[..., Any]

FURTHER = 8
"""Number of cases mixed from the others, to see whether a relation holds by chance."""


@dataclass(frozen=True)
class Diagnosis:
    """Find what wrong answers to an exercise have in common, without a catalogue of mistakes."""

    reference: Callable[..., Any]
    cases: Sequence[tuple[Any, ...]]
    ask: Callable[..., Any] | None
    whole: bool
    seconds: float

    @cached_property
    def known(self) -> dict[str, Any]:
        """Return the names of the arguments, with their annotations."""
        return parameters(self.reference, self.ask, self.cases[0])

    @cached_property
    def sizes(self) -> list[dict[str, float]]:
        """Return the named sizes and numbers of every case."""
        own = own_names(self.reference) if self.ask else self.known
        return [sizes(self.known, case, own) for case in self.cases]

    def give(self, function: Callable[..., Any], case: tuple[Any, ...]) -> Any:
        """Call a function on a case that is like those of the exercise."""
        return attempt(function, case, min(self.seconds, BRIEFLY), self.ask).result

    def right(self, case: tuple[Any, ...]) -> Any:
        """Call the reference on such a case."""
        return calculate(self.reference, case, self.ask)

    def swapped(self, answers: Results) -> str:
        """Say which two arguments are swapped, if the answers are right for swapped ones."""
        return next((says for says, swapped in self._swaps if equal(answers, swapped)), "")

    @cached_property
    def _swaps(self) -> list[tuple[str, list[Any]]]:
        """Pair the sentence for two swapped arguments with the results of the reference then."""
        names, swaps = list(self.known), list[tuple[str, list[Any]]]()
        if self.ask:
            return swaps
        for i, j in itertools.combinations(range(len(names)), 2):
            order = [{i: j, j: i}.get(place, place) for place in range(len(names))]
            swapped = [tuple(case[place] for place in order) for case in self.cases]
            if all(type(x) is type(y) for x, y in zip(swapped[0], self.cases[0], strict=True)):
                results = list(map(self.right, swapped))
                if not all(isinstance(result, Failure) for result in results):
                    sentence = said("{one} and {other} are swapped.", one=names[i], other=names[j])
                    swaps.append((sentence, results))
        return swaps

    def related(
        self, answer: Answer, answers: Results, right: Results, part: Part = lambda x: x
    ) -> str:
        """Say how all the answers are related to the right ones, or to those for other arguments.

        ``part`` takes from a result of the reference the part that is in ``right``.
        """
        sentence = relation(answers, right, self.whole) or self._given(answers)
        sentence = sentence or by_a_quantity(answers, right, self.sizes)
        if sentence or any(isinstance(got, Failure) for got in answers):
            return sentence
        if nan := undefined(answers):
            return self._partly(answers, right) or nan
        sentence = self._for_others(answer, answers, part) or self._partly(answers, right)
        sentence = sentence or self._other_axes(answers, right)
        sentence = sentence or combined(answers, self._quantities)
        return sentence or self._one_entry(answer, answers, right, part)

    @cached_property
    def _quantities(self) -> dict[str, Results]:
        """Collect what answers may be made of: sizes, float arguments, and the right results."""
        named = [name for name in self.sizes[0] if all(name in known for known in self.sizes)]
        found: dict[str, Results]
        found = {f"`{name}`": [known[name] for known in self.sizes] for name in named}
        found["2"] = [2.0] * len(self.cases)
        for place, name in enumerate(self.known):
            given = [case[place] for case in self.cases]
            if all(isinstance(x, Tensor) and x.is_floating_point() for x in given):
                found[f"`{name}`"] = given
        right = list(map(self.right, self.cases))
        entries = enumerate(columns(right, right), start=1)
        results = {said("result {number}", number=number): x for number, (x, _) in entries}
        return found | (results or {said("what is asked for"): right})

    def _given(self, answers: Results) -> str:
        """Say which argument the answers are equal to."""
        for place, name in enumerate(self.known):
            if equal(answers, [case[place] for case in self.cases], self.whole):
                return said("this is `{name}`, as it was given.", name=name)
        return ""

    def _partly(self, answers: Results, right: Results) -> str:
        """Say which part of the answers is right."""
        returned = signature(self.reference).return_annotation
        return partly_right(answers, right, getattr(returned, "dim_str", "").split(), self.whole)

    def _one_entry(self, answer: Answer, answers: Results, right: Results, part: Part) -> str:
        """Say the same of one entry, if all the others are right."""
        pairs = columns(answers, right)
        wrong = wrong_columns(pairs, self.whole)
        if len(wrong) != 1 or len(pairs) == 1:
            return ""
        place = wrong[0] - 1
        sentence = self.related(answer, *pairs[place], lambda result: part(result)[place])
        return of_entry(wrong[0], len(pairs), sentence)

    @cached_property
    def _others(self) -> Remembered[tuple[str, Remembered[Probe]]]:
        """Pair sentences about other arguments with the cases that have them, and further cases."""
        cases = [*self.cases, *self._further]
        return Remembered(
            lambda: (
                (sentence, Remembered(partial(self._probes, changed)))
                for sentence, changed in other_cases(self.known, cases)
            )
        )

    def _probes(self, cases: Callable[[], Iterable[tuple[Any, ...]]]) -> Iterator[Probe]:
        return map(partial(Probe, self.right), cases())

    @cached_property
    def _further(self) -> list[tuple[Any, ...]]:
        """Make a few cases with an argument of another, in which a relation must hold as well."""
        return list(itertools.islice(mixed(self.cases), FURTHER))

    def _for_others(self, answer: Answer, answers: Results, part: Part) -> str:
        """Say for which other arguments these are the right answers, also in further cases."""
        for other, probes in self._others:
            if all(map(partial(self._is_right_for, part), answers, probes)):
                pairs = zip(
                    self._further, itertools.islice(probes, len(answers), None), strict=True
                )
                if all(
                    isinstance(probe.right, Failure)
                    or self._is_right_for(part, part(self.give(answer, case)), probe)
                    for case, probe in pairs
                ):
                    return said(
                        "this is the right result for other arguments: {other}", other=other
                    )
        return ""

    def _is_right_for(self, part: Part, got: Any, probe: Probe) -> bool:
        want = probe.right
        return not isinstance(want, Failure) and equal(got, part(want), self.whole)

    def _other_axes(self, answers: Results, right: Results) -> str:
        """Name the axes of the answers, if other axes are asked for."""
        got, want = (named_shape(results, self.sizes) for results in (answers, right))
        if not got or not want or got == want:
            return ""
        return said("the axes of the result are {got}; {asked} is asked for.", got=got, asked=want)

    def dependent(self, answer: Callable[..., Any], told: int) -> tuple[str, str]:
        """Say which argument the answer ignores, or which number has a wrong influence."""
        tried = cache(lambda probe: self.give(answer, probe.case))
        none = self._influence.missing(tried)
        return none, none or self._influence.wrong(tried, told)

    @cached_property
    def _influence(self) -> Influence:
        return Influence(self.right, self.known, list(self.cases))

    def wrong_axes(self, answers: Results, right: Results) -> str:
        """Say that the answer is right for one number of axes, and raises for others."""
        axes = [next((x.dim() for x in case if isinstance(x, Tensor)), 0) for case in self.cases]
        good = {n for n, right in zip(axes, self._are_right(answers, right), strict=True) if right}
        bad = {n: i for i, n in enumerate(axes) if n not in good}
        if len(good) != 1 or not bad:
            return ""
        if not all(isinstance(answers[i], Failure) for i in bad.values()):
            return ""
        number, case = next(iter(bad.items()))
        return said(
            "it is right for {right} only; for {wrong} {sentence} "
            "Count the axes from the end: -1, -2.",
            right=_axes(*good),
            wrong=_axes(number),
            sentence=self.failed(answers[case], case),
        )

    def circumstance(
        self, answer: Callable[..., Any], answers: Results, right: Results, otherwise: str
    ) -> str:
        """Say what the cases with right answers have in common; otherwise describe one case."""

        def elsewhere(case: tuple[Any, ...]) -> bool | None:
            want = self.right(case)
            if isinstance(want, Failure):
                return None
            return equal(in_its_form(self.give(answer, case), want), want, self.whole)

        is_right = self._are_right(answers, right)
        return circumstance(self.known, list(self.cases), is_right, elsewhere, otherwise)

    def _are_right(self, answers: Results, right: Results) -> list[bool]:
        return [equal(got, want, self.whole) for got, want in zip(answers, right, strict=True)]

    def failed(self, failure: Failure, case: int) -> str:
        """Say what an exception means."""
        return explained(failure, self.sizes[case]) or failure.sentence

    def step(self, answer: Callable[..., Any], answers: Results, gap: bool) -> str:
        """Say up to which step the answer is right; in a ``gap`` the steps have names.

        In a loop a name has many values, of which only the last is known.
        """
        trees = (ast.walk(ast.parse(source_of(self.reference))), *syntax_of(answer)) if gap else ()
        loops = any(isinstance(node, ast.For | ast.While) for tree in trees for node in tree)
        named = assigned(answer) if gap and not loops else {}
        noted = partial(values_of, self.ask, list(codes_of(self.reference)))
        right = [calculate(self.reference, case, noted) for case in self.cases]
        noted = partial(values_of, self.ask, list(codes_of(answer)))
        given = [attempt(answer, case, BRIEFLY, noted).result for case in self.cases]
        if any(isinstance(values, Failure) for values in (*right, *given)):
            return ""
        return of_steps(answers, given, right, named)

    def by_chance(self, answer: Callable[..., Any], told: int) -> str:
        """Say that the answer depends on random numbers, if the right one does not."""

        def results(function: Callable[..., Any]) -> Iterator[Any]:
            for seed in (0, 0, 1):
                with settings_put_back():
                    random.seed(seed)
                    torch.manual_seed(seed)
                    yield self.give(function, self.cases[told])

        first, again, other = results(answer)
        if isinstance(other, Failure) or not equal(first, again) or equal(again, other):
            return ""  # a failure may be a timeout
        right, _, other = results(self.reference)
        if not equal(right, other):
            return ""
        return said("called again with the same arguments, it returns something else.")


def _axes(number: int) -> str:
    return said("1 axis") if number == 1 else said("{number} axes", number=number)
