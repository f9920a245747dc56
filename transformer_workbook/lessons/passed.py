"""What a reader has passed, lesson by lesson."""

from annotated_transformer.ground.inputs import StrPath, require_path
from transformer_workbook.chapters.paths import lessons_of
from transformer_workbook.exercises import CHAPTERS, GAPS, TITLES, passed
from transformer_workbook.judge.progress import FILE, read_progress
from transformer_workbook.judge.sentences import in_language, said
from transformer_workbook.lessons.to_do import lessons


def progress_by_lesson(folder: StrPath = ".", path: str | None = None) -> str:
    """Say how many gaps and exercises of each lesson are passed, as the notebooks in a folder know.

    Exercises of the second page are counted by themselves. With a path, its lessons alone.

    Raises:
        InputError: if the file there is no record of exercises, or there is no such path.
    """
    wanted = lessons_of(path) or CHAPTERS
    known = read_progress(require_path("folder", folder) / FILE)
    pages = {stem.partition("_")[2]: page for stem, page in lessons().items()}
    rows = []
    for number, (chapter, names) in enumerate(CHAPTERS.items(), start=1):
        if chapter not in wanted:
            continue
        text = pages[chapter].read_text(encoding="utf-8")
        here = [name for name in names if f"exercises.{name}(" in text]
        parts = {
            said("gaps"): GAPS[chapter],
            said("exercises"): here,
            said("on the second page"): [name for name in names if name not in here],
        }
        told = [
            said("{passed} of {all} {what}", passed=passed(known, which), all=len(which), what=what)
            for what, which in parts.items()
            if which
        ]
        rows.append(f"{number:2}  {in_language(TITLES[chapter])}: {', '.join(told)}")
    if not known:
        rows.append(said("{folder} has no {file}: checks write it.", folder=folder, file=FILE))
    return "\n".join(rows)
