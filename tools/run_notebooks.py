"""Run notebooks from the first cell to the last and store their outputs in one normal form.

The same code gives the same bytes: no times, no versions, no split streams. A notebook that writes
to the standard error stream fails, because a reader should meet no warning.

    python tools/run_notebooks.py book/01_tokens_and_batches.ipynb
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import nbformat
import psutil
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

import launch_cell
import notebook_status
import plain_notebooks
from transformer_workbook.judge.progress import FILE

ROOT = Path(__file__).resolve().parent.parent
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
KEPT_CELL_METADATA = {"blank", "jupyter", "mystnb", "tags"}


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with nothing in it that an editor, a machine or a clock has put there."""
    notebook = nbformat.from_dict(notebook)
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.metadata = {k: v for k, v in cell.metadata.items() if k in KEPT_CELL_METADATA}
    nbformat.validate(notebook)
    return notebook


def text(notebook: NotebookNode) -> str:
    """Return the notebook as it stands in its file."""
    return nbformat.writes(notebook).rstrip("\n") + "\n"


class Watch(Thread):
    """Looks, five times a second, at what a kernel uses."""

    def __init__(self, client: NotebookClient) -> None:
        super().__init__(daemon=True)
        self.client, self.ended = client, Event()
        self.seconds = self.megabytes = 0.0

    def run(self) -> None:
        """Keep the seconds of the processor, and the most memory of the kernel and its children."""
        kernel = psutil.Process(self.client.km.provisioner.pid)
        while not self.ended.wait(0.2):
            try:
                # A clock on the wall also counts what others do.
                self.seconds = sum(kernel.cpu_times()[:2])
                family = [kernel, *kernel.children(recursive=True)]
                used = sum(process.memory_info().rss for process in family) / 1e6
            except psutil.NoSuchProcess:  # one of them has just ended
                continue
            self.megabytes = max(self.megabytes, used)


def run(path: Path, runs: list[notebook_status.Run] | None = None) -> str | None:
    """Execute one notebook, store it and describe its run; return what went wrong, if anything."""
    mine = path.parent / FILE
    if mine.exists():
        return f"{path}: {mine} says what you have passed; move it away, or it will be stored."
    notebook = nbformat.read(path, as_version=4)
    if path.resolve().is_relative_to(ROOT):
        folder = path.resolve().parent.relative_to(ROOT).as_posix()
        launch_cell.with_launch_cell(notebook, folder, launch_cell.address())
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        timeout=1200,
        on_notebook_start=lambda **_: watch.start(),
    )
    watch = Watch(client)
    try:
        client.execute()
    except CellExecutionError as error:
        return f"{path}: {error}"
    finally:
        watch.ended.set()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                return f"{path}: cell {cell.execution_count} writes to stderr:\n{output.text}"
    if path.resolve().is_relative_to(ROOT):
        plain_notebooks.make_plain(notebook, plain_notebooks.way_up(path))
    mine.unlink(missing_ok=True)  # the checks of the gaps have been passed
    path.write_text(text(normalise(notebook)), encoding="utf-8")
    if runs is not None:
        runs.append(notebook_status.measured(path, watch.seconds, watch.megabytes))
    return None


def main(paths: list[Path]) -> int:
    """Execute the notebooks, two at a time, and record their runs; return the exit status."""
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # the debugger's warning on start
    failures = 0
    runs: list[notebook_status.Run] = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        stored = pool.map(lambda path: run(path, runs), paths)
        for path, problem in zip(paths, stored, strict=True):
            print(problem or f"{path}: stored")
            failures += problem is not None
    notebook_status.write(runs)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
