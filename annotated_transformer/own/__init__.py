"""A package of one's own: empty to begin with, made from this package, and checked step by step.

Import from here. Inside, each upon those before: ``teaching`` (which modules a reader writes),
``skeleton`` (their empty source), ``checks`` (what they are asked), ``loading`` (their code in the
place of ours), ``judging`` (which mistake it is), ``bench`` (another process for all this),
``report``, ``using`` (their code in our programs).
"""

from annotated_transformer.own.bench import findings
from annotated_transformer.own.judging import Finding
from annotated_transformer.own.report import Report, check_package
from annotated_transformer.own.skeleton import start
from annotated_transformer.own.teaching import PACKAGE, WRITTEN, asked_for
from annotated_transformer.own.using import with_package

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
