"""Faults: what fails in our own code is told as ours, never as a verdict on the reader's."""

import traceback

from transformer_workbook.judge.sentences import said

FAULT = said("this check itself failed, not your code; please report it, with these lines.")


def trace_of(error: BaseException) -> str:
    """Write an exception with its traceback."""
    return "".join(traceback.format_exception(error)).rstrip()
