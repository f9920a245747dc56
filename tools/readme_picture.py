"""Take the picture of the README from the chapter that computes it.

python tools/readme_picture.py
"""

from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "book" / "01_tokens_and_batches.ipynb"
PICTURE = ROOT / "book" / "_static" / "alignment.svg"


def picture() -> str:
    """Return the chapter's drawing of a gold alignment."""
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code" and "plot_alignment(robot)" in cell.source:
            return next(
                output.data["image/svg+xml"]
                for output in cell.outputs
                if "image/svg+xml" in output.get("data", {})
            )
    raise LookupError(f"{NOTEBOOK} has no cell that calls plot_alignment(robot).")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"{PICTURE}: written")
