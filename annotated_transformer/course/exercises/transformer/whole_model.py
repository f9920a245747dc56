"""The whole Transformer: its logits, a layer in five equations, and the first loss."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases


def _tied_logits(
    x: Float[Tensor, "batch t d"], E: Float[Tensor, "vocab d"]
) -> Float[Tensor, "batch t vocab"]:
    return x @ E.mT


tied_logits = Exercise(
    reference=_tied_logits,
    mistakes={
        "these are probabilities; the logits are asked for, before the softmax.": (
            lambda x, E: (x @ E.T).softmax(-1)
        ),
        "these are logarithms of probabilities; the logits are asked for.": (
            lambda x, E: (x @ E.T).log_softmax(-1)
        ),
        "you multiply by √d; only the embedding is multiplied, not the logits.": (
            lambda x, E: x @ E.T * E.size(1) ** 0.5
        ),
        "you divide by √d; that belongs to the scores of attention.": (
            lambda x, E: x @ E.T / E.size(1) ** 0.5
        ),
        "you bring the vectors to length 1; the plain dot products are asked for.": (
            lambda x, E: F.normalize(x, dim=-1) @ F.normalize(E, dim=-1).T
        ),
        "you bring the embeddings to length 1; the plain dot products are asked for.": (
            lambda x, E: x @ F.normalize(E, dim=-1).T
        ),
        "the logits of the last position alone; every position has a next word.": (
            lambda x, E: x[:, -1] @ E.T
        ),
        "these are the best words; a number for every word is asked for.": (
            lambda x, E: (x @ E.T).argmax(-1)
        ),
        "the axes are swapped: the words of the vocabulary stand on the last one.": (
            lambda x, E: E @ x.mT
        ),
        "the sum is missing: a dot product adds up its d products.": (
            lambda x, E: x[:, :, None] * E
        ),
    },
    cases=random_cases("batch t d", "vocab d"),
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
) -> Callable[..., Tensor]:
    """The same with other parts; ``ahead``: F reads X; ``again``: the second sum adds X."""

    def block(
        X: Tensor, Q: Tensor, K: Tensor, V: Tensor, to_out: Tensor, W_1: Tensor, W_2: Tensor
    ) -> Tensor:
        x = pre(X)
        found = (x @ Q @ (x @ K).T / root(X)).softmax(dim) @ x @ V
        M = norms[0]((found @ to_out if output else found) + shortcuts[0] * X)
        forward = bend((X if ahead else pre(M)) @ W_1) @ W_2
        return norms[1](forward + shortcuts[1] * (X if again else M))

    return block


encoder_block = Exercise(
    reference=_encoder_block,
    mistakes={
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
        "the feed-forward network reads X; it reads M.": _block(ahead=True),
    },
    cases=random_cases("n d", "d d", "d d", "d d", "d d", "d d_f", "d_f d"),
)


def _first_loss(vocab: int, variance: float) -> float:
    return math.log(vocab) + variance / 2


first_loss = Exercise(
    reference=_first_loss,
    mistakes={
        "this is the loss if all logits are equal; that they differ costs half the variance.": (
            lambda vocab, variance: math.log(vocab)
        ),
        "you add ½, which is right for a variance of 1 alone; add half of the variance.": (
            lambda vocab, variance: math.log(vocab) + 0.5
        ),
        "only half of the variance is added.": (lambda vocab, variance: math.log(vocab) + variance),
        "the variance itself is asked for, not its root.": (
            lambda vocab, variance: math.log(vocab) + variance**0.5 / 2
        ),
        "spread makes a guess worse, not better: add.": (
            lambda vocab, variance: math.log(vocab) - variance / 2
        ),
        "the loss is in nats: take the natural logarithm, not that to base 2.": (
            lambda vocab, variance: math.log2(vocab) + variance / 2
        ),
        "take the natural logarithm, not that to base 10.": (
            lambda vocab, variance: math.log10(vocab) + variance / 2
        ),
        "this is a perplexity, e to the loss.": (
            lambda vocab, variance: vocab * math.exp(variance / 2)
        ),
        "this is only what the spread adds; the logarithm of the vocabulary is missing.": (
            lambda vocab, variance: variance / 2
        ),
    },
    cases=[(1000, 0.5), (37_000, 1 / 3), (146, 4.0)],
)
