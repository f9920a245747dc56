"""The laboratory: a page in which the reader's browser computes the course's own models.

The directive ``laboratory`` puts one on a page, the role links to it with an experiment set up. Its
scripts are in ``book/_static/laboratory``, its models in ``checkpoints``: they are written into
the site in the form that the scripts read.
"""

import base64
import json
import shutil
import tempfile
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import ReferenceRole, SphinxDirective
from sphinx.util.osutil import relative_uri

from annotated_transformer.exchange import export_to_web
from annotated_transformer.run import Run

CHECKPOINTS = Path(__file__).resolve().parent.parent.parent / "checkpoints"
STATIC = "_static/laboratory"
SERVICE_WORKER = "service_worker.js"
SCRIPTS = (
    "ask", "words", "address", "panels", "back_translation", "controls", "formulas", "boxes",
    "flow", "results", "writing", "tour", "offline", "laboratory",
)  # fmt: skip
"""The scripts of the page, each after those that it uses; ``engine.js`` names its own."""

OF_THE_LARGE = {"controls", "formulas", "boxes", "flow", "writing", "tour", "offline"}
"""The scripts that a small laboratory does without."""

OFFERS = {
    "toy-transformer": ("float16", "Transformer, English → Korean", ["en", "ko"]),
    "toy-language": ("float16", "Language model, English → Korean", ["en", "ko"]),
    "toy-bahdanau": ("float16", "Bahdanau, English → Korean", ["en", "ko"]),
    "toy-seq2seq": ("float16", "GRU without attention, English → Korean", ["en", "ko"]),
    "multi30k-de-en": ("int8", "Transformer, German → English", ["de", "en"]),
    "multi30k-en": ("int8", "Language model, English captions", ["en"]),
}
"""The checkpoints, with their precisions. Each is a script, which also loads where the page is a
file; a large one, in ``int8``, is also the two files of its export, and the page shows how much of
them has come."""


class Laboratory(SphinxDirective):
    """A laboratory; ``small`` has one model and no controls."""

    option_spec: ClassVar = {"small": directives.flag, "sentence": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return its frame, which the scripts fill."""
        page = self.env.app.builder.get_target_uri(self.env.docname)
        small = "small" in self.options
        large = address_of(self, "model=multi30k-de-en") if small else ""
        html = frame(relative_uri(page, STATIC), self.options.get("sentence", ""), small, large)
        return [nodes.raw("", html, format="html")]


class Experiment(ReferenceRole):
    """A link that sets an experiment up: {laboratory}`its words <positions=off&beam=4>`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the link."""
        return [nodes.reference("", self.title, refuri=address_of(self, self.target))], []


def address_of(asking: Laboratory | Experiment, experiment: str) -> str:
    """Return where the laboratory with an experiment is, seen from the page that asks."""
    builder = asking.env.app.builder
    target = builder.get_target_uri("book/laboratory")
    page = builder.get_target_uri(asking.env.docname)
    return f"{relative_uri(page, target) or Path(target).name}?{experiment}"


def frame(base: str, sentence: str, small: bool = False, large: str = "") -> str:
    """Return the frame of a laboratory with a sentence; its scripts are at ``base``.

    A small one links to the ``large`` one, with the German model.
    """
    offers = [offer(name) for name in list(OFFERS)[: 1 if small else None]]
    models = escape(json.dumps(offers, ensure_ascii=False))
    needed = [name for name in SCRIPTS if not (small and name in OF_THE_LARGE)]
    without, leads = _("The laboratory needs JavaScript."), _("or translate real German")
    further = f'<a class="further" href="{escape(large)}">{leads}</a>' * small
    scripts = "\n".join(f'<script defer src="{base}/{name}.js"></script>' for name in needed)
    return (
        f'<link rel="stylesheet" href="{base}/laboratory.css">\n'
        f'<div class="laboratory"{" data-small" * small} data-sentence="{escape(sentence)}" '
        f'data-models="{models}"><noscript>{without}</noscript>{further}</div>\n'
        f"{scripts}"
    )


def offer(name: str) -> dict[str, Any]:
    """Return what the page knows of a model; of a large one also its size and digests."""
    precision, title, languages = OFFERS[name]
    told = {"name": name, "title": str(_(title)), "languages": languages}
    if precision == "float16":
        return told
    files = exported(name)
    size = sum(map(len, files.values()))
    loads = _("{model} ({size} MB)")
    return told | {
        "title": loads.format(model=told["title"], size=f"{size / 1e6:.1f}"),
        "bytes": size,
        "digests": {file: sha256(content).hexdigest() for file, content in files.items()},
    }


@cache
def exported(name: str) -> dict[str, bytes]:
    """Export a checkpoint to the web in its precision: the files by their names."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, name)
        export_to_web(Run.open(CHECKPOINTS / name), made, OFFERS[name][0])
        return {path.name: path.read_bytes() for path in made.iterdir()}


def write_models(app: Sphinx, error: Exception | None) -> None:
    """Write the models into the site, and the service worker into its root."""
    if not error and app.builder.format == "html":
        fill(Path(app.outdir) / STATIC / "models")
        shutil.copy(Path(app.outdir, STATIC, SERVICE_WORKER), app.outdir)


def fill(folder: Path) -> None:
    """Write the models into a folder, each in its form."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (precision, *_rest) in OFFERS.items():
        files = exported(name)
        weights = base64.b64encode(files["model.safetensors"]).decode()
        description = files["model.json"].decode().strip()
        (folder / f"{name}.js").write_text(
            f'(globalThis.EMBEDDED ??= {{}})["{name}"] = '
            f'{{ description: {description}, weights: "{weights}" }};\n',
            encoding="utf-8",
        )
        if precision == "int8":
            (folder / name).mkdir(exist_ok=True)
            for file, content in files.items():
                (folder / name / file).write_bytes(content)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("laboratory", Laboratory)
    app.add_role("laboratory", Experiment())
    app.connect("build-finished", write_models)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
