"""What heads do: leave a word out, and see how far the prediction moves."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal

NARROW = torch.float32


@dataclass(frozen=True)
class _Predicts:
    """A model: from the vectors of some words, (words, d), to probabilities, (vocab,)."""

    vocab: int

    def __call__(self, words: Tensor) -> Tensor:
        place = torch.arange(1, len(words) + 1).to(words.dtype)
        sums = (torch.tanh(words) * place[:, None]).sum(dim=0)
        reading = normal(self.vocab, len(sums), seed=self.vocab, dtype=words.dtype)
        return (reading @ sums).softmax(dim=0)

    def __repr__(self) -> str:
        return "predict"


def _leave_one_out(
    predict: Callable[[Tensor], Tensor], words: Float[Tensor, "n d"]
) -> Float[Tensor, " n"]:
    whole = predict(words)
    changes = []
    for j in range(len(words)):
        without = torch.cat([words[:j], words[j + 1 :]])
        changes.append((predict(without) - whole).abs().sum() / 2)
    return torch.stack(changes)


def _changed(measure: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The same with another measure of how far two predictions are apart."""

    def answer(predict: Callable[[Tensor], Tensor], words: Tensor) -> Tensor:
        without = [torch.cat([words[:j], words[j + 1 :]]) for j in range(len(words))]
        return torch.stack([measure(predict(rest), predict(words)) for rest in without])

    return answer


def _zeroed(predict: Callable[[Tensor], Tensor], words: Tensor) -> Tensor:
    keep = 1 - torch.eye(len(words), dtype=words.dtype)
    changed = [predict(words * row[:, None]) for row in keep]
    return torch.stack([(p - predict(words)).abs().sum() / 2 for p in changed])


def _alone(predict: Callable[[Tensor], Tensor], words: Tensor) -> Tensor:
    changed = [predict(words[j : j + 1]) for j in range(len(words))]
    return torch.stack([(p - predict(words)).abs().sum() / 2 for p in changed])


def _shrinking(predict: Callable[[Tensor], Tensor], words: Tensor) -> Tensor:
    changed = [predict(words[j:]) for j in range(1, len(words))]
    changed.append(torch.full_like(predict(words), 1 / len(predict(words))))
    return torch.stack([(p - predict(words)).abs().sum() / 2 for p in changed])


leave_one_out = Exercise(
    reference=_leave_one_out,
    mistakes={
        "the half is missing.": _changed(lambda p, q: (p - q).abs().sum()),
        "the differences cancel out; take their absolute values.": (
            _changed(lambda p, q: (p - q).sum() / 2)
        ),
        "you square the differences; absolute values are asked for.": (
            _changed(lambda p, q: (p - q).square().sum() / 2)
        ),
        "you take the largest difference; add up all of them.": (
            _changed(lambda p, q: (p - q).abs().max() / 2)
        ),
        "you take the mean over the vocabulary; the sum is asked for.": (
            _changed(lambda p, q: (p - q).abs().mean() / 2)
        ),
        "a word is put to zero; leave it out, so that one word fewer is read.": _zeroed,
        "only this word is read; it is the one to be left out.": _alone,
        "the words before are left out too; leave out one at a time.": _shrinking,
        "this is the mean over the words; each word has a number of its own.": (
            lambda predict, words: _leave_one_out(predict, words).mean()
        ),
    },
    cases=[
        (_Predicts(4), normal(3, 2, seed=0)),
        (_Predicts(3), normal(4, 5, seed=1, dtype=NARROW)),
        (_Predicts(5), normal(2, 3, seed=2)),
    ],
)
