"""The cell with which a notebook on its own, as on Colab, fetches the course.

It is the first code cell of every notebook if the repository has an address. If
the package is installed it does nothing.
"""

from pathlib import Path

import yaml
from nbformat import NotebookNode, from_dict

ROOT = Path(__file__).resolve().parent.parent
ID = "launch"
SOURCE = """\
# Colab has this notebook alone, so the course is fetched. Elsewhere this
# does nothing.
from importlib.util import find_spec

if find_spec("annotated_transformer") is None:
    !git clone --quiet --depth 1 {address} course
    %pip install --quiet "./course[notebooks]"
    %cd -q course/{folder}"""


def address() -> str:
    """Return the repository's address, which may be empty."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return str(settings["repository"]["url"])


def source(address: str, folder: str) -> str:
    """Return the code of the cell for a notebook in a folder of the repository."""
    return SOURCE.format(address=address, folder=folder)


def with_launch_cell(notebook: NotebookNode, folder: str, address: str) -> NotebookNode:
    """Put the cell under the title of a notebook, or remove it if there is no address."""
    notebook.cells = [cell for cell in notebook.cells if cell.get("id") != ID]
    if address:
        cell = {"cell_type": "code", "id": ID, "metadata": {"tags": ["remove-cell"]}}
        cell |= {"execution_count": None, "outputs": [], "source": source(address, folder)}
        notebook.cells.insert(1, from_dict(cell))
    return notebook
