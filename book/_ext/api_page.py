"""The pages of the package's interface: one lists all modules, each of the others is one module."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from contents import write_pages
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

import annotated_transformer
from annotated_transformer.ground.old_names import MOVED
from transformer_workbook.chapters import CHAPTERS

EARLIER = {
    "fast": {
        "PackedTrainer PackedTrainer.logits PackedTrainer.update PackedTrainer.read "
        "PackedTrainer.tensors PackedTrainer.load": "is gone; FastTrainer is for one CPU",
        "PackedBatch PackedBatch.inputs PackedBatch.require_fit pack packed_batches": "is gone, as"
        " PackedTrainer is",
    },
    "corpora.multi30k": {"kept_in": "is in corpora.cache"},
    "layers": {"Residual.enter": "is in forward", "Residual.leave": "is in forward"},
    "training": {
        "buffers_of tensors_of load_tensors": "is in weights",
        "random_states set_random_states": "is in ground.devices",
    },
    "translator": {
        "Translator.start": "is in NextTokenModel",
        "Translator.forward": "is there, too",
    },
    "run": {
        "LineTranslator.fast": "is LineTranslator.translating",
        "export_to_web": "is in exchange",
    },
}
"""By page: names that it had, the first with those inside it, and what is used in their place."""


def modules() -> list[str]:
    """Return the modules that are imported by name: first those of chapters, in their order.

    >>> modules()[:2]
    ['annotated_transformer.toy', 'annotated_transformer.text.examples']
    """
    built = chain.from_iterable(CHAPTERS.values())
    names = dict.fromkeys([*built, *inside(annotated_transformer)])
    return [*(f"annotated_transformer.{name}" for name in names), "transformer_workbook.own"]


def inside(package: ModuleType) -> Iterator[str]:
    """Iterate over the modules of a package, and over those in a folder that exports none."""
    for module in sorted(pkgutil.iter_modules(package.__path__), key=attrgetter("name")):
        if module.name == "__main__":
            continue
        yield module.name
        room = importlib.import_module(f"{package.__name__}.{module.name}")
        if module.ispkg and not hasattr(room, "__all__"):
            yield from (f"{module.name}.{name}" for name in inside(room))


def write_modules(app: Sphinx, _: Config) -> None:
    """Write the page of each module."""
    texts = {}
    for module in modules():
        name = module.partition(".")[2]
        texts[name] = f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n```\n"
    write_pages(Path(app.srcdir, "book", "api"), texts)


class Api(SphinxDirective):
    """A list of all modules with the first line of each, by the chapters that build them."""

    def run(self) -> list[nodes.Node]:
        """Return for every chapter a line and a list; modules that none builds come last."""
        left = modules()
        found: list[nodes.Node] = []
        for stem in [*CHAPTERS, ""]:
            names = CHAPTERS.get(stem)
            ours = [name for name in left if names is None or name.partition(".")[2] in names]
            left = [name for name in left if name not in ours]
            page = next(Path(self.env.srcdir, "book").glob(f"[0-9]*_{stem}.ipynb"), None)
            heading = f"[]({page.name})" if page else "Used by several chapters"
            if ours:
                found += self.parse_text_to_nodes(heading)
                found.append(nodes.bullet_list("", *map(self.entry, ours)))
        return found

    def entry(self, module: str) -> nodes.list_item:
        """Write the line of one module; it has the anchor of old links to the module."""
        name = module.partition(".")[2]
        line = importlib.import_module(module).__doc__.partition("\n\n")[0]
        text = self.parse_inline(f"[`{name}`](api/{name}.md) – {line}")[0]
        names = [module, *(old for old, new in MOVED.items() if new == module)]
        ids = [f"module-{name}" for name in names]
        return nodes.list_item("", nodes.paragraph("", "", *text), ids=ids)


def modules_of(page: str) -> list[str]:
    """Return the modules that a chapter builds, by the name of its page.

    >>> modules_of("book/05_self_attention")
    ['attention']
    """
    return list(CHAPTERS.get(re.sub(r"^\d+_", "", Path(page).name), ()))


def lead_to_modules(app: Sphinx, document: nodes.document) -> None:
    """Add links at the end of a chapter to the pages of its modules."""
    names = modules_of(app.env.docname)
    if not names or not re.match("book/(?!api/)", app.env.docname):
        return
    line = nodes.paragraph("", _("In the package:") + " ", classes=["in-the-package"])
    for number, name in enumerate(names):
        page = app.builder.get_relative_uri(app.env.docname, f"book/api/{name}")
        line += nodes.Text(", " if number else "")
        line += nodes.reference("", "", nodes.literal("", name), refuri=page, internal=True)
    next(document.findall(nodes.section)).append(line)


def say_earlier_names(app: Sphinx, document: nodes.document) -> None:
    """Say at the end of a module's page what took the place of what it had; keep the anchors."""
    folder, _, page = app.env.docname.rpartition("/")
    for names, now in EARLIER.get(page, {}).items() if folder == "book/api" else ():
        ids = [f"annotated_transformer.{page}.{name}" for name in names.split()]
        text = f"[{names.split()[0]}] {now}"
        next(document.findall(nodes.section)).append(nodes.paragraph("", text, ids=ids))


def shorten(
    _app: Sphinx, what: str, _name: str, thing: Any, _options: object, *_: str | None
) -> tuple[str, None] | None:
    """Show the settings of a dataclass with their defaults, without types and ranges."""
    if what != "class" or not is_dataclass(thing):
        return None
    settings = []
    for field in fields(thing):
        made = "" if field.default_factory is MISSING else "=…"
        settings.append(field.name + (made if field.default is MISSING else f"={field.default!r}"))
    return f"({', '.join(settings)})", None


def drop_ranges(app: Sphinx, document: nodes.document) -> None:
    """Hide the validator of a kind of setting: its docstring has its range."""
    if Path(app.env.docname).parent.name == "api":
        for paragraph in list(document.findall(nodes.paragraph)):
            text = paragraph.astext()
            if text.startswith("alias of Annotated") and "FieldInfo" in text:
                paragraph.parent.remove(paragraph)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("package-api", Api)
    app.connect("config-inited", write_modules)
    app.connect("doctree-read", lead_to_modules)
    app.connect("doctree-read", drop_ranges)
    app.connect("doctree-read", say_earlier_names)
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True}
