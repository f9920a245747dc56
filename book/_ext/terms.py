"""Terms: on a lesson, the first place of each opens its meaning (hover, focus, tap)."""

import html
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from docutils import nodes
from formulas import mathml
from glossary_page import items
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

LESSON = re.compile(r"book/(?:further/)?(\d\d)_")
EVERYDAY = {
    "alignment": "03 04 09 16 18", "base": "19", "clipping": "13", "decode": "18 22",
    "hypothesis": "14 15", "memory": "09 12", "merge": "15", "norm": "07", "reference": "15",
    "score": "03 04 05 06 07 08 09 10 19 20 22 23", "split": "", "stack": "12",
    "value": "03 04 05 06 09",
    "가설": "14 15", "기록": "10 28", "메모리": "09 12", "연결": "", "연산량": "10",
    "온도": "14 18 21", "용량": "24", "원문": "", "정답": "",
}  # fmt: skip
"""Words that have another meaning too, and the lessons in which they are terms."""

ENDINGS = (
    "가 같 과 까지 나 는 당 던 도 되 된 될 됐 됩 든 들 라 란 로 를 마다 만 밖 보다 부터 뿐 "
    "시 에 여 였 와 으로 은 을 의 이 인 일 입 조차 처럼 하 한 할 합 해 했"
)
"""What a particle, 이다 or a verb's ending begins with: 온도계 is no 온도, and 키우다 has no 키."""

PROSE = nodes.paragraph, nodes.strong, nodes.emphasis


class opened(nodes.inline):
    """A term in the prose, with the HTML of its meaning."""


@cache
def glossary(env: BuildEnvironment) -> dict[str, tuple[str, list[str]]]:
    """Return the meaning of each word, as HTML, and the words of the other language for it.

    What stands in parentheses is another name, unless it is an entry itself.
    """
    found: dict[str, tuple[str, list[str]]] = {}
    names: dict[str, tuple[str, list[str]]] = {}
    for item in items(env):
        terms = [str(next(term.findall(nodes.Text))) for term in item.findall(nodes.term)]
        for term, other in zip(terms, terms[::-1], strict=True):
            said, others = meaning(item[-1][0]), list[str]()
            if other != term:
                said, others = f"<b>{html.escape(other)}</b>: {said}", [*chain(*split(other))]
            first, more = split(term)
            found |= dict.fromkeys(first, (said, others))
            names |= dict.fromkeys(more, (said, others))
    return names | found


def split(term: str) -> tuple[list[str], list[str]]:
    """Return the words of an entry, and their other names.

    >>> split("소스 (원문), 타깃 (번역문)")
    (['소스', '타깃'], ['원문', '번역문'])
    """
    parts = re.sub(r"\(.*?\)", "", term), ",".join(re.findall(r"\((.*?)\)", term))
    first, more = ([word.strip() for word in part.split(",") if word.strip()] for part in parts)
    return first, more


def meaning(paragraph: nodes.Element) -> str:
    """Return the HTML of a meaning, without its links."""
    return "".join(
        mathml(node.astext(), display=False)
        if isinstance(node, nodes.math)
        else html.escape(node.astext())
        for node in paragraph
    )


def pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the words, the longest first; a plural or a Korean ending may follow.

    A word that begins a sentence is often a verb ("Rank these four"), so capitals count.

    >>> words = pattern(["mask", "padding mask", "마스크", "키"])
    >>> words.findall("Mask the masks, a padding mask, a masked one; 마스크는 키를 키우는")
    ['mask', 'padding mask', '마스크', '키']
    """
    found = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    ending = "|".join(ENDINGS.split())
    return re.compile(rf"(?<![\w-])({found})s?(?![A-Za-z\d_-])(?:(?![가-힣])|(?={ending}))")


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
        word: entry
        for word, entry in glossary(app.env).items()
        if lesson[1] in EVERYDAY.get(word, lesson[1])
    }
    words = pattern(meanings)
    for text in prose(document):
        parts: list[nodes.Node] = []
        end = 0
        for match in words.finditer(text):
            if match[1] in meanings:
                said, others = meanings.pop(match[1])
                for other in others:
                    meanings.pop(other, None)
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
