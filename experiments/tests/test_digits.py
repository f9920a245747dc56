"""The record of pictures as tokens trains the model of the lesson."""

import torch

from oracles import assert_close
from records import digits
from test_images_and_graphs import in_float64, lesson
from transformer_workbook.chapters.images_and_graphs import proofs


@torch.no_grad()
def test_the_records_train_the_lessons_model():
    page = lesson()
    ours, mine = in_float64(digits.VisionTransformer(2, "learned")), page["PlainViT"](2).double()
    weights = ours.state_dict()
    weights["positions"] = weights.pop("positions.table")[None]
    mine.load_state_dict(weights)
    pictures = torch.randn(3, 8, 8, dtype=torch.float64)
    assert_close(ours(page["cut"](pictures, 2)), mine(pictures))


def test_axial_positions_of_the_records_turn_by_row_and_column():
    proofs.axial(digits.AxialAttention)
