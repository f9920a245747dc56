"""The gaps of a lesson on the site: marked, blank at first, wrong fillings below the check."""

import os
from html import escape
from pathlib import Path
from textwrap import dedent
from typing import Any

import torch
from docutils import nodes
from editions import SOURCE
from public_address import lesson_launchers
from sphinx.application import Sphinx
from sphinx.locale import _

from annotated_transformer.ground.sentences import LANGUAGE_VARIABLE
from transformer_workbook.lessons.fillings import CHAPTERS, judged, wrong_fillings
from transformer_workbook.lessons.gaps import Gap, Notebook, gaps_of
from transformer_workbook.lessons.to_do import read, write_to_do

SHOWN = 3
"""Wrong fillings that a page shows; the others are for the tests."""


def raw(html: str) -> nodes.raw:
    """Make a node of HTML."""
    return nodes.raw("", html, format="html")


def mark(cell: nodes.container, gap: Gap) -> None:
    """Mark the lines of a gap, and say above them whose they are."""
    block = cell.next_node(nodes.literal_block)
    lines = [line for first, last in gap.ranges for line in range(first, last + 1)]
    block["highlight_args"] = {"hl_lines": lines}
    cell["classes"].append("gap")
    told = _("yours to write")
    show = _("Show the lines")
    cell.insert(0, raw(f'<p class="yours">{told} <button hidden>{show}</button></p>'))


def show_fillings(cell: nodes.container, notebook: Notebook, gap: Gap, lines: list[str]) -> None:
    """Fold some wrong fillings under a check, each with what the check says to it."""
    title = _("What it says to other lines")
    cell += raw(f'<details class="fillings"><summary>{escape(title)}</summary>')
    for written in lines[:SHOWN]:
        cell += nodes.literal_block(written, dedent(written).strip("\n"), language="python")
        verdict = judged(notebook, gap, gap.filled(written))
        cell += raw(verdict._repr_html_())
    cell += raw("</details>")


def show_gaps(app: Sphinx, document: nodes.document) -> None:
    """Show the gaps of a notebook."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb" or not (gaps := gaps_of(notebook := read(path))):
        return
    chapter = path.stem[3:]
    app.env.note_dependency(str(CHAPTERS / chapter / "fillings.toml"))
    cells = {
        cell["cell_index"]: cell
        for cell in document.findall(nodes.container)
        if cell.get("nb_element") == "cell_code"
    }
    numbers = sorted(cells)
    for gap in gaps:
        mark(cells[gap.cell], gap)
        check = cells[numbers[numbers.index(gap.cell) + 1]]
        if lines := wrong_fillings(chapter).get(gap.check):
            show_fillings(check, notebook, gap, lines)


def offer_to_do(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], document: nodes.document | None
) -> None:
    """Write the notebook to do beside the lesson's, and offer both."""
    path = Path(app.env.doc2path(page))
    if document is None or path.suffix != ".ipynb" or not gaps_of(read(path)):
        return
    file = Path("_sources", Path(page).parent, "to_do", path.name)
    target = Path(app.outdir) / file
    target.parent.mkdir(parents=True, exist_ok=True)
    site = app.config.html_baseurl

    def leads(page: str, _suffix: str) -> str:
        return f"{site}book/{page}.html" if site else ""

    write_to_do(path, target, leads, app.config.language)
    repository = app.config.html_theme_options.get("repository_url", "")
    folder = "" if app.config.language == SOURCE else f"{app.config.language}/"
    buttons = {
        "download-buttons": {
            _("Download the notebook to do"): context["pathto"](file.as_posix(), 1)
        },
        "launch-buttons": {
            _("Do the lesson on {place}").format(place=place): address
            for place, address in lesson_launchers(repository, folder + path.name).items()
        },
    }
    for group in context["header_buttons"]:
        for told, address in reversed(buttons.get(group.get("label"), {}).items()):
            button = {"type": "link", "url": address, "icon": "fas fa-pen", "label": "to-do-button"}
            group["buttons"].insert(0, button | {"text": _("to do"), "tooltip": told})


def say_it_in_the_language(app: Sphinx, _config: object) -> None:
    """Let the checks speak the language of the edition."""
    os.environ[LANGUAGE_VARIABLE] = app.config.language


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    torch.set_num_threads(1)  # pages are read in forks, where the threads of the parent are gone
    app.connect("config-inited", say_it_in_the_language)
    app.connect("doctree-read", show_gaps)
    app.connect("html-page-context", offer_to_do, priority=600)  # after the theme's buttons
    app.add_js_file("gaps.js")
    return {"parallel_read_safe": True}
