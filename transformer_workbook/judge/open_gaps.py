"""Open gaps: while one is not passed, what fails below it says which, and "run all" goes on.

A file that is not on this machine is such a gap.
"""

from types import TracebackType
from typing import Any

from transformer_workbook.judge.progress import in_a_notebook
from transformer_workbook.judge.sentences import said

OPEN: dict[str, str] = {}
"""What a cell that fails says, by the checks that were run and have not been passed yet, in the
order of the page."""


def note_gap(name: str, passed: bool) -> None:
    """Remember whether a gap has been passed."""
    note_need(
        name,
        passed,
        said("○ this cell needs `{name}`, which you have not passed above.", name=name),
    )


def note_need(name: str, there: bool, told: str) -> None:
    """Remember whether something is there, and what a cell that fails without it says."""
    if not in_a_notebook():
        return
    from IPython import get_ipython

    shell = get_ipython()
    before = bool(OPEN)
    OPEN.pop(name, None)
    if not there:
        OPEN[name] = told
    if OPEN and not before:
        shell.set_custom_exc((Exception,), _tell)
        shell.events.register("post_run_cell", _go_on)
    if before and not OPEN:
        shell.set_custom_exc((), None)
        shell.events.unregister("post_run_cell", _go_on)


def _tell(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """Say which gap is open, and the error in one line, in place of a traceback.

    The error may be the gap's own; where Python cannot read a line, it shows the line.
    """
    if isinstance(error, SyntaxError):
        shell.showsyntaxerror()
    else:
        print(next(iter(OPEN.values())), f"{kind.__name__}: {error}", sep="\n")


def _go_on(result: Any) -> None:
    """Let Jupyter take the cell for one that did not fail, so that it runs those below."""
    if OPEN and isinstance(result.error_in_exec, Exception):
        result.error_in_exec = None
