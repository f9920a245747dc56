"""The reader's own package: made as an empty copy of this package, and checked step by step.

Import from here. Each module uses only those before it: ``syllabus`` (what a reader writes),
``definitions`` (what a module consists of), ``skeleton`` (their empty source), ``checks`` (the
questions to them), ``mistakes`` (ours, with a change), ``loader`` (their code in place of ours),
``judgement`` (which mistake it is), ``localisation`` (in which function), ``bench`` (another
process for all this), ``report``, ``programs`` (a question as a program), ``launcher`` (their code
in our programs).
"""

from transformer_workbook.own.bench import findings
from transformer_workbook.own.judgement import Finding
from transformer_workbook.own.launcher import with_package
from transformer_workbook.own.loader import alone
from transformer_workbook.own.programs import question
from transformer_workbook.own.report import Report, check_package
from transformer_workbook.own.skeleton import start
from transformer_workbook.own.syllabus import PACKAGE, WRITTEN, asked_for

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
