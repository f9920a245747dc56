"""Images as tokens: Vision Transformers of the lesson and of its second page beside oracles."""

from functools import cache
from pathlib import Path

import nbformat
import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformer_workbook.exercises.images_and_graphs import cut_images
from transformers import ViTConfig, ViTModel

from oracles import assert_close, randomise

BOOK = Path(__file__).resolve().parent.parent / "book"
PAGE = "26_images_and_graphs.ipynb"
SIZES = {
    "image_size": 8, "patch_size": 2, "num_channels": 1, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 64, "layer_norm_eps": 1e-5,
}  # fmt: skip
OURS = {
    "embeddings.": "", "cls_token": "first", "position_embeddings": "positions",
    "patch_projection": "embed", "attention.": "self_attention.", "q_proj": "query",
    "k_proj": "key", "v_proj": "value", "o_proj": "output", "layernorm_before": "residual_1.norm",
    "layernorm_after": "residual_2.norm", "layernorm": "norm", "mlp.fc1": "feed_forward.inner",
    "mlp.fc2": "feed_forward.outer",
}  # fmt: skip


@cache
def defined(page):
    """What a page defines in its functions and classes."""
    names = {"patchify": cut_images.reference}
    notebook = nbformat.read(BOOK / page, as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    exec(cells[0].partition("\n\nnotebook.set_up")[0], names)
    for source in cells:
        if source.startswith(("def ", "class ")):
            exec(source.partition("\n\n\n")[0], names)
    return names


def paper():
    """The paper's model and its FLOPs, on the second page."""
    return defined(f"further/{PAGE}")


def in_float64(model):
    return randomise(model.double()).eval()


@torch.no_grad()
def test_the_second_pages_model_is_that_of_hugging_face():
    theirs, ours = in_float64(ViTModel(ViTConfig(**SIZES), False)), paper()["PlainViT"](2).double()
    weights = {}
    for name, weight in theirs.state_dict().items():
        for old, new in OURS.items():
            name = name.replace(old, new)
        weights[name] = weight
    missing, unknown = ours.load_state_dict(weights, strict=False)
    assert (missing, unknown) == (["output.weight", "output.bias"], [])
    ours.output = nn.Identity()
    pictures = torch.randn(3, 8, 8, dtype=torch.float64)
    assert_close(ours(pictures), theirs(pictures[:, None]).last_hidden_state[:, 0])


@torch.no_grad()
def test_the_lessons_model_is_the_papers_with_other_positions():
    theirs, ours = in_float64(paper()["PlainViT"](2)), defined(PAGE)["ViT"]().double()
    weights = theirs.state_dict()
    weights["embed.weight"] = weights["embed.weight"].flatten(1)
    weights["class_token"] = weights.pop("first")[0, 0]
    ours = randomise(ours)
    places = (ours.rows[:, None] + ours.columns).flatten(0, 1)
    theirs.positions.copy_(torch.cat([torch.zeros(1, 32), places])[None])
    del weights["positions"]
    missing, unknown = ours.load_state_dict(weights, strict=False)
    assert (missing, unknown) == (["rows", "columns"], [])
    images = torch.randn(3, 8, 8, dtype=torch.float64)
    assert_close(ours(images), theirs(images))


@pytest.mark.parametrize(("size", "steps"), [(1, 79), (2, 400), (4, 1453)])
def test_the_flops_of_a_picture_are_those_counted(size, steps):
    model, flops = (paper()[name] for name in ("PlainViT", "flops"))
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(size)(torch.zeros(1, 8, 8))
    assert counter.get_total_flops() == flops(size)
    assert round(400 * flops(2) / flops(size)) == steps
