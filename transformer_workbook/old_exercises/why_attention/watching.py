"""Why attention: cases of keys in blocks, and a watch over what becomes an exponential."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from transformer_workbook.exercises.cases import normal


def case(
    queries: int,
    keys: int,
    *rest: int,
    seed: int,
    dtype: torch.dtype = torch.float64,
    times: int = 1,
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Queries, keys and values for so many, so wide; and the width of a block."""
    d_k, d_v, width = rest
    shapes = (queries, d_k), (keys, d_k), (keys, d_v)
    query, key, value = (normal(*s, seed=seed + i, dtype=dtype) for i, s in enumerate(shapes))
    return times * query, key, value, width


class _Watch(TorchFunctionMode):
    """Remembers the shapes of the tensors of which PyTorch computes exponentials."""

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
        """Remember, and go on."""
        given = {**dict(enumerate(args)), **(kwargs or {})}.values()
        if func.__name__ in self.exponentials:
            self.sizes.update(n for x in given if isinstance(x, Tensor) for n in x.shape)
        return func(*args, **(kwargs or {}))


def in_blocks(
    answer: Callable[..., Tensor | None], query: Tensor, key: Tensor, value: Tensor, width: int
) -> dict[str, Any] | None:
    """The output, and whether no exponential met the scores of all keys."""
    with _Watch() as watch:
        output = answer(query, key, value, width)
    # In blocks of one key, there are as many blocks as keys.
    seen = {"output": output, "one block at a time": width == 1 or len(key) not in watch.sizes}
    return None if output is None else seen
