"""Sequence to sequence: an LSTM encoder with one faulty part."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

State = tuple[Tensor, Tensor]


def update(f: Tensor, i: Tensor, g: Tensor, o: Tensor, c: Tensor) -> State:
    """The new h and c, when σ and tanh are taken."""
    c = f * c + i * g
    return o * c.tanh(), c


def keep(is_word: Tensor, new: State, old: State) -> State:
    """The new h and c where there is a word, the old ones in the padding."""
    h, c = (torch.where(is_word, *pair) for pair in zip(new, old, strict=True))
    return h, c


def faulty(
    order: str = "ifgo",
    update: Callable[..., State] = update,
    mask: Callable[[Tensor, State, State], State] = keep,
    carried: tuple[int, int] = (1, 1),
    squash: Callable[[Tensor], Tensor] = torch.tanh,
    cut: Callable[[Tensor], Sequence[Tensor]] = lambda z: z.chunk(4, dim=1),
    result: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda h, c, is_word: h[:, -1],
) -> Callable[..., Tensor]:
    """The encoder with one faulty part; ``result`` gets h and c at all positions."""

    def answer(x: Tensor, is_word: Tensor, W: Tensor, U: Tensor, b: Tensor) -> Tensor:
        h = c = x.new_zeros(len(x), U.size(1))
        states = []
        for t in range(x.size(1)):
            blocks = cut(x[:, t] @ W.T + carried[0] * h @ U.T + b)
            part = dict(zip(order, blocks, strict=True))
            f, i, o = (part[name].sigmoid() for name in "fio")
            new = update(f, i, squash(part["g"]), o, carried[1] * c)
            h, c = mask(is_word[:, t, None], new, (h, c))
            states.append((h, c))
        hs, cs = (torch.stack(found, dim=1) for found in zip(*states, strict=True))
        return result(hs, cs, is_word)

    return answer
