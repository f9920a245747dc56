"""A package of one's own: empty to begin with, made from this package, and checked step by step.

Import from here. Inside, each upon those before: ``teaching`` (which modules a reader writes),
``skeleton`` (their empty source), ``checks`` (what they are asked), ``loading`` (their code in the
place of ours), ``judging`` (which mistake it is), ``bench`` (another process for all this),
``report``, ``using`` (their code in our programs).
"""

from transformer_workbook.own.bench import findings
from transformer_workbook.own.judging import Finding
from transformer_workbook.own.report import Report, check_package
from transformer_workbook.own.skeleton import start
from transformer_workbook.own.teaching import PACKAGE, WRITTEN, asked_for
from transformer_workbook.own.using import with_package

__all__ = [
    "PACKAGE",
    "WRITTEN",
    "Finding",
    "Report",
    "asked_for",
    "check_package",
    "findings",
    "start",
    "with_package",
]
