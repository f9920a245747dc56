"""The mask of the page on windows is that of Hugging Face."""

from pathlib import Path

import nbformat
import torch
from transformers.masking_utils import sliding_window_overlay

from annotated_transformer.masking import causal_mask

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
