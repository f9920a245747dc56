from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from math import inf, log
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.batches import pad
from annotated_transformer.tokens import PAD
from annotated_transformer.transformer import Transformer
from transformer_workbook.chapters.find_the_bug import cases as models
from transformer_workbook.chapters.find_the_bug.cases import SRC, TGT_IN, put_to_test
from transformer_workbook.chapters.find_the_bug.faulty.trainers import Part, train
from transformer_workbook.judge import (
    Failure,
    Verdict,
    attempt,
    derivation,
    difference,
    equal,
    exercise,
    form,
    normal,
    number,
    question,
)
from transformer_workbook.judge.sentences import said, to_say


def _look_up(answer: Callable[..., Any], table: Float[Tensor, "vocab vocab"], lines: Tensor) -> Any:
    """Give a loss a table of logits as its model."""
    return answer(nn.Embedding.from_pretrained(table), lines)  # type: ignore[no-untyped-call]


@exercise(
    [
        (normal(7, 7, seed=40), pad([[1, 4, 2, 3, 5, 6], [2, 1, 4, 3, 6, 5, 6, 5]])),
        (normal(9, 9, seed=41), pad([[5, 1, 2, 3, 4, 8, 7], [1, 1, 5, 3, 6], [2, 4, 2, 3, 7, 8]])),
        (normal(6, 6, seed=42).float(), pad([[1, 2, 4, 3, 5, 5, 4, 5], [4, 1, 2, 3, 5]])),
    ],
    ask=_look_up,
    gap=True,
)
def two_losses(
    model: Callable[[Tensor], Tensor], lines: Int[Tensor, "line word"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Find the mean loss of the second and third digit, and that of the words after the colon."""
    logits = model(lines[:, :-1])
    target = lines[:, 1:]
    loss = F.cross_entropy(logits.mT, target, ignore_index=PAD, reduction="none")
    digits = loss[:, :2].mean()
    words = loss[:, 3:].sum() / (target[:, 3:] != PAD).sum()
    return digits, words


PARTS: dict[str, Callable[[Tensor], Tensor]] = {
    "look up": lambda ids: normal(9, 4, seed=50)[ids],
    "look up, rising": lambda ids: ids[..., None] * torch.tensor([1.0, 2.0, 3.0, 5.0]),
    "look up, balanced": lambda ids: ids[..., None] * torch.tensor([1.0, -1.0, 2.0, -2.0]),
    "look up, one number": lambda ids: ids[..., None] * torch.tensor([0.0, 1.0, 0.0, 0.0]),
    "alone": torch.tanh,
    "past": lambda x: x.cumsum(dim=1),
    "next": lambda x: x + F.pad(x[:, 1:], (0, 0, 0, 1)),
    "whole line": lambda x: x - x.mean(dim=(1, 2), keepdim=True),
    "other lines": lambda x: x - x.mean(dim=0),
    "all but the last": lambda x: torch.cat([x[:, :-1], 0 * x[:, -1:]], dim=1),
    "dropout": F.dropout,
    "rounding": lambda x: x + 1e-7 * x.sum(dim=1, keepdim=True),
}
"""Parts of a model, from ids or vectors to vectors; some of them see more than they may."""

Walk = tuple[tuple[str, ...], Tensor, Tensor]


def _walk(parts: str, first: list[int], second: list[int], word: int, becomes: int) -> Walk:
    """Name parts, and make two batches of two lines that differ in one word of the first line."""
    one = torch.tensor([first, second])
    other = one.clone()
    other[0, word] = becomes
    return tuple(parts.split(" > ")), one, other


def _through(answer: Callable[..., Any], names: tuple[str, ...], one: Tensor, other: Tensor) -> Any:
    """Ask for a walk through these parts."""
    return answer([PARTS[name] for name in names], one, other)


@exercise(
    [
        _walk("look up > alone > next", [1, 4, 2, 6], [3, 1, 1, 5], 2, 3),
        _walk("look up, rising > past > rounding > next", [8, 2, 5, 7, 6], [1, 3, 5, 4, 2], 3, 4),
        _walk("look up, balanced > other lines > past", [1, 4, 2, 6, 5], [3, 1, 1, 5, 7], 1, 8),
        _walk("look up, one number > whole line", [7, 4, 2], [3, 1, 1], 2, 0),
    ],
    ask=_through,
    gap=True,
)
def parts_that_move(
    model: Any, one: Int[Tensor, "line word"], other: Int[Tensor, "line word"]
) -> Bool[Tensor, "part line word"]:
    """Find after which part which words of two batches differ."""
    rows = []
    for part in model:
        one, other = part(one), part(other)
        change = (one - other).abs().amax(dim=-1)
        rows.append(change > 1e-4)
    return torch.stack(rows)


def _weigh(kind: Callable[..., Any], scores: Float[Tensor, "line word word"]) -> Any:
    """Let a reader's attention make weights of scores."""
    return kind(8, 8, 8).weights(scores)


@exercise(
    [
        (normal(2, 4, 4, seed=60),),
        (normal(3, 5, 5, seed=61, dtype=torch.float32),),
        (normal(2, 3, 3, seed=62).round(),),
    ],
    ask=_weigh,
    gap=True,
)
def past_alone(d_model: int, d_k: int, d_v: int) -> nn.Module:
    """Write the weights of an attention in which no word sees a later one."""

    class Repaired(nn.Module):
        def weights(self, scores: Tensor) -> Tensor:
            past = torch.ones_like(scores).tril().bool()
            return scores.masked_fill(~past, -inf).softmax(dim=-1)

    return Repaired()


def _try_on(test: Callable[..., Any], name: str) -> Any:
    """Ask a test about a part."""
    torch.manual_seed(0)
    return test(PARTS[name])


@exercise(
    [(name,) for name in ("past", "next", "alone", "whole line", "all but the last", "dropout")],
    ask=_try_on,
)
def no_word_peeks(part: Callable[[Tensor], Tensor]) -> bool:
    """Find what is wrong in a test that passes every part."""
    one = torch.randn(2, 5, 8)
    other = one.clone()
    other[:, 4] = 0
    before, after = part(one), part(other)
    return torch.allclose(before[:, :4], after[:, :4])


WIDTHS = [8, 16, 32, 64, 128, 256, 512, 1024]


def within_a_hundredth(d: int) -> bool:
    """Whether a test with that tolerance passes a normalisation by the unbiased deviation."""
    x = normal(10, d, seed=d)
    centred = x - x.mean(-1, keepdim=True)
    right, faulty = (centred / x.std(-1, keepdim=True, correction=c) for c in (0, 1))
    return torch.allclose(faulty, right, rtol=0.01, atol=0)


@number()
def too_wide_to_see() -> int:
    """From which width on does a tolerance of one per cent hide the unbiased deviation?"""
    return next(d for d in WIDTHS if within_a_hundredth(d))


Case = tuple[Tensor, Tensor, Tensor, Tensor]
Attention = Callable[..., Any]
SECONDS = 3.0

CAUSAL = torch.ones(5, 5).tril().bool()
PADDED = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
ORDER = [3, 0, 4, 1, 2]


def drawn(
    *batch: int,
    seed: int,
    queries: int = 5,
    keys: int = 5,
    d: int = 8,
    d_v: int = 8,
    mask: Tensor | None = None,
) -> Case:
    """Random queries, keys and values; if no mask is put in, every key is seen."""
    shapes = (*batch, queries, d), (*batch, keys, d), (*batch, keys, d_v)
    query, key, value = (normal(*shape, seed=seed + i) for i, shape in enumerate(shapes))
    return query, key, value, torch.ones(queries, keys).bool() if mask is None else mask


def tested(seed: int) -> Case:
    """Draw what the tests use: two sentences of five words, eight numbers each, a causal mask."""
    return drawn(2, seed=seed, mask=CAUSAL)


def repeats_itself(attention: Attention, case: Case) -> bool:
    """Whether two runs give the same."""
    return equal(attention(*case), attention(*case))


def hides_the_last(attention: Attention, case: Case) -> bool:
    """Whether another last key and value change no earlier query's result."""
    query, key, value, mask = case
    key, value = (torch.cat([x[:, :-1], x[:, -1:] + 1], dim=1) for x in (key, value))
    return equal(attention(query, key, value, mask)[:, :-1], attention(*case)[:, :-1])


def takes_any_order(attention: Attention, case: Case) -> bool:
    """Whether keys, values and the mask's columns may be permuted together."""
    query, key, value, mask = case
    shuffled = attention(query, key[:, ORDER], value[:, ORDER], mask[:, ORDER])
    return equal(shuffled, attention(*case))


def works_one_by_one(attention: Attention, case: Case) -> bool:
    """Whether each sentence alone gives the same."""
    query, key, value, mask = case
    parts = [attention(query[[i]], key[[i]], value[[i]], mask) for i in range(2)]
    return equal(torch.cat(parts), attention(*case))


def agrees_with_pytorch(attention: Attention, case: Case) -> bool:
    """Whether the result is PyTorch's."""
    return equal(attention(*case), F.scaled_dot_product_attention(*case))


TESTS: dict[str, Callable[[Attention, Case], bool]] = {
    "repeats itself": repeats_itself,
    "hides the future": hides_the_last,
    "takes keys in any order": takes_any_order,
    "one at a time": works_one_by_one,
    "agrees with PyTorch": agrees_with_pytorch,
}
"""The tests that the reader knows. Each is made on three draws of `tested`."""


def larger(times: float, case: Case) -> Case:
    """Multiply the queries by a number, and with them the scores."""
    query, key, value, mask = case
    return times * query, key, value, mask


def opposite(case: Case) -> Case:
    """Turn each query away from the key of its own position: the first sees only that one."""
    _, key, value, mask = case
    return -1e10 * key, key, value, mask


def narrow(case: Case) -> Case:
    """The same in single precision."""
    query, key, value, mask = case
    return query.float(), key.float(), value.float(), mask


PROBES: dict[str, Case] = {
    to_say("with other keys hidden in each sentence"): drawn(2, seed=30, mask=PADDED[:, None]),
    to_say("where nothing is hidden"): drawn(2, seed=40),
    to_say("with three numbers in a vector"): drawn(2, d=3, d_v=3, seed=50),
    to_say("with values of another width"): drawn(2, d_v=4, seed=60),
    to_say("with fewer queries than keys"): drawn(2, queries=2, seed=70),
    to_say("with scores a hundred thousand times as large"): larger(1e5, tested(80)),
    to_say("with a visible score below -10,000,000,000"): opposite(tested(85)),
    to_say("with scores of zero"): larger(0.0, tested(90)),
    to_say("with one sentence"): drawn(1, seed=100, mask=CAUSAL),
    to_say("with three sentences"): drawn(3, seed=140, mask=CAUSAL),
    to_say("without an axis of sentences"): drawn(seed=150, mask=CAUSAL),
    to_say("with one query"): drawn(2, queries=1, seed=160),
    to_say("with seven queries and four keys"): drawn(2, queries=7, keys=4, seed=170),
    to_say("with sixteen numbers in a vector"): drawn(2, d=16, d_v=16, seed=180),
    to_say("with heads"): drawn(2, 3, seed=110, mask=CAUSAL),
    to_say("with heads, and a mask that has an axis for them"): drawn(
        2, 3, seed=190, mask=PADDED[:, None, None]
    ),
    to_say("with 300 keys"): drawn(2, keys=300, seed=120),
    to_say("in single precision"): narrow(tested(130)),
}
"""What the reader does not know: on each of these a bug may show."""


@question
def red_team(answer: Any, say: Callable[..., str]) -> str | Verdict:
    """Write an attention with a bug that passes all five tests."""
    if not callable(answer):
        return say("no function")
    first = attempt(answer, tested(0), SECONDS).result
    if first is None:
        return Verdict("not attempted")
    if isinstance(first, Failure):
        return say("in every test", how=first.sentence)
    for name, test in TESTS.items():
        for seed in (0, 10, 20):
            if attempt(answer, (tested(seed),), SECONDS, test).result is not True:
                return say("caught", test=name)
    crash = ""
    for where, case in PROBES.items():
        got, want = attempt(answer, case, SECONDS).result, F.scaled_dot_product_attention(*case)
        if isinstance(got, Failure):
            crash = crash or say("crash", where=said(where), how=got.sentence)
        elif not equal(got, want):
            return Verdict("right", say("unseen", where=said(where), how=difference(got, want)))
    return crash or say("no bug")


@exercise([(model,) for model in models.FOR_PADDING], ask=put_to_test)
def ignores_padding(model: Transformer) -> bool:
    """Does more padding after the source change nothing?"""
    model.eval()
    longer = F.pad(SRC, (0, 3))
    padded, plain = model(longer, TGT_IN), model(SRC, TGT_IN)
    return torch.allclose(padded, plain)


@exercise([(model,) for model in models.FOR_STEPS], ask=put_to_test)
def steps_agree(model: Transformer) -> bool:
    """Are the logits word by word those of all words at once?"""
    model.eval()
    state, steps = model.start(SRC), []
    for token in TGT_IN.T:
        logits, state = model.step(state, token)
        steps.append(logits)
    one_by_one, at_once = torch.stack(steps, dim=1), model(SRC, TGT_IN)
    return torch.allclose(one_by_one, at_once)


OTHER_WORD = 4


@exercise([(model,) for model in models.FOR_FUTURE], ask=put_to_test)
def hides_the_future(model: Transformer) -> bool:
    """Does no position depend on a later word?"""
    model.eval()
    before = model(SRC, TGT_IN)
    for t in range(1, TGT_IN.size(1)):
        changed = TGT_IN.clone()
        changed[:, t] = OTHER_WORD
        after = model(SRC, changed)
        if not torch.allclose(after[:, :t], before[:, :t]):
            return False
    return True


@exercise([(model,) for model in models.FOR_NORMS], ask=put_to_test)
def norms_agree(model: Transformer) -> bool:
    """Does each layer normalisation compute the formula?"""
    x = normal(2, 3, 8, seed=0)
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    norms = [part for part in model.modules() if isinstance(part, nn.LayerNorm)]
    for part in norms:
        normalised = centred / (variance + part.eps).sqrt()
        expected = normalised * part.weight + part.bias
        if not torch.allclose(part(x), expected):
            return False
    return True


@derivation([(0.5, 3), (0.1, 20), (0.02, 100), (0.3, 8)])
def what_a_pass_shows(p: float, n: int) -> tuple[float, float, float, float]:
    """How much do n random sentences show on which nothing was found?"""
    one_misses = 1 - p
    all_miss = one_misses**n
    needed = log(1 / 20) / log(one_misses)
    share = 1 - (1 / 20) ** (1 / n)
    return one_misses, all_miss, needed, share


TRAINERS = {"A": 3, "B": 1, "C": 4, "D": 2}
"""The trainer that has the mistake of each letter; the chapter says in words which it is."""


def examples(seed: int) -> Part:
    """Twelve examples of three numbers."""
    return normal(12, 3, seed=seed), normal(12, seed=seed + 100)


def cut(*places: int) -> list[list[Part]]:
    """Make three updates on the same examples, split into micro-batches at these indices."""
    edges = [0, *places, 12]
    return [[(x[a:b], y[a:b]) for a, b in pairwise(edges)] for x, y in map(examples, range(3))]


VAL, OTHER_VAL = examples(7), examples(8)


def trained(trainer: int, updates: list[list[Part]], val: Part = VAL) -> Tensor:
    """The weights after training."""
    return train(trainer, updates, val).weights


INVARIANTS: dict[str, Callable[[int], bool]] = {
    "another validation set": (
        lambda trainer: torch.allclose(trained(trainer, cut(), OTHER_VAL), trained(trainer, cut()))
    ),
    "average": (
        lambda trainer: (
            train(trainer, cut(), VAL, average=True).val_loss != train(trainer, cut(), VAL).val_loss
        )
    ),
    "equal parts": (
        lambda trainer: torch.allclose(trained(trainer, cut(4, 8)), trained(trainer, cut(6)))
    ),
    "unequal parts": (
        lambda trainer: torch.allclose(trained(trainer, cut(2)), trained(trainer, cut(6)))
    ),
}
"""What must hold for a healthy trainer."""


@cache
def holds(invariant: str, trainer: int) -> bool:
    """Whether an invariant holds of a trainer."""
    return INVARIANTS[invariant](trainer)


@question
def name_the_trainers(answer: Any, say: Callable[..., str]) -> str:
    """Which of four trainers has which of four mistakes?"""
    if not isinstance(answer, Mapping) or not {*answer} <= {*TRAINERS.values()}:
        return say("no dictionary", form=form(answer))
    for trainer, letter in sorted(answer.items()):
        suspect = TRAINERS.get(str(letter).strip().upper())
        if suspect is None:
            return say("no mistake", letter=letter)
        if suspect != trainer:
            told_apart = (i for i in INVARIANTS if holds(i, suspect) != holds(i, trainer))
            invariant = next(told_apart)
            state = "holds" if holds(invariant, trainer) else "is broken"
            return say(f"{invariant}: {state}", trainer=trainer, letter=letter)
    missing = {*TRAINERS.values()} - {*answer}
    return say("missing", trainer=min(missing)) if missing else ""
