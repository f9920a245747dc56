"""The whole Transformer: which faulty models notice that the source is shuffled."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor

from annotated_transformer.layers import DecoderLayer
from annotated_transformer.masking import padding_mask, target_mask
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.judge.trials import settings_put_back
from transformer_workbook.old_exercises.old_question import Question, by_letters

CONFIG = TransformerConfig(9, 9, d_model=8, num_layers=2, num_heads=2, d_ff=8, dropout=0.0)
SRC, TGT = torch.tensor([[4, 5, 6, 7, 2]]), torch.tensor([[1, 5, 8, 4]])


def _logits(
    model: Transformer,
    src: Tensor,
    *,
    ladders: bool = False,
    deaf: bool = False,
    forgetful: bool = False,
) -> Tensor:
    """What a model gives whose stacks are joined in such a way."""
    x, y = model.src_embedding(src), model.tgt_embedding(TGT)
    hidden, mask = padding_mask(src), target_mask(TGT)
    for number, layer in enumerate(model.decoder):
        writer = cast(DecoderLayer, layer)
        x = model.encoder[number](x, hidden) if ladders else model.encode(src)
        asked, asked_mask = (y, padding_mask(TGT)) if deaf else (x, hidden)
        memory = writer.cross_attention.project(asked, asked)
        own_mask = padding_mask(TGT) if forgetful and number == 0 else mask
        y, _ = writer(y, memory.nothing(), memory, own_mask, asked_mask)
    return model.output(y)


def _use_twice(model: Transformer) -> None:
    for stack in (model.encoder, model.decoder):
        stack[1] = stack[0]


def _make_loud(model: Transformer) -> None:
    for side in (model.src_embedding, model.tgt_embedding):
        side.tokens.weight.mul_(CONFIG.d_model**0.5)


def _forget_places(model: Transformer) -> None:
    model.src_embedding.positions.table.zero_()


MODELS: dict[str, tuple[dict[str, bool], Callable[[Transformer], None]]] = {
    "A": ({}, lambda model: None),
    "B": ({"ladders": True}, lambda model: None),
    "C": ({"forgetful": True}, lambda model: None),
    "D": ({"deaf": True}, lambda model: None),
    "E": ({}, _use_twice),
    "F": ({}, _make_loud),
    "G": ({}, _forget_places),
}


@cache
def _unmoved() -> str:
    """The models whose logits stay as they are when the source is shuffled."""
    found = ""
    with settings_put_back(), torch.no_grad():
        for letter, (wires, change) in MODELS.items():
            torch.manual_seed(0)
            model = Transformer(CONFIG).double()
            change(model)
            logits = [
                _logits(model, SRC[:, order], **wires) for order in (range(5), [3, 1, 0, 4, 2])
            ]
            found += letter * bool((logits[0] - logits[1]).abs().max() < 1e-9)
    return found


@Question
def unmoved_by_shuffling(answer: Any) -> str:
    """Which of the seven models give the same logits when the source is shuffled?"""
    replies = {
        "A": "the source of the right model has positions, and its logits move.",
        "B": "the ladders ask another layer, but what they ask has positions, too.",
        "C": "the forgotten mask concerns the target; the source is read as ever.",
        "D": "the deaf model never reads the source, in whatever order it stands.",
        "E": "used once or twice, a layer reads words that have positions.",
        "F": "loud words drown their positions a little; the logits still move.",
        "G": "without positions, the source is a bag of words.",
    }
    return by_letters(answer, _unmoved(), replies)
