"""The rules that a lesson keeps: its parts, what stands open, and how much a page may ask for.

Each rule is a function that lists what breaks it; an empty list is what we want. A lesson that one
does ends with what to remember and keeps `OF_DOING`; one that has not been rewritten yet,
`OF_CHAPTERS`. Both, and the deeper pages, keep `RULES`.
"""

import re
from collections.abc import Iterator

from nbformat import NotebookNode, from_dict
from reading_time import is_visible, reading

from book_rules import code_cells, tags
from transformer_workbook.lessons.gaps import gaps_of
from transformer_workbook.lessons.plain_markdown import to_roles

MOST_WORDS, MOST_LINES, MOST_MINUTES = 2800, 250, 40
LEAST_OF_THE_IDEA = 0.8
LONGEST_CELL = 15
MOST_IMPORTS = {True: 12, False: 3}  # in the first cell, in another

# What a fold of a deeper page says is inside: where the reader may see the output, and where not.
LABELS = {"hide-input": r"Imports|Draw|Table", "hide-cell": r"Source: \w+|✓ .+"}

ASSERT = re.compile(r"^\s*assert\b|\bassert_close\(|\bassert_equal\(", re.MULTILINE)
DRAWING = re.compile(r"\bplt\.|\bax(?:es)?\b|\b(?:heat_map|attention_explorer)\(")
BY_HAND = re.compile(r"\.to_html\(|\bround\(|\.numpy\(\)|\bglue\(|\{[^{}\n]*:[<>^]?\d+[^{}\n]*\}")
TOLERANCE = re.compile(r"\b1e-\d+\b")
DOCUMENTS = re.compile(
    r"[Mm]ind the source|\b(?:lecture )?slides\b|\bstudy notes?\b|\bthe (?:graph )?report\b"
    r"|\bone of the notes\b|\ba paper review\b"
)
MACHINERY = re.compile(
    r"\bother processors\b|\bfloat64\b|\breproducib|\bnbval\b|\bstored outputs?\b|\btolerances?\b"
)
HEADINGS = ["## Common pitfalls", "## Glossary", "## Further reading", "## Next"]
MOST_EXERCISES = 5  # the others come under "More exercises"


def visible(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """Go through the code cells whose source stands open."""
    yield from (cell for cell in code_cells(notebook) if is_visible(cell))


def label(cell: NotebookNode) -> str:
    """Return what the fold of a cell says."""
    return str(cell.metadata.get("mystnb", {}).get("code_prompt_show", ""))


def name(cell: NotebookNode) -> str:
    """Name a cell by its count and its first line."""
    return f"cell {cell.execution_count} ({cell.source.splitlines()[0][:50]})"


def prose(notebook: NotebookNode) -> str:
    """Return all Markdown of a notebook."""
    return "\n\n".join(
        to_roles(cell.source) for cell in notebook.cells if cell.cell_type == "markdown"
    )


def open_proofs(notebook: NotebookNode) -> list[str]:
    """No assert stands open, and none in a cell that no reader can open."""
    return [
        f"{name(cell)} asserts"
        for cell in code_cells(notebook)
        if ASSERT.search(cell.source)
        and (is_visible(cell) or any(tag.startswith("remove") for tag in tags(cell)))
    ]


def open_drawing(notebook: NotebookNode) -> list[str]:
    """No cell that stands open draws."""
    return [f"{name(cell)} draws" for cell in visible(notebook) if DRAWING.search(cell.source)]


def formatting_by_hand(notebook: NotebookNode) -> list[str]:
    """No cell that stands open rounds, aligns columns or writes a table by hand."""
    return [
        f"{name(cell)} has {match.group()}"
        for cell in visible(notebook)
        for match in BY_HAND.finditer(cell.source)
    ]


def long_cells(notebook: NotebookNode) -> list[str]:
    """Every cell that stands open is short, and imports little."""
    found = []
    for number, cell in enumerate(visible(notebook)):
        lines = [line for line in cell.source.splitlines() if line.strip()]
        imports = [line for line in lines if re.match(r"(?:import|from) ", line)]
        whole = cell.source.startswith("class ") and is_done(notebook)
        if len(lines) > (LONGEST_CLASS if whole else LONGEST_CELL):
            found.append(f"{name(cell)} has {len(lines)} lines")
        if len(imports) > MOST_IMPORTS[number == 0]:
            found.append(f"{name(cell)} imports {len(imports)} times")
    return found


def folds_without_label(notebook: NotebookNode) -> list[str]:
    """Every fold says what is inside, open or closed, and is a fold in JupyterLab, too."""
    found = []
    for cell in code_cells(notebook):
        for tag in set(tags(cell)) & LABELS.keys():
            labels = {
                label(cell),
                str(cell.metadata.get("mystnb", {}).get("code_prompt_hide", "")),
            }
            if len(labels) > 1 or not re.fullmatch(LABELS[tag], label(cell)):
                found.append(f"{name(cell)} is tagged {tag} and says {sorted(labels)}")
            if not cell.metadata.get("jupyter", {}).get("source_hidden"):
                found.append(
                    f"{name(cell)} is open in JupyterLab: jupyter.source_hidden is missing"
                )
    return found


def empty_ticks(notebook: NotebookNode) -> list[str]:
    """A tick stands for an assert, its first line says what it asserts, and to what precision."""
    found = []
    for cell in code_cells(notebook):
        ticked, asserts = label(cell).startswith("✓"), bool(ASSERT.search(cell.source))
        if ticked and not asserts:
            found.append(f"{name(cell)} has a tick and asserts nothing")
        if asserts and "hide-cell" in tags(cell) and not ticked:
            found.append(f"{name(cell)} asserts without a tick")
        if ticked and not cell.source.startswith("# "):
            found.append(f"{name(cell)} does not begin with a comment that says its claim")
        code = re.sub(r"(?m)^\s*#.*$", "", cell.source)
        if ticked and set(TOLERANCE.findall(label(cell))) != set(TOLERANCE.findall(code)):
            found.append(f"{name(cell)} says {label(cell)!r}, its code has another tolerance")
    return found


def hidden_code(notebook: NotebookNode) -> list[str]:
    """Nothing is hidden but the call that gives the text its numbers: GitHub folds nothing."""
    return [
        f"{name(cell)} is hidden"
        for cell in code_cells(notebook)
        if not is_visible(cell) and cell.source != "proofs.numbers()"
    ]


def little_of_the_idea(notebook: NotebookNode) -> list[str]:
    """Most of the code is that of the idea: neither proofs nor figures, and none of it hidden."""
    every = [line for cell in code_cells(notebook) for line in cell.source.splitlines() if line]
    idea = [
        line
        for cell in visible(notebook)
        if not ASSERT.search(cell.source) and not DRAWING.search(cell.source)
        for line in cell.source.splitlines()
        if line and not re.match(r"\s*(?:proofs|draw)\.", line)
    ]
    share = len(idea) / len(every)
    return [] if share >= LEAST_OF_THE_IDEA else [f"{share:.0%} of the code is that of the idea"]


def foreign_documents(notebook: NotebookNode) -> list[str]:
    """No lesson quarrels with a document that its readers have never seen."""
    return [match.group() for match in DOCUMENTS.finditer(prose(notebook))]


def machinery(notebook: NotebookNode) -> list[str]:
    """No sentence is about how the book is built."""
    return [match.group() for match in MACHINERY.finditer(prose(notebook))]


def too_much(notebook: NotebookNode) -> list[str]:
    """A page fits into an evening."""
    found = reading(notebook)
    limits = {"words": MOST_WORDS, "lines": MOST_LINES, "minutes": MOST_MINUTES}
    return [
        f"{getattr(found, what)} {what}, {most} are the most"
        for what, most in limits.items()
        if getattr(found, what) > most
    ]


def missing_parts(notebook: NotebookNode) -> list[str]:
    """A chapter ends with exercises, pitfalls, glossary, further reading and what comes next."""
    text = prose(notebook)
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    wanted = ["## Exercises", *HEADINGS]
    if "## More exercises" in headings:
        wanted.insert(1, "## More exercises")
    ends = headings[-len(wanted) :]
    found = [] if ends == wanted else [f"ends with {ends}"]
    first, _, _ = text.partition("## More exercises")
    if (asked := len(re.findall(r"(?m)^\*\*\d+\. ★", first))) > MOST_EXERCISES:
        found.append(f'asks {asked} exercises before "More exercises"')
    exercises = re.findall(r"(?m)^\*\*\d+\. .*", text)
    found += [f"no stars: {line}" for line in exercises if not re.match(r"\*\*\d+\. ★{1,3} ", line)]
    numbers = [int(line.strip("*").partition(".")[0]) for line in exercises]
    if numbers != [*range(1, len(numbers) + 1)]:
        found.append(f"exercises are numbered {numbers}")
    return found + ([] if exercises else ["no exercises"])


# --- a lesson that one does ----------------------------------------------------------------------

REMEMBER = "## To remember"
PARTS = ["## So, in practice", REMEMBER, "## Exercises", "## Next"]
MOST_WORDS_TO_DO, MOST_LINES_TO_DO, MOST_LINES_OF_A_SYSTEM = 1500, 130, 180
SYSTEMS = "The whole Transformer", "Training", "Translation"  # 12, 13, 15: their titles begin so
MOST_EXERCISES_TO_DO, MOST_LIVE, LONGEST_CLASS, LONGEST_GAP = 3, 6, 22, 8
LIVE = "live"
STATISTICS = re.compile(
    r"\b(?:confidence|intervals?|Bonferroni|seeds?|learning-rate search(?:es)?)\b"
)
BEHIND_GLASS = re.compile(
    r"\b(?:train_once|train_briefly|compare|ToyTask|SoftLookup|forced_attention)\b"
    r"|float64|\.double\(\)|manual_seed"
)


def is_done(notebook: NotebookNode) -> bool:
    """Whether a lesson has the form in which its reader writes and trains."""
    return REMEMBER in prose(notebook).splitlines()


def until_exercises(notebook: NotebookNode) -> NotebookNode:
    """Return a lesson up to its exercises."""
    kept = []
    for cell in notebook.cells:
        before, heading, _ = cell.source.partition("## Exercises")
        kept.append(cell | {"source": before})
        if heading and cell.cell_type == "markdown":
            break
    return from_dict(notebook | {"cells": kept})


def parts_of_doing(notebook: NotebookNode) -> list[str]:
    """A lesson says what to do in practice and what to remember, asks little, and leads on."""
    text = prose(notebook)
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    found = [] if [line for line in headings if line in PARTS] == PARTS else [f"has {headings}"]
    found += [] if headings[-1:] == PARTS[-1:] else [f"ends with {headings[-1]}"]
    kept = text.partition(REMEMBER)[2].partition("## ")[0]
    if (sentences := len(re.findall(r"(?m)^\d\. ", kept))) != 3:
        found.append(f"has {sentences} things to remember")
    exercises = re.findall(r"(?m)^\*\*\d+\. ★{1,3} ", text)
    if not 1 <= len(exercises) <= MOST_EXERCISES_TO_DO:
        found.append(f"has {len(exercises)} exercises")
    if not re.search(r"\]\(further/", text):
        found.append("leads to no second page")
    return found


def too_much_to_do(notebook: NotebookNode) -> list[str]:
    """A lesson is short up to its exercises."""
    lesson = until_exercises(notebook)
    found = reading(lesson)
    system = notebook.cells[0].source.removeprefix("# ").startswith(SYSTEMS)
    most = MOST_LINES_OF_A_SYSTEM if system else MOST_LINES_TO_DO
    faults = [f"{found.words} words"] if found.words > MOST_WORDS_TO_DO else []
    faults += [f"{found.lines} lines"] if found.lines > most else []
    return faults


def behind_glass(notebook: NotebookNode) -> list[str]:
    """No cell computes where the reader does not see it, and no sentence is about statistics."""
    lesson = until_exercises(notebook)
    found = [match.group() for match in STATISTICS.finditer(prose(lesson))]
    return found + [
        f"{name(cell)} has {match.group()}"
        for cell in code_cells(lesson)
        for match in BEHIND_GLASS.finditer(cell.source)
    ]


def pictures(notebook: NotebookNode) -> list[str]:
    """A lesson has one picture, or none."""
    shown = [
        name(cell)
        for cell in code_cells(notebook)
        if any(k.startswith("image/") for o in cell.outputs for k in o.get("data", {}))
    ]
    return shown[1:]


def live_cells(notebook: NotebookNode) -> list[str]:
    """What differs between machines is little, and a cell below it is compared."""
    cells = code_cells(notebook)
    live = [LIVE in tags(cell) for cell in cells]
    found = [f"{sum(live)} live cells"] if sum(live) > MOST_LIVE else []
    for i, cell in enumerate(cells):
        if live[i]:
            below = next(
                (c for c, is_live in zip(cells[i:], live[i:], strict=True) if not is_live), None
            )
            if below is None or not below.outputs:
                found.append(f"{name(cell)} is live, and no cell below it is compared")
    return found


def gaps(notebook: NotebookNode) -> list[str]:
    """The decisive lines are the reader's, are few, and cannot be copied from the line above."""
    found = []
    for gap in gaps_of(notebook):
        if not 1 <= len(gap.lines) <= LONGEST_GAP:
            found.append(f"{gap.check} has {len(gap.lines)} lines")
        if not gap.hint:
            found.append(f"{gap.check} has no hint")
        above = gap.source.splitlines()[: gap.ranges[0][0] - 1]
        if gap.lines[0] in above[-1:]:
            found.append(f"{gap.check} begins with the line above it")
    return found


RULES = [
    open_proofs,
    long_cells,
    folds_without_label,
    empty_ticks,
    foreign_documents,
    machinery,
    live_cells,
]

OF_CHAPTERS = [
    open_drawing,
    formatting_by_hand,
    too_much,
    hidden_code,
    little_of_the_idea,
    missing_parts,
]

OF_DOING = [parts_of_doing, too_much_to_do, behind_glass, pictures, gaps]
