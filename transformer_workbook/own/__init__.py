"""The reader's own package: made as an empty copy of this package, and checked step by step.

Import from here. Each module uses only those before it: ``teaching`` (what a reader writes),
``definitions`` (what a module consists of), ``skeleton`` (their empty source), ``checks`` (the
questions to them), ``mistakes`` (ours, with a change), ``loading`` (their code in place of ours),
``judging`` (which mistake it is), ``placing`` (in which function), ``bench`` (another process for
all this), ``report``, ``showing`` (a question as a program), ``using`` (their code in our
programs).
"""

from transformer_workbook.own.bench import findings
from transformer_workbook.own.judging import Finding
from transformer_workbook.own.loading import alone
from transformer_workbook.own.report import Report, check_package
from transformer_workbook.own.showing import question
from transformer_workbook.own.skeleton import start
from transformer_workbook.own.teaching import PACKAGE, WRITTEN, asked_for
from transformer_workbook.own.using import with_package

__all__ = [
    "PACKAGE",
    "WRITTEN",
    "Finding",
    "Report",
    "alone",
    "asked_for",
    "check_package",
    "findings",
    "question",
    "start",
    "with_package",
]
