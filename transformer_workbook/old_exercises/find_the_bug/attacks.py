"""Find the bug: an attention with a bug that passes every test which its reader knows."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.comparing import Failure, difference, equal
from transformer_workbook.judge.tasks import Verdict
from transformer_workbook.judge.trials import attempt
from transformer_workbook.old_exercises.old_question import Question

Case = tuple[Tensor, Tensor, Tensor, Tensor]
SECONDS = 3.0

CAUSAL = torch.ones(5, 5).tril().bool()
ORDER = [3, 0, 4, 1, 2]


def _case(*batch: int, q: int = 5, k: int = 5, d: int = 8, d_v: int = 8, seed: int = 0) -> Case:
    """Random queries, keys and values; if no mask is put in, every key is seen."""
    shapes = (*batch, q, d), (*batch, k, d), (*batch, k, d_v)
    query, key, value = (normal(*shape, seed=seed + i) for i, shape in enumerate(shapes))
    return query, key, value, torch.ones(q, k).bool()


def _tested(seed: int) -> Case:
    """What the tests know: two sentences of five words, eight numbers each, a causal mask."""
    return *_case(2, seed=seed)[:3], CAUSAL


def _last_hidden(answer: Callable[..., Any], case: Case) -> bool:
    query, key, value, mask = case
    other = [torch.cat([x[:, :-1], x[:, -1:] + 1], dim=1) for x in (key, value)]
    return equal(answer(query, *other, mask)[:, :-1], answer(*case)[:, :-1])


def _order(answer: Callable[..., Any], case: Case) -> bool:
    query, key, value, mask = case
    return equal(answer(query, key[:, ORDER], value[:, ORDER], mask[:, ORDER]), answer(*case))


def _one_by_one(answer: Callable[..., Any], case: Case) -> bool:
    query, key, value, mask = case
    parts = [answer(query[[i]], key[[i]], value[[i]], mask) for i in range(2)]
    return equal(torch.cat(parts), answer(*case))


TESTS: dict[str, Callable[[Callable[..., Any], Case], bool]] = {
    "repeats itself": lambda answer, case: equal(answer(*case), answer(*case)),
    "hides the future": _last_hidden,
    "takes keys in any order": _order,
    "one at a time": _one_by_one,
    "agrees with PyTorch": (
        lambda answer, case: equal(answer(*case), F.scaled_dot_product_attention(*case))
    ),
}
"""The tests that the reader knows. Each is made on three draws of `_tested`."""


def _padded() -> Case:
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()[:, None]
    return *_case(2, seed=30)[:3], mask


def _by_heads(case: Case) -> Case:
    """Of the second sentence the last two keys are hidden, for all heads."""
    return *case[:3], _padded()[3][:, None]


def _larger(case: Case, times: float) -> Case:
    query, key, value, mask = case
    return times * query, key, value, mask


def _opposite(case: Case) -> Case:
    """Queries that look away from the key of their own place: the first sees only that one."""
    _, key, value, mask = case
    return -1e10 * key, key, value, mask


def _narrow(case: Case) -> Case:
    query, key, value, mask = case
    return query.float(), key.float(), value.float(), mask


PROBES: dict[str, Callable[[], Case]] = {
    "with other keys hidden in each sentence": _padded,
    "where nothing is hidden": lambda: _case(2, seed=40),
    "with three numbers in a vector": lambda: _case(2, d=3, d_v=3, seed=50),
    "with values of another width": lambda: _case(2, d_v=4, seed=60),
    "with fewer queries than keys": lambda: _case(2, q=2, seed=70),
    "with scores a hundred thousand times as large": lambda: _larger(_tested(80), 1e5),
    "with a visible score below -10,000,000,000": lambda: _opposite(_tested(85)),
    "with scores of zero": lambda: _larger(_tested(90), 0.0),
    "with one sentence": lambda: (*_case(1, seed=100)[:3], CAUSAL),
    "with three sentences": lambda: (*_case(3, seed=140)[:3], CAUSAL),
    "without an axis of sentences": lambda: (*_case(seed=150)[:3], CAUSAL),
    "with one query": lambda: _case(2, q=1, seed=160),
    "with seven queries and four keys": lambda: _case(2, q=7, k=4, seed=170),
    "with sixteen numbers in a vector": lambda: _case(2, d=16, d_v=16, seed=180),
    "with heads": lambda: (*_case(2, 3, seed=110)[:3], CAUSAL),
    "with heads, and a mask that has an axis for them": lambda: _by_heads(_case(2, 3, seed=190)),
    "with 300 keys": lambda: _case(2, k=300, seed=120),
    "in single precision": lambda: _narrow(_tested(130)),
}
"""What the reader does not know: on each of these a bug may show."""


def _judge(answer: Any) -> Verdict:
    """Write an attention with a bug that passes all five tests."""
    if not callable(answer):
        return Verdict("wrong", "the check wants the function itself, not what it returns.")
    first = attempt(answer, _tested(0), SECONDS).result
    if first is None:
        return Verdict("not attempted")
    if isinstance(first, Failure):
        return Verdict("wrong", f"in every test {first.sentence}")
    for name, test in TESTS.items():
        for seed in (0, 10, 20):
            passed = attempt(answer, (_tested(seed),), SECONDS, lambda f, c, t=test: t(f, c))
            if passed.result is not True:
                return Verdict("wrong", f"the test “{name}” catches it.")
    crash = ""
    for where, make in PROBES.items():
        case = make()
        got, want = attempt(answer, case, SECONDS).result, F.scaled_dot_product_attention(*case)
        if isinstance(got, Failure):
            crash = crash or f"all tests pass, but {where} {got.sentence} Let the bug be silent."
        elif not equal(got, want):
            return Verdict("right", f"all five tests pass, but {where} {difference(got, want)}")
    return Verdict("wrong", crash or "no bug: whatever we tried, it is attention.")


class _RedTeam(Question):
    """A question whose answer is a function, and whose verdict says what gives it away."""

    def __init__(self, judge: Callable[[Any], Verdict], name: str) -> None:
        super().__init__(judge)  # type: ignore[arg-type]
        self.name = name

    def check(self, answer: Any) -> Verdict:
        """Run the tests, then the secret probes."""
        if answer is None:
            return Verdict("not attempted")
        return _judge(answer)


red_team = _RedTeam(_judge, "red_team")
