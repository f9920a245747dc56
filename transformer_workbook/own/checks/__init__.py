"""Checks: the questions to every module of a reader's package, with an oracle for each.

Import from here. Each module asks about the one of its name; ``check`` has what they share.
"""

from importlib import import_module

from transformer_workbook.own.checks.check import Check
from transformer_workbook.own.syllabus import WRITTEN

CHECKS: dict[str, tuple[Check, ...]] = {
    module: import_module(f"{__name__}.{module}").CHECKS for module in WRITTEN
}

__all__ = ["CHECKS", "Check"]
