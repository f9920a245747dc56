"""Setup: what the first code cell of every chapter calls."""

import os

import torch

from annotated_transformer.ground.errors import InputError
from transformer_workbook.notebook.figures import use_course_style

THREADS = "ANNOTATED_TRANSFORMER_THREADS"
"""The environment variable with the number of threads that a notebook may use."""


def set_up_notebook() -> None:
    """Set the style and the seed, print three decimals, and use one thread or ``THREADS``.

    The stored outputs are the same with two (``make portability``); one is enough for the small
    models, and lets the tests run two notebooks at once.

    Raises:
        InputError: if the variable is not a number above 0.
    """
    threads = os.environ.get(THREADS, "1")
    if not threads.isdecimal() or int(threads) < 1:
        raise InputError(f"{THREADS} is {threads!r}, it must be a number of at least 1.")
    torch.set_num_threads(int(threads))
    torch.set_printoptions(precision=3, sci_mode=False)  # type: ignore[no-untyped-call]
    torch.manual_seed(0)
    use_course_style()
