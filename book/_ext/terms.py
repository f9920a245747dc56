"""Terms: on a lesson, the first place of each opens its meaning (hover, focus, tap)."""

import html
import re
from collections.abc import Iterator
from functools import cache

from docutils import nodes
from formulas import mathml
from glossary_page import items
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

LESSON = re.compile(r"book/(?:further/)?(\d\d)_")
EVERYDAY = {
    "base": "19", "clipping": "13", "memory": "09 12", "merge": "15", "norm": "07",
    "split": "01", "stack": "11 12", "value": "03 04 05 06 09",
}  # fmt: skip
"""Words that have another meaning too, and the lessons in which they are terms."""

PROSE = nodes.paragraph, nodes.strong, nodes.emphasis


class opened(nodes.inline):
    """A term in the prose, with the HTML of its meaning."""


@cache
def glossary(env: BuildEnvironment) -> dict[str, str]:
    """Return the meaning of each word, English or Korean, as HTML that begins with the other."""
    found = {}
    for item in items(env):
        terms = [str(next(term.findall(nodes.Text))) for term in item.findall(nodes.term)]
        for term, other in zip(terms, terms[::-1], strict=True):
            said = meaning(item[-1][0])
            if other != term:
                said = f"<b>{html.escape(other)}</b>: {said}"
            found |= {word.strip(): said for word in re.split(r"[,()]", term) if word.strip()}
    return found


def meaning(paragraph: nodes.Element) -> str:
    """Return the HTML of a meaning, without its links."""
    return "".join(
        mathml(node.astext(), display=False)
        if isinstance(node, nodes.math)
        else html.escape(node.astext())
        for node in paragraph
    )


def pattern(words: dict[str, str]) -> re.Pattern[str]:
    """Return a pattern of the words, the longest first; a plural or a Korean ending may follow.

    A word that begins a sentence is often a verb ("Rank these four"), so capitals count.

    >>> words = dict.fromkeys(["mask", "padding mask", "마스크"], "")
    >>> pattern(words).findall("Mask the masks, a padding mask, a masked one; 마스크는")
    ['mask', 'padding mask', '마스크']
    """
    found = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<![\w-])({found})s?(?![A-Za-z\d_-])")


def prose(document: nodes.document) -> Iterator[nodes.Text]:
    """Iterate over the prose of a page, what is bold first."""
    found = [
        text
        for paragraph in document.findall(nodes.paragraph)
        if isinstance(paragraph.parent, nodes.section | nodes.list_item)
        for text in paragraph.findall(nodes.Text)
        if isinstance(text.parent, PROSE)
    ]
    yield from sorted(found, key=lambda text: not isinstance(text.parent, nodes.strong))


def mark(app: Sphinx, document: nodes.document, name: str) -> None:
    """Let the first place of each term open its meaning."""
    lesson = LESSON.match(name)
    if app.builder.format != "html" or not lesson:
        return
    meanings = {
        word: said
        for word, said in glossary(app.env).items()
        if lesson[1] in EVERYDAY.get(word, lesson[1])
    }
    words = pattern(meanings)
    for text in prose(document):
        parts: list[nodes.Node] = []
        end = 0
        for match in words.finditer(text):
            if said := meanings.pop(match[1], ""):
                parts += [nodes.Text(text[end : match.start()])]
                parts += [opened("", match[0], meaning=said, ids=[f"meaning-{len(meanings)}"])]
                end = match.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def start(translator: HTML5Translator, node: opened) -> None:
    """Write the term, which the keyboard reaches."""
    described = f'aria-describedby="{node["ids"][0]}"'
    translator.body.append(f'<span class="term" tabindex="0" {described}>')


def finish(translator: HTML5Translator, node: opened) -> None:
    """Write its meaning behind it."""
    tip = f'<span class="meaning" role="tooltip" id="{node["ids"][0]}">{node["meaning"]}</span>'
    translator.body.append(f"{tip}</span>")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_node(opened, html=(start, finish))
    app.add_js_file("terms.js")
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
