"""The Markdown of the notebooks, which every viewer shows, and its roles on the site.

JupyterLab, Colab and GitHub know neither roles nor directives. So the notebooks contain plain
Markdown in five forms that look right there, with what the site needs in invisible parts:

- ``([Gage, 1994](address "gage1994"))`` is a citation, and so is
  ``([Gage, 1994](address "gage1994"), section 2)``,
- ``<span title="share">36%</span>`` a value that a cell has glued,
- ``[words](laboratory.md "beam=4")`` an experiment of the laboratory,
- a quotation that begins with the line ``<!-- margin -->`` a note in the margin,
- and one that begins with ``<!-- seealso -->`` or ``<!-- warning -->`` and a bold title a box.

The build turns them into roles and directives before it reads a page; ``tools/plain_notebooks.py``
the reverse, so that an author may write either.
"""

import json
import re

from sphinx.application import Sphinx

KEY = r"[a-z]+\d{4}[a-z]*"
CITED = rf'\[[^\]]*\]\([^()\s]+ "({KEY})"\)'
CITATIONS = re.compile(rf"\({CITED}(?:; {CITED})*\)|(?<=\(){CITED}(?:; {CITED})*")
GLUED = re.compile(r'<span title="([^"]+)">[^<]*</span>')
EXPERIMENT = re.compile(r'\[([^\]]*)\]\((?:\.\./)*laboratory\.md "([^"]+)"\)')
BLOCK = re.compile(
    r"^> <!-- (margin|seealso|warning) -->\n(?:> \*\*(.*)\*\*\n>\n)?((?:>.*(?:\n|\Z))*)",
    re.MULTILINE,
)


def _citation(match: re.Match[str]) -> str:
    keys = re.findall(rf' "({KEY})"\)', match.group())
    return f"{{cite}}`{','.join(keys)}`"


def _block(match: re.Match[str]) -> str:
    kind, title, body = match.groups()
    lines = [line[1:].removeprefix(" ") for line in body.splitlines()]
    if kind == "margin":
        head, fence = f"```{{margin}} {title or ''}".rstrip(), "```"
    else:
        head, fence = f":::{{admonition}} {title}\n:class: {kind}", ":::"
    text = "\n".join(lines).strip("\n")
    return f"{head}\n{text}\n{fence}" + "\n" * body.endswith("\n")


def to_roles(markdown: str) -> str:
    r"""Return the Markdown of a cell with roles and directives.

    >>> to_roles('So it is ([Gage, 1994](https://x.org "gage1994")): <span title="n">7</span>.')
    'So it is {cite}`gage1994`: {glue:text}`n`.'
    >>> to_roles('So it is ([Gage, 1994](https://x.org "gage1994"), section 2).')
    'So it is ({cite}`gage1994`, section 2).'
    """
    markdown = BLOCK.sub(_block, markdown)
    markdown = CITATIONS.sub(_citation, markdown)
    markdown = GLUED.sub(r"{glue:text}`\1`", markdown)
    return EXPERIMENT.sub(r"{laboratory}`\1 <\2>`", markdown)


def read_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Hand a notebook to its parser with roles and directives."""
    if not app.env.doc2path(name).endswith(".ipynb"):
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = to_roles("".join(cell["source"]))
    source[0] = json.dumps(notebook, ensure_ascii=False)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
