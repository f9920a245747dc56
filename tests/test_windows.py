"""The mask of the page on windows, and the sink logit of its record, are those of Hugging Face."""

from pathlib import Path
from types import SimpleNamespace

import nbformat
import torch
from transformers.masking_utils import sliding_window_overlay
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

from annotated_transformer.masking import causal_mask
from oracles import assert_close
from records.sinks import CutAttention

PAGE = Path(__file__).resolve().parent.parent / "book" / "deeper" / "windows.ipynb"


def test_the_mask_of_the_page_is_a_band_and_the_first_columns():
    known = {"torch": torch, "causal_mask": causal_mask}
    cells = nbformat.read(PAGE, as_version=4).cells
    exec(next(cell.source for cell in cells if "def window_mask" in cell.source), known)
    near = sliding_window_overlay(3)
    for sinks in (0, 2):
        expected = [
            [k <= q and (near(0, 0, q, k) or k < sinks) for k in range(7)] for q in range(7)
        ]
        assert known["window_mask"](7, 3, sinks)[0, 0].tolist() == expected


def test_a_sink_logit_is_that_of_gpt_oss():
    query, key, value = torch.randn(3, 2, 4, 9, 5).double()
    logit = torch.randn(4, 1, 1).double()
    ours = CutAttention(logit)
    ours.window, ours.kept = 3, [1]
    near = causal_mask(9).triu(-2)
    near[..., 1] = causal_mask(9)[..., 1]
    layer = SimpleNamespace(num_key_value_groups=1, sinks=logit.flatten(), training=False)
    mask = torch.zeros(near.shape).double().masked_fill(~near, -torch.inf)
    theirs, _ = eager_attention_forward(layer, query, key, value, mask, 5**-0.5)
    assert_close(ours(query, key, value, causal_mask(9)), theirs.transpose(1, 2), 1e-12)
