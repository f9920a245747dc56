import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.tokens import EOS, PAD
from transformer_workbook.judge import derivation, exercise, letters, normal


@exercise(
    [
        ([([8, 4, 5, 9], [6, 7])],),
        ([([8, 5, 9], [7]), ([8, 4, 4, 9], [5, 6, 5])],),
        ([([8, 6, 9], [4, 4, 5]), ([8, 9], [7, 6]), ([8, 4, 5, 9], [6])],),
    ],
    whole=True,
)
def turns_and_labels(turns: list[tuple[list[int], list[int]]]) -> tuple[list[int], list[int]]:
    """Write a conversation of several turns; the labels are those of all answers and their EOS."""
    text, labels = [], []
    for prompt, answer in turns:
        text += [*prompt, *answer, EOS]
        labels += [PAD] * len(prompt) + [*answer, EOS]
    return text[:-1], labels[1:]


@exercise(
    [
        (normal(2, 4, 6, seed=0), torch.tensor([[4, 5, 3, 2], [5, 4, 2, 0]]), torch.tensor([2, 1])),
        (normal(3, 5, 7, seed=1).float(),
         torch.tensor([[4, 6, 5, 3, 2], [6, 3, 4, 2, 0], [5, 6, 2, 0, 0]]),
         torch.tensor([3, 2, 2])),
        (normal(2, 6, 5, seed=2), torch.tensor([[3, 4, 4, 3, 4, 2], [4, 3, 2, 0, 0, 0]]),
         torch.tensor([2, 1])),
    ]
)  # fmt: skip
def answer_loss(
    logits: Float[Tensor, "batch time vocab"],
    ids: Int[Tensor, "batch time"],
    prompts: Int[Tensor, " batch"],
) -> Float[Tensor, ""]:
    """Compute the mean loss over the tokens of the answers, whose prompts have these lengths."""
    labels = ids[:, 1:]
    places = torch.arange(1, ids.size(1))
    given = places < prompts[:, None]
    labels = labels.masked_fill(given, PAD)
    return F.cross_entropy(logits[:, :-1].mT, labels, ignore_index=PAD)


@derivation([(6, 1, 6, 9), (10, 2, 4, 12), (7, 3, 8, 5)])
def weight_of_an_answer(prompt: int, short: int, other: int, long: int) -> tuple[float | int, ...]:
    """Derive which labels count, and how much a short answer weighs beside a long one."""
    counted = (short + 1) + (long + 1)
    share = counted / (prompt + short + other + long)
    by_tokens = (short + 1) / counted
    of_a_token = (long + 1) / (short + 1)
    return counted, share, by_tokens, of_a_token


@letters
def two_tasks_in_a_row() -> str:
    """Does a model that learned to reverse and to translate also reverse a translation?"""
    return "B"  # the notebook's solution tries it
