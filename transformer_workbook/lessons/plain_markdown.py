"""The Markdown of the notebooks, which every viewer shows, and its roles on the site.

JupyterLab, Colab and GitHub know neither roles nor directives. So the notebooks contain plain
Markdown in five forms that look right there, with what the site needs in invisible parts:

- ``([Gage, 1994](address "gage1994"))`` is a citation, and so is
  ``([Gage, 1994](address "gage1994"), section 2)``,
- ``<span title="share">36%</span>`` a value that a cell has glued,
- ``[words](laboratory.md "beam=4")`` an experiment of the laboratory,
- a quotation that begins with the line ``<!-- margin -->`` a note in the margin,
- and one that begins with ``<!-- seealso -->`` or ``<!-- warning -->`` and a bold title a box.

The build turns them into roles and directives before it reads a page, for catalogues have these in
their messages. ``tools/plain_notebooks.py`` does the reverse, so that an author may write either.
"""

import re
from collections.abc import Callable

KEY = r"[a-z]+\d{4}[a-z]*"
CITED = rf'\[[^\]]*\]\([^()\s]+ "({KEY})"\)'
CITATIONS = re.compile(rf"\({CITED}(?:; {CITED})*\)|(?<=\(){CITED}(?:; {CITED})*")
GLUED = re.compile(r'<span title="([^"]+)">[^<]*</span>')
EXPERIMENT = re.compile(r'\[([^\]]*)\]\((?:\.\./)*laboratory\.md "([^"]+)"\)')
BLOCK = re.compile(
    r"^> <!-- (margin|seealso|warning) -->\n(?:> \*\*(.*)\*\*\n>\n)?((?:>.*(?:\n|\Z))*)",
    re.MULTILINE,
)
DIRECTIVE = re.compile(
    r"^(?:```\{(margin)\}|:::\{admonition\}) ?(.*)\n(?::class: (\w+)\n)?((?:.*\n)*?)(?:```|:::)$",
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


def to_plain(
    markdown: str, paper: Callable[[str], str], value: Callable[[str], str], up: str = ""
) -> str:
    """Return the Markdown of a cell without roles and directives.

    ``paper`` gives the link to one by its key, ``value`` the span of a value by its name, and
    ``up`` leads to the book's folder.
    """

    def citation(match: re.Match[str]) -> str:
        links = "; ".join(map(paper, match[1].replace(" ", "").split(",")))
        inside = match.string[: match.start()].endswith("(")  # with a section, say
        return links if inside else f"({links})"

    def block(match: re.Match[str]) -> str:
        margin, title, kind, body = match.groups()
        heading = [f"**{title}**", ""] if title else []
        lines = [f"<!-- {margin or kind} -->", *heading, *body.strip("\n").split("\n")]
        return "\n".join(f"> {line}".rstrip() for line in lines)

    markdown = DIRECTIVE.sub(block, markdown)
    markdown = re.sub(r"\{cite\}`([^`]+)`", citation, markdown)
    markdown = re.sub(r"\{glue:text\}`([^`]+)`", lambda match: value(match[1]), markdown)
    experiment = rf'[\1]({up}laboratory.md "\2")'
    return re.sub(r"\{laboratory\}`([^`<]*?) <([^`>]+)>`", experiment, markdown)
