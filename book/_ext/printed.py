"""What the code of a page printed and drew, in the language of the edition.

A *phrase* is a piece of an output between line ends, tags or two spaces. The catalogue ``printed``
has those of all pages, with ``{}`` for what changes; ``tools/printed_phrases.py`` collects them.
What a model reads or says is no message, and stays as it is. The notebooks themselves are not
touched: outputs are stored, and compared, in English.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from html import escape, unescape
from pathlib import Path
from types import MappingProxyType
from unicodedata import east_asian_width

from docutils import nodes
from editions import SOURCE, TRANSLATED
from sphinx.application import Sphinx
from sphinx.locale import _

from annotated_transformer.ground.sentences import translations
from transformer_workbook.judge.sentences import sentences_in

NAME = "printed"
WORD = re.compile(r"[^\W\d_]{2}")
GAP = re.compile(r"( {2,}|\s*\n\s*|\t)")
NUMBER = re.compile(
    r"(?<![\w.])[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)|\b(?:True|False)\b"
)
BETWEEN = re.compile(r"(\s*[,:;|→]\s+)")
AROUND = re.compile(r"((?:\{\}|[^\w{}])*)(.*?)((?:\{\}|[^\w{}])*)", re.DOTALL)
SIGNS = re.compile(r"[^\w(\[\"']*")
PLACE = re.compile(r"\{\}")

PROGRAM = re.compile('<script|class="highlight')
TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")
LABEL = re.compile(
    r"<!-- (?P<said>[^>]*?) -->\s*"
    r'<g (?P<style>style="[^"]*" )?transform="(?P<place>[^"]*?) '
    r'scale\((?P<scale>[\d.]+) -[\d.]+\)">'
    r"(?P<glyphs>.*?)</g>",
    re.DOTALL,
)
GROUP = re.compile(r'</g>|<g(?=[ >])(?: id="(?P<name>[^"]*)")?[^>]*(?<!/)>')
DEFINED = re.compile("<defs>.*?</defs>", re.DOTALL)
GLYPH = re.compile(r"<use [^>]*?(?:translate\((?P<x>[\d.]+)[^>]*)?/>")
EM, LAST = 100, 60
"""Matplotlib draws letters a hundred units high; the last of a label is about that wide."""


def template(text: str) -> str:
    """Return a phrase with ``{}`` for its numbers.

    >>> template("12.5% right")
    '{}% right'
    """
    return NUMBER.sub("{}", text)


def core(phrase: str) -> str:
    """Return a template without numbers and signs at its ends.

    >>> core("{}% right: {}")
    'right'
    """
    return AROUND.fullmatch(phrase)[2]


class Phrases:
    """The phrases of some messages: the longest that fits is said.

    Those of ``whole`` are said for nothing less than a phrase.

    >>> phrases = Phrases({"{} of {} right": "{1}개 중 {0}개 정답", "loss": "손실"})
    >>> phrases.say("  loss 0.5   3 of 4 right")
    '  손실 0.5   4개 중 3개 정답'
    """

    def __init__(self, said: Mapping[str, str], whole: Mapping[str, str] = MappingProxyType({})):
        self.said = {**whole, **said}
        self.pieces = said.keys()
        patterns = {message: _pattern(message) for message in filter(PLACE.search, said)}
        by_length = sorted(patterns, key=lambda message: len(PLACE.sub("", message)), reverse=True)
        self.patterns = {message: patterns[message] for message in by_length}
        self.longest = {message: max(PLACE.split(message), key=len) for message in by_length}

    def find(self, phrase: str) -> Iterator[tuple[str, re.Match[str]]]:
        """Yield the messages that a phrase is made of, each with where it stands."""
        inner = core(template(phrase))
        if phrase in self.said:
            yield phrase, re.fullmatch(re.escape(phrase), phrase)
            return
        after_a_sign = SIGNS.match(phrase).end()
        for message, pattern in self.patterns.items():
            if self.longest[message] not in phrase:
                continue
            fits = (
                pattern.search(phrase)
                if message == inner
                else pattern.fullmatch(phrase) or pattern.fullmatch(phrase, after_a_sign)
            )
            if fits:
                yield message, fits
                return
        parts = [part for part in map(core, BETWEEN.split(template(phrase))) if WORD.search(part)]
        if inner in self.said:
            parts = [inner]
        elif not self.pieces >= set(parts):  # half a sentence is worse than none, a label is not
            parts = [part for part in parts[:1] if part in self.pieces and f"{part}:" in phrase]
        for part in dict.fromkeys(parts):
            whole = rf"(?<!\w){re.escape(part)}(?!\w)"
            yield from ((part, found) for found in re.finditer(whole, phrase))

    def phrase(self, phrase: str) -> str:
        """Say one phrase."""
        found = sorted(self.find(phrase), key=lambda one: one[1].start(), reverse=True)
        for message, place in found:
            said = self.said[message]
            if said == message:
                continue
            if place.groups():
                said = said.format(*map(self.phrase, place.groups()))
            phrase = phrase[: place.start()] + said + phrase[place.end() :]
        return phrase

    def say(self, text: str) -> str:
        """Say a text of several phrases; columns stay in line."""
        pieces = GAP.split(text)
        for at in range(0, len(pieces), 2):
            if WORD.search(pieces[at]):
                said = self.phrase(pieces[at])
                wider = _width(said) - _width(pieces[at])
                pieces[at] = said
                if at + 1 < len(pieces) and set(pieces[at + 1]) == {" "}:
                    pieces[at + 1] = " " * max(1, len(pieces[at + 1]) - wider)
        return "".join(pieces)

    def say_html(self, html: str) -> str:
        """Say what stands between tags."""
        return TEXT.sub(lambda found: escape(self.say(unescape(found[0])), quote=False), html)

    def say_svg(self, svg: str) -> str:
        """Say the labels of a figure, which are letters drawn: those that change become text."""
        return LABEL.sub(partial(self._label, svg), svg)

    def _label(self, svg: str, found: re.Match[str]) -> str:
        label = unescape(found["said"])
        said = self.say(label)
        if said == label:
            return found[0]
        scale = float(found["scale"])
        *_, last = GLYPH.finditer(found["glyphs"])
        width = scale * (float(last["x"] or 0) + LAST)
        places = {"ytick": ("end", width), "legend": ("start", 0)}
        inside = "".join(_groups(svg[: found.start()]))
        anchor, x = next((places[part] for part in places if part in inside), ("middle", width / 2))
        letters = "".join(DEFINED.findall(found["glyphs"]))  # those that other labels use as well
        return (
            f'{letters}<text {found["style"] or ""}transform="{found["place"]}" x="{x:.1f}" '
            f'text-anchor="{anchor}" font-family="sans-serif" font-size="{EM * scale:g}">'
            f"{escape(said)}</text>"
        )


@cache
def _pattern(message: str) -> re.Pattern[str]:
    """Return what a message fits: the fewer words it has, the less may stand in its places."""
    literal = PLACE.split(message)
    words = len(re.findall(r"[^\W\d_]{3,}", " ".join(literal)))
    value = (NUMBER.pattern, r"\S+", ".+?")[min(words, 2)]
    return re.compile(f"({value})".join(map(re.escape, literal)))


def _groups(svg: str) -> list[str]:
    """Return the names of the groups that are open at the end of a part of a figure."""
    groups: list[str] = []
    for tag in GROUP.finditer(svg):
        if tag[0] == "</g>":
            groups.pop()
        else:
            groups.append(tag["name"] or "")
    return groups


def _width(text: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


@cache
def phrases_of(language: str) -> Phrases:
    """Read what is printed, and what the workbook says of answers."""
    verdicts = sentences_in(language).items()
    printed = translations(TRANSLATED[language].folder / f"{NAME}.po")
    return Phrases(printed, {message: said for message, said in verdicts if "{" not in message})


def speak(app: Sphinx, document: nodes.document) -> None:
    """Say the outputs of a page in the language of this edition."""
    language = app.config.language
    if language == SOURCE:
        return
    phrases, first = phrases_of(language), None
    for output in document.findall(nodes.container):
        if "cell_output" not in output["classes"]:
            continue
        for block in output.findall(nodes.literal_block):
            if _replace(block, phrases.say):
                first = first or output
        for raw in output.findall(nodes.raw):
            if raw["format"] == "html" and not PROGRAM.search(raw.astext()):
                _replace(raw, phrases.say_html)
        for image in output.findall(nodes.image):
            if image["uri"].endswith(".svg"):
                image["uri"] = _figure(Path(app.srcdir), image["uri"], phrases, language)
    if first:
        told = _("What cells print is translated here. Run by yourself, they print it in English.")
        cell = first.parent
        place = cell.parent.index(cell) + 1
        cell.parent.insert(place, nodes.paragraph("", told, classes=["in-english"]))


def _replace(node: nodes.TextElement, say: Callable[[str], str]) -> bool:
    """Say the text of a node; tell whether it is another one then."""
    text = node.astext()
    if (said := say(text)) == text:
        return False
    node.rawsource = said
    node.children = [nodes.Text(said)]
    return True


def _figure(folder: Path, uri: str, phrases: Phrases, language: str) -> str:
    """Write a figure with other labels beside it, and return its address."""
    path = folder / uri.lstrip("/")
    svg = path.read_text(encoding="utf-8")
    said = phrases.say_svg(svg)
    if said == svg:
        return uri
    path.with_stem(f"{path.stem}-{language}").write_text(said, encoding="utf-8")
    return f"{uri.removesuffix('.svg')}-{language}.svg"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", speak, priority=400)  # before Sphinx collects the images
    return {"parallel_read_safe": True, "parallel_write_safe": True}
