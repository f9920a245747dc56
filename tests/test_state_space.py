"""The layer of the page on selective state spaces is that of Mamba-2."""

from pathlib import Path

import nbformat
import torch
from torch import nn
from torch.nn import functional as F
from transformers import Mamba2Config
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

from annotated_transformer.linear_attention import linear_attention
from oracles import assert_close, randomise

PAGE = Path(__file__).resolve().parent.parent / "book" / "deeper" / "state_space.ipynb"
OURS = ["enter", "conv", "step_bias", "log_rate", "skip", "leave"]
THEIRS = ["in_proj", "conv1d", "dt_bias", "A_log", "D", "out_proj"]


def mamba(hidden_size, num_heads, head_dim, state_size):
    config = Mamba2Config(
        hidden_size=hidden_size, num_heads=num_heads, head_dim=head_dim, state_size=state_size,
        n_groups=1, expand=num_heads * head_dim // hidden_size, num_hidden_layers=1, chunk_size=4,
    )  # fmt: skip
    return randomise(Mamba2Mixer(config, 0)).double().eval()


def with_weights_of(theirs, ours):
    weights = theirs.state_dict()
    for old, new in zip(THEIRS, OURS, strict=True):
        weights = {name.replace(old, new): weight for name, weight in weights.items()}
    ours.double().load_state_dict(weights | {"skip": weights["skip"].view_as(ours.skip)})
    return ours


@torch.no_grad()
def test_the_layer_of_the_page_is_that_of_hugging_face():
    known = {"torch": torch, "nn": nn, "F": F, "linear_attention": linear_attention}
    for cell in nbformat.read(PAGE, as_version=4).cells:
        if cell.cell_type == "code" and cell.source.startswith(("class ", "def scan", "def empty")):
            exec(cell.source, known)
    theirs, x = mamba(12, 3, 8, 5), torch.randn(2, 9, 12).double()
    ours = with_weights_of(theirs, known["Mamba2"](12, 3, d_k=5, d_v=8))
    past, outputs = [part.double() for part in ours.empty(2)], []
    for part in x.split([4, 1, 1, 3], dim=1):
        output, past = ours.extend(part, past)
        outputs.append(output)
    # In float64, too, the library normalises in float32.
    assert_close(torch.cat(outputs, dim=1), theirs(x), 1e-5)
