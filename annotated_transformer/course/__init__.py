"""What only the book needs: exercises, experiments on the toy corpus, figures.

Import from here, ``exercises`` and ``mistakes`` included:
``from annotated_transformer.course import ToyTask, exercises``.
"""

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.experiments import (
    BINS,
    ToyTask,
    drawn_in_float64,
    exactly_right,
    share_by_length,
    spread,
    train_briefly,
)
from annotated_transformer.course.explorer import attention_explorer
from annotated_transformer.course.figures import (
    COLOURS,
    arrow,
    box,
    heat_map,
    use_course_style,
)
from annotated_transformer.course.intervals import (
    Interval,
    difference,
    mean_interval,
    paired_difference,
    share_interval,
    verdict,
)
from annotated_transformer.course.listing import show_source
from annotated_transformer.course.notebooks import set_up_notebook
from annotated_transformer.course.tables import table
from annotated_transformer.course.tasks import Verdict

__all__ = [
    "BINS",
    "COLOURS",
    "Exercise",
    "Interval",
    "ToyTask",
    "Verdict",
    "arrow",
    "attention_explorer",
    "box",
    "difference",
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
    "use_course_style",
    "verdict",
]
