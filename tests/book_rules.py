"""The rules that every notebook and page of the book keeps.

Each rule is a function that lists what breaks it; an empty list is what we want.
"""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_role import myst_role_plugin
from nbformat import NotebookNode

from plain_notebooks import glued
from transformer_workbook.lessons.plain_markdown import GLUED

# Directives whose body is not prose. A body of any other directive is read like a page.
NOT_PROSE = {
    "bibliography",
    "code",
    "code-block",
    "code-cell",
    "glossary-by-letter",
    "math",
    "raw",
    "toctree",
}

# A number with decimals, and what may stand before it: "PyTorch 2.6" and "Section 3.2" are names.
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?!\w|\.\d)")
NAMED = re.compile(
    r"(?:Python|PyTorch|Book|CUDA|NumPy|version|versions|[Ss]ections?|[Cc]hapters?|[Tt]ables?"
    r"|[Ff]igures?|[Ee]quations?|Algorithm|Appendix|CC BY|Llama|§)\s*$"
)
MACHINE_PATH = re.compile(
    r"(?<![\w.:/<])/(?:home|root|Users|tmp|var|usr|opt|mnt|srv|work|builds|private)/[\w.-]+"
    r"|\b[A-Z]:\\\w"
)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells that have something in them."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def tags(cell: NotebookNode) -> list[str]:
    """Return the tags of a cell."""
    return cell.metadata.get("tags", [])


def not_executed_in_order(notebook: NotebookNode) -> list[str]:
    """Cells ran once, first to last: a cell that never ran would be compared with nothing."""
    return [
        f"cell {number} has the execution count {cell.execution_count}: {cell.source[:60]!r}"
        for number, cell in enumerate(code_cells(notebook), start=1)
        if cell.execution_count != number
    ]


def empty_code_cells(notebook: NotebookNode) -> list[str]:
    """No code cell is empty."""
    return [
        f"cell {number} is empty"
        for number, cell in enumerate(notebook.cells, start=1)
        if cell.cell_type == "code" and not cell.source.strip()
    ]


def stored_errors(notebook: NotebookNode) -> list[str]:
    """An error is shown only where the cell says that it is wanted."""
    return [
        f"cell {cell.execution_count} raises {output.ename}: {output.evalue}"
        for cell in code_cells(notebook)
        for output in cell.outputs
        if output.output_type == "error" and "raises-exception" not in tags(cell)
    ]


def stderr_outputs(notebook: NotebookNode) -> list[str]:
    """No reader meets a warning."""
    return [
        f"cell {cell.execution_count}: {output.text[:200]}"
        for cell in code_cells(notebook)
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stderr"
    ]


def output_texts(cell: NotebookNode) -> Iterator[str]:
    """Give every text of the outputs of a cell."""
    for output in cell.outputs:
        yield output.get("text", "")
        yield "\n".join(output.get("traceback", []))
        yield from (text for text in output.get("data", {}).values() if isinstance(text, str))


def machine_paths(notebook: NotebookNode) -> list[str]:
    """No output names a folder of the machine that wrote it."""
    return [
        f"cell {cell.execution_count} shows {match.group()}"
        for cell in code_cells(notebook)
        for text in output_texts(cell)
        for match in MACHINE_PATH.finditer(text)
    ]


def ignored_outputs(notebook: NotebookNode) -> list[str]:
    """Every output is compared."""
    return [
        cell.source
        for cell in code_cells(notebook)
        if "nbval-ignore-output" in tags(cell) or "NBVAL_" in cell.source
    ]


def images_without_text(notebook: NotebookNode) -> list[str]:
    """Every figure says in words what it shows; without, its file name would be read aloud."""
    found = []
    for cell in code_cells(notebook):
        types = {kind for output in cell.outputs for kind in output.get("data", {})}
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        if any(kind.startswith("image/") for kind in types) and not alt.strip():
            found.append(f"cell {cell.execution_count} has a figure, but no mystnb.image.alt")
    return found


def glued_for_nothing(notebook: NotebookNode) -> list[str]:
    """Every value that a cell hands to the text is said there: else a paragraph may be lost.

    A comparison says all of its own in its table.
    """
    markdown = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    said = set(GLUED.findall(markdown))
    handed = [
        name
        for cell in code_cells(notebook)
        if not re.match(r"(notebook\.)?compare\(", cell.source)
        for name in glued([cell])
    ]
    return [f"no text says {name}" for name in handed if name not in said]


def _parser() -> MarkdownIt:
    plugins = (amsmath_plugin, colon_fence_plugin, dollarmath_plugin, myst_role_plugin)
    parser = MarkdownIt("commonmark").enable("table")
    for plugin in plugins:
        parser.use(plugin)
    return parser


def _inline_texts(token: Token) -> Iterator[str]:
    """Give the words of a paragraph: no code, no formula, no role, no address."""
    in_link = False
    for child in token.children or []:
        if child.type in {"link_open", "link_close"}:
            in_link = child.type == "link_open"
        elif child.type == "text" and not in_link:
            yield child.content


def typed_decimals(markdown: str) -> list[str]:
    """Find the results that were typed: ours come out of a cell, others' come with a citation."""
    found = []
    for token in _parser().parse(markdown):
        if token.type in {"fence", "colon_fence"}:
            directive = re.match(r"\{([\w:-]+)\}", token.info.strip())
            if directive and directive.group(1) not in NOT_PROSE:
                found += typed_decimals(re.sub(r"(?m)^:[\w-]+:.*$", "", token.content))
        elif token.type == "inline" and "{cite" not in token.content:
            for text in _inline_texts(token):
                found += [
                    f"{match.group()} in: {text[max(0, match.start() - 50) : match.end() + 30]}"
                    for match in DECIMAL.finditer(text)
                    if not NAMED.search(text[: match.start()])
                ]
    return found
