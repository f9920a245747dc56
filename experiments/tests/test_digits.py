"""The record of pictures as tokens trains the model of the lesson."""

import pytest
import torch

from oracles import assert_close
from records import digits, halves
from test_images_and_graphs import PAGE, defined, in_float64, paper
from transformer_workbook.chapters.images_and_graphs import proofs


@torch.no_grad()
def test_the_records_train_the_papers_model():
    ours, mine = in_float64(digits.VisionTransformer(2, "learned")), paper()["PlainViT"](2).double()
    weights = ours.state_dict()
    weights["positions"] = weights.pop("positions.table")[None]
    weights["embed.weight"] = weights["embed.weight"].view(-1, 1, 2, 2)
    mine.load_state_dict(weights)
    images = torch.randn(3, 8, 8, dtype=torch.float64)
    assert_close(ours(paper()["patchify"](images, 2)), mine(images))


@torch.no_grad()
@pytest.mark.parametrize(("model", "positions"), [("row + column", 1), ("no places", 0)])
def test_the_record_of_halves_trains_the_lessons_model(model, positions):
    mine = in_float64(defined(PAGE)["ViT"](answers=2, positions=positions))
    ours = halves.VisionTransformer(model, 2).double()
    missing, unknown = ours.load_state_dict(mine.state_dict(), strict=False)
    assert (missing, unknown) == (["every"], [])
    images = torch.randn(3, 8, 8, dtype=torch.float64)
    assert_close(ours(images), mine(images))


def test_axial_positions_of_the_records_turn_by_row_and_column():
    proofs.axial(digits.AxialAttention)
