"""The published model of the lesson, and what its cells say where it is not there."""

from pathlib import Path

from annotated_transformer.exchange import MINILM
from transformer_workbook.judge.open_gaps import note_need
from transformer_workbook.judge.sentences import said
from transformer_workbook.places import course_file

FOLDER = ".weights/all-MiniLM-L6-v2"


def published_model() -> Path:
    """Find the files of all-MiniLM-L6-v2, unchanged; without them, the cells below say so.

    Raises:
        InputError: if they are not there, or one is damaged.
    """
    needed = said("○ this cell needs the published model: `make weights` fetches it (83 MB).")
    note_need(FOLDER, False, needed)
    folder = MINILM.verify(course_file(FOLDER))
    note_need(FOLDER, True, needed)
    return folder
