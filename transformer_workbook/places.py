"""Where the files of the course are that no package holds: the records and the checkpoints."""

from pathlib import Path

from annotated_transformer.ground.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the repository, if this package runs from one."""

SHIPPED = Path(__file__).resolve().parent / "course"
"""What an installed wheel has of the course: the lessons to do, and what they read."""


def course_file(name: str) -> Path:
    """Find a file or folder of the course, such as ``records/heads.csv``, from any folder.

    It may be in the working folder, in one above it, in the repository of this package, or in its
    wheel; and in each of them in ``book``, the folder of the lessons.

    Raises:
        InputError: if it is in none of them.
    """
    here = Path.cwd()
    for folder in (here, *here.parents, ROOT, SHIPPED):
        for path in (folder / name, folder / "book" / name):
            if path.exists():
                return path
    raise InputError(
        f"{name} is neither in {here}, nor above it, nor beside the package: run the notebook in "
        "the course's repository, where its records and checkpoints are."
    )
