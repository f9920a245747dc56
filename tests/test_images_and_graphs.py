"""Pictures as tokens: the lesson's Vision Transformer and that of the records, beside oracles."""

from pathlib import Path

import nbformat
import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import ViTConfig, ViTModel

from oracles import assert_close, randomise
from records import digits
from records.costs import operations
from transformer_workbook.proofs import images_and_graphs as proofs

LESSON = Path(__file__).resolve().parent.parent / "book" / "26_images_and_graphs.ipynb"
OURS = {
    "embeddings.cls_token": "first",
    "embeddings.position_embeddings": "positions",
    "embeddings.patch_embeddings.projection": "embed",
    "attention.q_proj": "self_attention.query",
    "attention.k_proj": "self_attention.key",
    "attention.v_proj": "self_attention.value",
    "attention.o_proj": "self_attention.output",
    "layernorm_before": "residual_1.norm",
    "layernorm_after": "residual_2.norm",
    "layernorm": "norm",
    "mlp.fc1": "feed_forward.inner",
    "mlp.fc2": "feed_forward.outer",
}


@pytest.fixture
def page():
    """What the lesson defines."""
    names = {}
    cells = [cell for cell in nbformat.read(LESSON, as_version=4).cells if cell.cell_type == "code"]
    exec(cells[0].source.partition("\n\nset_up")[0], names)
    for cell in cells:
        if cell.source.startswith(("def ", "class ")):
            exec(cell.source.partition("\n\n\n")[0], names)
    return names


def in_float64(model):
    return randomise(model.double()).eval()


@torch.no_grad()
def test_the_lessons_model_is_that_of_hugging_face(page):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    picture = {"image_size": 8, "patch_size": 2, "num_channels": 1, "layer_norm_eps": 1e-5}
    config = ViTConfig(**sizes, **picture, intermediate_size=64)
    theirs, ours = (in_float64(m) for m in (ViTModel(config, False), page["PlainViT"](2)))
    weights = {}
    for name, weight in theirs.state_dict().items():
        for old, new in OURS.items():
            name = name.replace(old, new)
        weights[name] = weight.flatten(1) if name == "embed.weight" else weight
    missing, unknown = ours.load_state_dict(weights, strict=False)
    assert (missing, unknown) == (["output.weight", "output.bias"], [])
    ours.output = nn.Identity()
    pictures = torch.randn(3, 8, 8, dtype=torch.float64)
    assert_close(ours(pictures), theirs(pictures[:, None]).last_hidden_state[:, 0])


@torch.no_grad()
def test_the_records_train_the_lessons_model(page):
    ours, mine = in_float64(digits.VisionTransformer(2, "learned")), page["PlainViT"](2).double()
    weights = ours.state_dict()
    weights["positions"] = weights.pop("positions.table")[None]
    mine.load_state_dict(weights)
    pictures = torch.randn(3, 8, 8, dtype=torch.float64)
    assert_close(ours(digits.cut(pictures, 2)), mine(pictures))


@torch.no_grad()
def test_learned_positions_can_follow_a_shuffle():
    model, order = in_float64(digits.VisionTransformer(2, "learned")), torch.randperm(16)
    patches = torch.randn(3, 16, 4, dtype=torch.float64)
    before, table = model(patches), model.positions.table
    table[1:] = table[1:][order]
    assert_close(model(patches[:, order]), before)


@pytest.mark.parametrize("of", ["page", "records"])
def test_axial_positions_turn_by_row_and_column(page, of):
    proofs.axial(page["AxialAttention"] if of == "page" else digits.AxialAttention)


@pytest.mark.parametrize("patch", [1, 2, 4])
def test_the_flops_of_a_picture_are_those_counted(page, patch):
    model = digits.VisionTransformer(patch, "learned")
    with sdpa_kernel(SDPBackend.MATH):
        counted = operations(model, torch.zeros(1, (8 // patch) ** 2, patch**2))
    assert counted == digits.flops(patch) == page["flops"](patch)


def test_no_picture_of_the_tests_is_learned_from():
    learn, validate, test = (set(map(str, x.tolist())) for x, _ in digits.split(1))
    assert not test & (learn | validate)
    assert not learn & validate
