"""An edition in another language: what Sphinx leaves in English, and the way between editions.

Sphinx puts the translated messages of a catalogue (``catalogues.py``) into a page. Here come the
labels of folds, what stands in raw HTML, the numbers that a lesson has glued, the parts of the
contents, and the words of the scripts. On every page is a link to the same page of each other
edition; it is hidden until ``tools/join_editions.py`` has found that page.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from gettext import translation
from html import escape, unescape
from pathlib import Path
from typing import Any

from babel.messages import Catalog
from catalogues import catalogue_of, is_missing, messages, share, translations
from docutils import nodes
from editions import EDITIONS, SOURCE, TRANSLATED
from myst_nb.ext.glue.roles import PasteTextRole
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ConfigError
from sphinx.locale import _
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import extract_messages
from sphinx.writers.html5 import HTML5Translator

THEME_WORDS = (
    "Book", "By", "Contents", "Fullscreen mode", "Launch", "Link to this heading", "Main", "Page",
    "Pages below", "Search this book...", "Toggle primary sidebar", "Toggle secondary sidebar",
    "attention weights",
)  # fmt: skip
"""What the themes say in English, or not well in another language."""
ATTRIBUTE = re.compile(r'(?<= )(title|aria-label|placeholder)="([^"]+)"')
SUMMARY = re.compile(r"(?<=<summary>)[^<]+(?=</summary>)")
HEADER = '<div class="article-header-buttons">'
LINK = (
    '<a class="language btn btn-sm" lang="{language}" hreflang="{language}" '
    'data-address="{address}" hidden>{name}</a>'
)


class GluedText(PasteTextRole):
    """A glued number; in a translation that of the original, which alone knows its cell."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number."""
        glued = self.document.settings.env.temp_data.setdefault("glued", {})
        if "nb_renderer" not in self.document and self.text in glued:
            return [node.deepcopy() for node in glued[self.text]], []
        glued[self.text], problems = super().run()
        return glued[self.text], problems


class Fold(nodes.container, addnodes.translatable):
    """A cell in a fold, whose label is a message of the page."""

    def preserve_original_messages(self) -> None:
        """Keep nothing: the label is read once."""

    def extract_original_messages(self) -> list[str]:
        """Return the label."""
        return [self["prompt_show"]]

    def apply_translated_message(self, original: str, translated: str) -> None:
        """Change the label."""
        for key in ("prompt_show", "prompt_hide"):
            self[key] = self[key].replace(original, translated)


class ChooseMessages(SphinxTransform):
    """The label of a fold is a message; a formula and what stands before the title are none."""

    default_priority = 5  # before Sphinx looks for messages

    def apply(self, **_: Any) -> None:
        """Mark them."""
        for cell in self.document.findall(nodes.container):
            if "{type}" not in cell.get("prompt_show", "{type}"):
                cell.__class__ = Fold  # with all that it has, in its place
        for formula in self.document.findall(nodes.math_block):
            formula["translatable"] = False
        for matter in (node for node in self.document if isinstance(node, nodes.field_list)):
            for text in matter.findall(nodes.TextElement):
                text["translatable"] = False


class MarkEnglish(SphinxTransform):
    """Mark what has no translation, and note for each edition which part of the page it has."""

    default_priority = 15  # before Sphinx translates, and forgets what an image said

    def apply(self, **_: Any) -> None:
        """Ask the catalogues."""
        if self.document["source"].endswith("<translated>"):  # a message that becomes a document
            return
        page = self.env.docname
        found = list(extract_messages(self.document))
        for language in TRANSLATED:
            catalogue = catalogue_of(page, language)
            known = translations((message for _, message in found), catalogue)
            self.env.metadata[page][language] = share(known, language)
            if language == self.config.language:
                for (node, _), message in zip(found, known, strict=True):
                    if is_missing(message, language):
                        node["classes"].append(f"language-{SOURCE}")  # docutils: lang="en"


def translated(app: Sphinx, page: str, message: str) -> str:
    """Return a message of another page in the language of this edition."""
    with suppress(FileNotFoundError):
        folder = Path(app.srcdir, *app.config.locale_dirs[:1])
        return translation(page, folder, [app.config.language]).gettext(message)
    return message


def finish_page(app: Sphinx, document: nodes.document) -> None:
    """Translate raw HTML, keep the places of a page, and say so where some of it is in English."""
    language = app.config.language
    if language == SOURCE:
        return
    for raw in document.findall(nodes.raw):
        html = SUMMARY.sub(lambda found: _(found[0]), raw.astext())
        raw.children = [nodes.Text(html)]
    page = app.env.metadata[app.env.docname]
    page["myst_slugs"] = document.myst_slugs  # MyST noted those of the last translated title
    if page[language] < 1:
        said = _("What is not translated yet on this page is shown in English.")
        section = next(document.findall(nodes.section))
        section.insert(1, nodes.paragraph("", said, classes=["in-english"]))


def translate_parts(app: Sphinx) -> None:
    """Translate the names of the parts in the contents."""
    for document in app.config.external_site_map.values():
        for part in document.subtrees:
            part.caption = part.caption and _(part.caption)


def speak_better(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], *_rest: object
) -> None:
    """Prefer our words to those of the theme."""
    theme = context["translate"]
    context["translate"] = lambda message: (
        ours if (ours := _(message)) != message else theme(message)
    )


def address(page: Path, here: str, there: str) -> str:
    """Return the way from a page to the same page of another edition.

    >>> address(Path("book/index.html"), "en", "ko"), address(Path("index.html"), "ko", "en")
    ('../ko/book/index.html', '../index.html')
    """
    up = "../" * (len(page.parts) - (here == SOURCE))
    return f"{up}{page}" if there == SOURCE else f"{up}{there}/{page}"


def link_editions(app: Sphinx, error: Exception | None) -> None:
    """Put hidden links to the other editions onto every page, and translate its attributes."""
    if error or app.builder.format != "html":
        return
    here = app.config.language
    for page in Path(app.outdir).rglob("*.html"):
        path = page.relative_to(app.outdir)
        links = "".join(
            LINK.format(language=code, address=address(path, here, code), name=edition.name)
            for code, edition in EDITIONS.items()
            if code != here
        )
        html = page.read_text(encoding="utf-8").replace(HEADER, HEADER + links, 1)
        if here != SOURCE:
            html = ATTRIBUTE.sub(
                lambda found: f'{found[1]}="{escape(_(unescape(found[2])))}"', html
            )
        page.write_text(html, encoding="utf-8")


def script_messages(catalogue: Catalog) -> Iterator[str]:
    """Write the messages for the scripts, as Sphinx reads its own."""
    done = (message for message in messages(catalogue) if message.string and not message.fuzzy)
    words = {message.id: message.string for message in done}
    added = {"messages": words, "locale": str(catalogue.locale), "plural_expr": "0"}
    yield f"Documentation.addTranslations({json.dumps(added, ensure_ascii=False)});\n"


def translate_scripts(app: Sphinx, error: Exception | None) -> None:
    """Add the course's messages to those of Sphinx for its scripts."""
    script = Path(app.outdir, "_static", "translations.js")
    if not error and app.builder.format == "html" and script.exists():
        with script.open("a", encoding="utf-8") as file:
            file.writelines(script_messages(catalogue_of("sphinx", app.config.language)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx.

    Raises:
        ConfigError: if there is no edition in the language that is asked for.
    """
    language = app.config.language
    if language not in EDITIONS:
        raise ConfigError(f"there is no edition in {language!r}, it must be {', '.join(EDITIONS)}.")
    app.add_node(Fold, html=(HTML5Translator.visit_container, HTML5Translator.depart_container))
    app.add_role_to_domain("glue", "text", GluedText(), override=True)
    app.add_transform(ChooseMessages)
    app.add_transform(MarkEnglish)
    app.add_js_file("languages.js")
    if language != SOURCE:
        app.connect("html-page-context", speak_better, priority=900)
    if style := EDITIONS[language].style:
        app.add_css_file(style, priority=900)  # after the course.css that it changes
    app.connect("builder-inited", translate_parts)
    app.connect("doctree-read", finish_page, priority=900)
    app.connect("build-finished", link_editions, priority=700)
    app.connect("build-finished", translate_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
