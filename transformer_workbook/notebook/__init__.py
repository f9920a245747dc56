"""What the notebooks use to draw, to show and to train.

Import from here: ``from transformer_workbook.notebook import ToyTask, table``.
"""

from transformer_workbook.notebook.aloud import aloud
from transformer_workbook.notebook.comparisons import compare, comparisons
from transformer_workbook.notebook.experiments import (
    BINS,
    ToyTask,
    drawn_in_float64,
    exactly_right,
    share_by_length,
    spread,
    train_briefly,
)
from transformer_workbook.notebook.explorer import attention_explorer
from transformer_workbook.notebook.figures import COLOURS, arrow, box, heat_map, use_course_style
from transformer_workbook.notebook.intervals import (
    Interval,
    difference,
    mean_interval,
    paired_difference,
    share_interval,
)
from transformer_workbook.notebook.listing import show_source
from transformer_workbook.notebook.pytorch import differs_from_torch
from transformer_workbook.notebook.setup import set_up_notebook
from transformer_workbook.notebook.tables import table
from transformer_workbook.notebook.trained import train_once
from transformer_workbook.places import course_file

__all__ = [
    "BINS",
    "COLOURS",
    "Interval",
    "ToyTask",
    "aloud",
    "arrow",
    "attention_explorer",
    "box",
    "compare",
    "comparisons",
    "course_file",
    "difference",
    "differs_from_torch",
    "drawn_in_float64",
    "exactly_right",
    "heat_map",
    "mean_interval",
    "paired_difference",
    "set_up_notebook",
    "share_by_length",
    "share_interval",
    "show_source",
    "spread",
    "table",
    "train_briefly",
    "train_once",
    "use_course_style",
]
