"""The search: a small index of titles, headings, sentences and terms, and the page of its results.

Of each section it also has the words that no other section says as often, one form of each. It is a
script, since a page that is opened as a file can load nothing else; ``course_search.js`` ranks what
it has.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unicodedata import normalize

from contents import entries
from docutils import nodes
from editions import EDITIONS, SOURCE
from glossary_page import items
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _

# What a page of a part counts, where a lesson counts 1; sections that nobody looks for.
WEIGHTS = {"Hands on": 0.8, "Deeper": 0.6, "": 0.5, "Reference": 0.3, "Solutions": 0.2}
LEFT_OUT = {
    "the-question", "one-picture", "so-in-practice", "exercises", "more-exercises",
    "common-pitfalls", "glossary", "further-reading", "next",
}  # fmt: skip

# What words end in, in Hangul letter by letter: a plural, particles, and the verb that is made of a
# noun (번역했다, 학습시키기; but 집합 and 언어학 are nouns). Python and JavaScript read it alike.
ENDINGS = (
    "(?<=...)(?:e|e?s|e?d|ings?"
    "|(?:은|는|이|가|을|를|의|에|에서|에게|으로|로|와|과|도|만|란|이란|부터|까지|처럼|마다|보다|입니다)+"
    r"|(?:하(?![\u11a8\u11bc]|\u11b8(?!니|시))|해|되|돼|시키|시켜).*)$"
)
ENDING = re.compile(normalize("NFKD", ENDINGS))

FORM = """<form class="bd-search d-flex align-items-center" action="search.html">
<i class="fa-solid fa-magnifying-glass"></i><input type="search" class="form-control" name="q"
 autocomplete="off" spellcheck="false" aria-label="{label}"{more}></form>"""


def text(node: nodes.Node) -> str:
    """Return the words of a node, without raw HTML."""
    found = node.findall(nodes.Text)
    return " ".join("".join(t for t in found if not isinstance(t.parent, nodes.raw)).split())


def first_sentence(prose: str, language: str = SOURCE) -> str:
    """Return the first sentence that can be shown, or nothing."""
    edition = EDITIONS[language]
    parts = re.split(edition.between, prose)
    return next((part for part in parts if re.match(edition.sentence, part)), "")


def sections(page: nodes.document) -> Iterator[tuple[str, str, str]]:
    """Iterate over the sections of a page: anchor, heading, and prose without code and tables."""
    for section in page.findall(nodes.section):
        heading, prose = text(section[0]), ""
        for child in section[1:]:
            if isinstance(child, nodes.section | nodes.table) or "cell" in child["classes"]:
                continue
            parts = child.findall(lambda n: isinstance(n, nodes.paragraph | addnodes.desc_name))
            prose += "".join(f"{text(part)}\n" for part in parts)
        anchor = section["ids"][0]
        if anchor not in LEFT_OUT or section.parent is page:
            yield "" if anchor == nodes.make_id(heading) else anchor, heading, prose


def index(app: Sphinx) -> dict[str, Any]:
    """Return the pages with their sections, and the terms with their pages and meanings."""
    language = app.config.language
    pages, prose, home, most = [], [], {}, {}
    letters = [entry.name for entry in entries() if entry.name.startswith("book/glossary/")]
    chapters = [entry.name for entry in entries() if entry.is_numbered]
    for number, entry in enumerate(entry for entry in entries() if entry.name not in letters):
        page = app.env.get_doctree(entry.name)
        part = entry.part and _(entry.part)
        if entry.is_numbered:
            part = _("Chapter {number}").format(number=chapters.index(entry.name) + 1)
        weight = WEIGHTS.get(entry.part, 1)
        found = list(sections(page))[: 1 if entry.part == "Solutions" else None]
        places = [
            [anchor, heading, first_sentence(said, language)] for anchor, heading, said in found
        ]
        pages.append((app.builder.get_target_uri(entry.name), part, weight, places))
        prose.append(page.astext())
        for place, (_anchor, _heading, said) in zip(places, found, strict=True):
            forms: dict[str, list[str]] = {}
            for word in re.findall(EDITIONS[language].word, said.replace("_", "").lower()):
                forms.setdefault(ENDING.sub("", normalize("NFKD", word)), []).append(word)
            for stem, words in forms.items():
                if len(words) * weight**3 > most.get(stem, (0,))[0]:
                    most[stem] = len(words) * weight**3, min(words, key=len), place
        for row in page.findall(nodes.row):
            lesson = number - entry.name.startswith("book/further/")  # which stands before it
            home.setdefault(" · ".join(map(text, row[:2])), lesson)
    for _times, word, place in most.values():
        if word not in " ".join(place).lower():
            place[3:] = [" ".join([*place[3:], word])]
    terms = []
    for item in items(app.env):
        term = " · ".join(map(text, item.findall(nodes.term)))
        if term not in home:  # no lesson introduces it: it belongs to the page that uses it most
            name = re.escape(re.split(" ?[(,·]", term)[0])
            uses = [len(re.findall(rf"(?i)\b{name}s?\b", page)) for page in prose]
            home[term] = max(range(len(uses)), key=lambda n: uses[n] * pages[n][2] ** 3)
        terms.append((home[term], term, first_sentence(text(item[-1]), language)))
    return {"endings": ENDINGS, "pages": pages, "terms": terms}


def field(more: str = "") -> str:
    """Return a field with its results below it; ``more`` is an attribute of the field."""
    return FORM.format(label=_("Search this book"), more=more)


def search_page(_app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page of the results."""
    title = _("Search")
    yield "search", {"title": title, "body": f"<h1>{title}</h1>{field()}"}, "page.html"


def write_index(app: Sphinx, error: Exception | None) -> None:
    """Write the index as a script."""
    if not error and app.builder.format == "html":
        content = json.dumps(index(app), ensure_ascii=False, separators=(",", ":"))
        script = Path(app.outdir, "_static", "search_index.js")
        script.write_text(f"window.courseSearch = {content};\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx, whose own search is not written."""
    app.add_js_file("course_search.js")
    app.connect("builder-inited", lambda _: setattr(app.builder, "search", False))
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
