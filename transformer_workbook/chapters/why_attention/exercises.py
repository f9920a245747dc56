import csv
import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from transformer_workbook.judge import derivation, exercise, normal, number, question
from transformer_workbook.judge.questions import by_letters
from transformer_workbook.places import course_file


@exercise([(4, 3, 3), (7, 5, 2), (3, 8, 5), (9, 2, 4)], gap=True)
def multiplications(n: int, d: int, k: int) -> tuple[int, int, int]:
    """Count the multiplications of attention, of a recurrence and of a convolution."""
    attention = 2 * n * n * d
    recurrence = 2 * n * d * d
    convolution = k * n * d * d
    return attention, recurrence, convolution


def through(
    answer: Callable[..., Any],
    mixes: Float[Tensor, "time time"],
    matrix: Float[Tensor, "d width"],
    x: Float[Tensor, "1 time d"],
) -> Any:
    """Let the reader measure a layer that mixes words."""
    return answer(lambda x: (mixes.to(x) @ x @ matrix.to(x)).tanh(), x)


@exercise(
    [
        (normal(4, 4, seed=0), normal(3, 2, seed=1), normal(1, 4, 3, seed=2)),
        (normal(5, 5, seed=3).tril(), normal(3, 4, seed=4), normal(1, 5, 3, seed=5).float()),
        (normal(6, 6, seed=6).triu(-2), normal(2, 7, seed=7), normal(1, 6, 2, seed=8)),
    ],
    ask=through,
    gap=True,
)
def reach(
    layer: Callable[[Tensor], Tensor], x: Float[Tensor, "1 time d"]
) -> Float[Tensor, " time"]:
    """Measure how strongly the last output depends on each word."""
    words = x.clone().requires_grad_()
    last = layer(words)[0, -1]
    last.sum().backward()  # type: ignore[no-untyped-call]
    gradient: Any = words.grad
    size: Tensor = gradient[0].norm(dim=-1)
    return size


DILATIONS = [1, 2, 4, 8]


def receptive_field(dilations: list[int], kernel_size: int = 3) -> int:
    """Count the positions of the receptive field of a stack of convolutions."""
    return 1 + sum((kernel_size - 1) * dilation for dilation in dilations)


@number()
def doubling_reach() -> int:
    """Up to which length can four convolutions with dilations 1, 2, 4 and 8 learn the task?"""
    return receptive_field(DILATIONS)


@derivation([(10, 3, 64), (50, 4, 20), (7, 5, 8)])
def break_even(n: int, g: int, d: int) -> tuple[int, int, int, float, float]:
    """Derive the length at which attention and recurrence need equally many operations."""
    attention = 8 * d**2 + 4 * n * d
    recurrent = 4 * g * d**2
    length = (g - 2) * d
    share_of_pairs = (g - 2) / g
    at_twice_the_length = 2 * (g - 1) / g
    return attention, recurrent, length, share_of_pairs, at_twice_the_length


def near(length: int, width: int) -> Bool[Tensor, "query key"]:
    """Mask all but a window of this width around each position."""
    distance = torch.arange(length) - torch.arange(length)[:, None]
    return distance.abs() <= width // 2


def tables() -> list[Tensor]:
    """List windows, a ring, and windows in which one end reads all positions, or is read by all.

    Two more are not symmetric in any order of the positions.
    """
    windows = [near(*sizes) for sizes in ((8, 3), (5, 9), (11, 5))]
    ends = [near(length, 3) for length in (7, 6, 10, 9)]
    ends[0][0], ends[1][:, 0], ends[2][-1], ends[3][:, -1] = True, True, True, True
    ring = torch.eye(6).bool() | torch.eye(6).bool().roll(1, 0)
    far = near(9, 3)
    far[0, 8] = True
    mixed, star = torch.eye(7).bool(), torch.eye(8).bool()
    mixed[[0, 3, 5, 1, 6, 2, 4, 0], [3, 5, 1, 6, 2, 4, 0, 1]] = True
    star[[0, 1, 2, 3, 4, 5, 6, 7, 7, 7], [1, 2, 3, 7, 7, 7, 7, 0, 4, 5]] = True
    star[4, 6] = True
    return [*windows, ring, far, *ends, mixed, star]


@exercise([(table,) for table in tables()])
def path_length(reads: Bool[Tensor, "n n"]) -> int:
    """Find what is wrong in counting the layers until every output depends on every input."""
    one_layer = reads.long()
    reached, layers = one_layer, 1
    while not reached.all() and layers < len(reads):  # no path takes more layers
        reached = (reached @ one_layer).clamp(max=1)
        layers += 1
    return layers


@exercise([(6, 3), (9, 5), (5, 1), (12, 7)])
def window(length: int, width: int) -> Bool[Tensor, "query key"]:
    """Write the mask of restricted self-attention."""
    place = torch.arange(length)
    distance = place - place[:, None]  # from the query to the key
    half = width // 2
    return distance.abs() <= half


@exercise([([2, 4],), ([3, 5, 10],), ([7, 7, 7],), ([1, 6, 2, 3],)])
def wasted_pairs(lengths: list[int]) -> float:
    """Find the share of the pairs of a padded batch that padding wastes."""
    longest = max(lengths)
    cells = len(lengths) * longest**2
    used = sum(n**2 for n in lengths)
    return 1 - used / cells


@cache
def milliseconds() -> dict[tuple[str, int], float]:
    """Read layers_times.csv, by the layer and the length."""
    text = course_file("records/layers_times.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["layer"], int(row["length"])): float(row["milliseconds"]) for row in rows}


def supported(times: dict[tuple[str, int], float]) -> list[str]:
    """List the letters of the sentences that these times support."""
    lengths = sorted({length for _, length in times})
    attention = [times["self-attention", n] for n in lengths]
    holds = {
        "A": 2 * times["self-attention", 256] < times["recurrent", 256],
        "B": all(2 * time <= later for time, later in pairwise(attention)),
        "C": times["self-attention", 1024]
        < times["recurrent", 1024]
        < times["self-attention, written out", 1024],
        "D": False,  # nothing longer was measured
        "E": False,  # a time does not tell its cause
    }
    return [letter for letter, true in holds.items() if true]


@question
def record_of_times(answer: Any, say: Callable[..., str]) -> str:
    """Which of five sentences does the record of times support?"""
    told = {letter: say(letter) for letter in "ABCDE"}
    return by_letters(answer, supported(milliseconds()), told)


def case(
    *sizes: int, seed: int, dtype: torch.dtype = torch.float64, times: int = 1
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Make queries, keys and values of these sizes, and give the width of a block."""
    queries, keys, d_k, d_v, width = sizes
    shapes = (queries, d_k), (keys, d_k), (keys, d_v)
    query, key, value = (normal(*s, seed=seed + i, dtype=dtype) for i, s in enumerate(shapes))
    return times * query, key, value, width


class Watch(TorchFunctionMode):
    """Record the sizes of all tensors of which PyTorch computes exponentials."""

    exponentials = (
        "exp",
        "exp_",
        "exp2",
        "expm1",
        "pow",
        "__rpow__",
        "softmax",
        "logsumexp",
        "scaled_dot_product_attention",
    )

    def __enter__(self) -> Any:
        self.sizes: set[int] = set()
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the sizes of the arguments, and call the function."""
        given = {**dict(enumerate(args)), **(kwargs or {})}.values()
        if func.__name__ in self.exponentials:
            self.sizes.update(n for x in given if isinstance(x, Tensor) for n in x.shape)
        return func(*args, **(kwargs or {}))


def in_blocks(
    answer: Callable[..., Tensor | None], query: Tensor, key: Tensor, value: Tensor, width: int
) -> dict[str, Any] | None:
    """Give the output, and whether no exponential was taken of the scores of all keys."""
    with Watch() as watch:
        output = answer(query, key, value, width)
    # In blocks of one key, there are as many blocks as keys.
    seen = {"output": output, "one block at a time": width == 1 or len(key) not in watch.sizes}
    return None if output is None else seen


def far_below_zero(seed: int) -> tuple[Tensor, Tensor, Tensor, int]:
    """Make a case whose scores are all below −1,000, where exp gives 0."""
    query, key, value = normal(3, 2, seed=12), normal(5, 2, seed=seed), normal(5, 4, seed=14)
    return 600 + 200 * query, key - 5, value, 2


@exercise(
    [
        case(3, 7, 2, 4, 3, seed=0),
        case(5, 8, 4, 3, 4, seed=3, dtype=torch.float32),
        case(2, 6, 3, 5, 1, seed=6),
        case(4, 11, 3, 2, 5, seed=9, dtype=torch.float32, times=40),
        far_below_zero(seed=13),
        far_below_zero(seed=28),
    ],
    ask=in_blocks,
)
def block_attention(
    query: Float[Tensor, "query d_k"],
    key: Float[Tensor, "key d_k"],
    value: Float[Tensor, "key d_v"],
    width: int,
) -> Float[Tensor, "query d_v"]:
    """Compute attention over blocks of keys, without ever holding all the scores."""
    highest = query.new_full((len(query), 1), -math.inf)
    total = output = torch.zeros_like(highest)
    for keys, values in zip(torch.split(key, width), torch.split(value, width), strict=True):
        scores = query @ keys.T / math.sqrt(query.size(1))
        higher = highest.maximum(scores.amax(dim=1, keepdim=True))
        weights = (scores - higher).exp()
        shrink = (highest - higher).exp()  # 0 for the first block
        total = total * shrink + weights.sum(dim=1, keepdim=True)
        output = output * shrink + weights @ values
        highest = higher
    return output / total
