import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.tokens import PAD
from transformer_workbook.judge import derivation, exercise, letters, normal

END, ASSISTANT = 2, 4  # their ids in the lesson


LETTER = {"role": "user", "content": "tell a sad story about the witch ."}
TOLD = {"role": "assistant", "content": "a young witch cries ."}
ASKED = {"role": "user", "content": "who cries ?"}
HOUSE = {"role": "system", "content": "be kind ."}


@exercise(
    [([LETTER], True), ([LETTER, TOLD], False), ([HOUSE, LETTER, TOLD, ASKED], True), ([], False)],
    whole=True,
    gap=True,
)
def conversation_as_text(messages: list[dict[str, str]], add_generation_prompt: bool) -> list[str]:
    """Write a conversation as one text; for an answer it ends in <assistant>."""
    text = ["<start>"]
    for message in messages:
        text += [f"<{message['role']}>", *message["content"].split(), "<end>"]
    if add_generation_prompt:
        text += ["<assistant>"]
    return text


@exercise(
    [
        ([1, 3, 8, 5, 2, 4, 6, 7, 2],),
        ([1, 3, 8, 2, 4, 7, 2, 3, 9, 5, 2, 4, 5, 6, 5, 2],),
        ([1, 3, 6, 6, 2, 4, 9, 2, 4, 8, 2, 3, 7, 2],),
    ],
    whole=True,
    gap=True,
)
def turns_and_labels(ids: list[int]) -> tuple[list[int], list[int]]:
    """Label a conversation of several turns: what all answers say counts, and their <end>."""
    labels, counts = [], False
    for token in ids:
        labels.append(token if counts else -100)
        counts = (counts or token == ASSISTANT) and token != END
    return ids[:-1], labels[1:]


@letters
def two_tasks_in_a_row() -> str:
    """What does a model tell that was asked for two stories at once?"""
    return "C"  # the notebook's solution tries it


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
    labels = labels.masked_fill(given | (labels == PAD), -100)
    return F.cross_entropy(logits[:, :-1].mT, labels)


@derivation([(6, 1, 6, 9), (10, 2, 4, 12), (7, 3, 8, 5)])
def weight_of_an_answer(prompt: int, short: int, other: int, long: int) -> tuple[float | int, ...]:
    """Derive which labels count, and how much a short answer weighs beside a long one."""
    counted = (short + 1) + (long + 1)
    share = counted / (prompt + short + other + long)
    by_tokens = (short + 1) / counted
    of_a_token = (long + 1) / (short + 1)
    return counted, share, by_tokens, of_a_token


@exercise(
    [
        ([2, 5, 3, 4], 9),
        ([3, 1, 6, 2, 2], 10),
        ([1, 4, 2, 9, 1], 9),
        ([2, 3, 4, 1], 10),
        ([4, 7, 2], 5),
    ],
    whole=True,
)
def turns_that_fit(lengths: list[int], most: int) -> list[int]:
    """Keep the first message, and as many of the latest ones, without a hole, as fit."""
    kept, left = [], most - lengths[0]
    for turn in range(len(lengths) - 1, 0, -1):
        if lengths[turn] > left:
            break
        left -= lengths[turn]
        kept.append(turn)
    return [0, *reversed(kept)]
