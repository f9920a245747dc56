"""The whole Transformer: a stack of layers, and one of them in five equations."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.exercises.cases import random_cases
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.transformer.makers import Maker


def _make_stack(make: Callable[[], Tensor], num_layers: int) -> list[Tensor]:
    """Make a stack of layers that do not begin alike."""
    return [make() for _ in range(num_layers)]


make_stack = Exercise(
    reference=_make_stack,
    given={
        "all layers begin with the same numbers; each is to have numbers of its own.": (
            lambda make, n: [make()] * n
        ),
        "these are n makers, not layers: call make.": lambda make, n: [make] * n,
        "one layer is missing.": lambda make, n: [make() for _ in range(n - 1)],
        "there is one layer too many.": lambda make, n: [make() for _ in range(n + 1)],
        "these are the layers of both stacks; one stack is asked for.": (
            lambda make, n: [make() for _ in range(2 * n)]
        ),
        "this is the last layer; the list of all layers is asked for.": (
            lambda make, n: [make() for _ in range(n)][-1]
        ),
        "only the first layer has numbers of its own; the others share theirs.": (
            lambda make, n: [make()] + [make()] * (n - 1)
        ),
        "two layers take turns; each is to have numbers of its own.": (
            lambda make, n: ([make(), make()] * n)[:n]
        ),
        "make is called once too often, and the first layer is thrown away.": (
            lambda make, n: [make() for _ in range(n + 1)][1:]
        ),
        "only the last layer has numbers of its own; the others share theirs.": (
            lambda make, n: [make()] * (n - 1) + [make()]
        ),
        "the others are copies of the layer made first, which is not in the stack itself.": (
            lambda make, n: (lambda first: [make()] + [first] * (n - 1))(make())
        ),
    },
    cases=[(Maker(), 3), (Maker(), 6), (Maker(), 4)],
)


def _encoder_block(
    X: Float[Tensor, "n d"],
    Q: Float[Tensor, "d d"],
    K: Float[Tensor, "d d"],
    V: Float[Tensor, "d d"],
    W_O: Float[Tensor, "d d"],
    W_1: Float[Tensor, "d d_f"],
    W_2: Float[Tensor, "d_f d"],
) -> Float[Tensor, "n d"]:
    """Write a layer of the encoder in five equations."""
    size = X.shape[1:]
    A = X @ Q @ (X @ K).T / math.sqrt(X.size(1))
    M = F.layer_norm(A.softmax(dim=1) @ X @ V @ W_O + X, size)
    return F.layer_norm(torch.relu(M @ W_1) @ W_2 + M, size)


def _norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[1:])


def _over_positions(x: Tensor) -> Tensor:
    return _norm(x.T).T


def _unbiased(x: Tensor) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)


def _over_all(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape)


def _as_it_is(x: Tensor) -> Tensor:
    return x


def _block(
    *,
    norms: tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]] = (_norm, _norm),
    pre: Callable[[Tensor], Tensor] = _as_it_is,
    root: Callable[[Tensor], float] = lambda X: X.size(1) ** 0.5,
    dim: int = 1,
    shortcuts: tuple[int, int] = (1, 1),
    bend: Callable[[Tensor], Tensor] = torch.relu,
    output: bool = True,
    ahead: bool = False,
    again: bool = False,
    share: Callable[[Tensor, int], Tensor] = torch.softmax,
    outer: Callable[[Tensor], Tensor] = _as_it_is,
    end: int = 2,
) -> Callable[..., Tensor]:
    """The same with other parts; ``ahead``: the network reads X; ``again``: X is added twice."""

    def block(
        X: Tensor, Q: Tensor, K: Tensor, V: Tensor, to_out: Tensor, W_1: Tensor, W_2: Tensor
    ) -> Tensor:
        x = pre(X)
        found = share(x @ Q @ (x @ K).T / root(X), dim) @ x @ V
        M = norms[0]((found @ to_out if output else found) + shortcuts[0] * X)
        forward = outer(bend((X if ahead else pre(M)) @ W_1) @ W_2)
        if end < 2:
            return forward if end else M
        return norms[1](forward + shortcuts[1] * (X if again else M))

    return block


encoder_block = Exercise(
    reference=_encoder_block,
    given={
        "the first + X is missing: attention adds to X, it does not replace it.": (
            _block(shortcuts=(0, 1))
        ),
        "the second shortcut is missing: add M.": _block(shortcuts=(1, 0)),
        "both shortcuts are missing: add X, then M.": _block(shortcuts=(0, 0)),
        "this is pre-norm; here LayerNorm comes after each sum.": (
            _block(pre=_norm, norms=(_as_it_is, _as_it_is))
        ),
        "LayerNorm is missing after the sums.": _block(norms=(_as_it_is, _as_it_is)),
        "LayerNorm is missing after the first sum.": _block(norms=(_as_it_is, _norm)),
        "LayerNorm is missing after the second sum.": _block(norms=(_norm, _as_it_is)),
        "the second sum adds X; it adds M.": _block(again=True),
        "LayerNorm goes over the d numbers of a position, not over the positions.": (
            _block(norms=(_over_positions, _over_positions))
        ),
        "you divide by the unbiased deviation; LayerNorm divides the squares by d, not d - 1.": (
            _block(norms=(_unbiased, _unbiased))
        ),
        "the scores are not divided by √d.": _block(root=lambda X: 1),
        "the factor is 1/√d, not 1/d.": _block(root=lambda X: X.size(1)),
        "you divide by the root of the number of tokens; √d is the root of the width.": (
            _block(root=lambda X: len(X) ** 0.5)
        ),
        "the softmax goes over the queries; each row of A shares out 1.": _block(dim=0),
        "O (`W_O`) is missing: it comes after the weighted sum.": _block(output=False),
        "σ is missing: the two matrices then are one.": _block(bend=_as_it_is),
        "σ is asked to be ReLU; this is GELU.": _block(bend=F.gelu),
        "σ is asked to be ReLU; this is the logistic sigmoid.": _block(bend=torch.sigmoid),
        "σ is asked to be ReLU; this is tanh.": _block(bend=torch.tanh),
        "σ is asked to be ReLU; this is SiLU.": _block(bend=F.silu),
        "σ is asked to be ReLU; this is a softmax.": _block(bend=lambda x: x.softmax(-1)),
        "σ stands after `W_2`; it stands between the two matrices.": (
            _block(bend=_as_it_is, outer=torch.relu)
        ),
        "σ stands twice; it stands between the two matrices only.": _block(outer=torch.relu),
        "the softmax is missing.": _block(share=lambda scores, dim: scores),
        "the scores are multiplied by √d; divide by it.": _block(root=lambda X: X.size(1) ** -0.5),
        "this is M; after it comes the feed-forward network.": _block(end=0),
        "this is H; Z is LayerNorm(M + H).": _block(end=1),
        "the feed-forward network reads X; it reads M.": _block(ahead=True),
        "LayerNorm goes over all words at once; every position has its own.": (
            _block(norms=(_over_all, _over_all))
        ),
        "V is missing: the words themselves are summed up.": (
            lambda X, Q, K, V, *rest: _block()(X, Q, K, torch.eye(len(V)).to(X), *rest)
        ),
        "Q is missing: the words ask as they are.": (
            lambda X, Q, *rest: _block()(X, torch.eye(len(Q)).to(X), *rest)
        ),
        "K is missing: the words are asked as they are.": (
            lambda X, Q, K, *rest: _block()(X, Q, torch.eye(len(K)).to(X), *rest)
        ),
        "Z is normalised once more than it should be, with X added.": (
            lambda X, *rest: _norm(_block()(X, *rest) + X)
        ),
        "this is the attention alone, times O: X is added, and LayerNorm and H follow.": (
            _block(end=0, norms=(_as_it_is, _norm), shortcuts=(0, 1))
        ),
    },
    cases=random_cases("n d", "d d", "d d", "d d", "d d", "d d_f", "d_f d"),
)
