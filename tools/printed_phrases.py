"""Collect the phrases that pages print and draw, from their stored outputs and their code.

An output alone does not tell what is a message, and what a model said. A phrase is a message if
the code of its page, or the workbook that draws and shows, has it as a string; the values of an
f-string become ``{}``.
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from printed import BETWEEN, GAP, LABEL, PROGRAM, TEXT, WORD, Phrases, core, template  # noqa: E402

A_SENTENCE = 4
"""A printed line with so few words of the workbook is one of its sentences, not a model's."""
HEAD = re.compile(r"<th[^>]*>([^<>]+)</th>")


def literals(code: str) -> Iterator[str]:
    """Yield the strings of a program, and what a call of ``print`` joins; a value is ``{}``."""
    tree = ast.parse(re.sub(r"(?m)^[%!].*$", "", code))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (f"{word.arg}" for word in node.keywords if word.arg)
            if isinstance(node.func, ast.Name) and node.func.id == "print":
                yield " ".join(map(written, node.args))
        elif isinstance(node, ast.JoinedStr | ast.Constant):
            yield written(node)


def written(node: ast.expr) -> str:
    """Return a string of the code with ``{}`` for values."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(written, node.values))
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else "{}"


def phrases(text: str) -> Iterator[str]:
    """Yield the phrases of a text that have words."""
    for phrase in GAP.split(text):
        if WORD.search(phrase.replace("{}", " ")):
            yield phrase.strip()


def known(codes: Iterator[str]) -> dict[str, str]:
    """Return what can be a message: phrases of the code, and their pieces."""
    found = {template(p) for code in codes for text in literals(code) for p in phrases(text)}
    pieces = {core(piece) for phrase in found for piece in (phrase, *BETWEEN.split(phrase))}
    whole = found | {piece for piece in pieces if WORD.search(piece)}
    return {one: one for one in whole if not re.search(r"[{}]", one.replace("{}", ""))}


@cache
def of_the_workbook() -> dict[str, str]:
    """Return the phrases of what draws and shows."""
    folder = ROOT / "transformer_workbook"
    files = [*folder.glob("notebook/*.py"), *folder.glob("chapters/*/[fp]*.py")]  # figures, proofs
    return known(path.read_text(encoding="utf-8") for path in files)


def outputs(cell: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the kind of each output of a cell, and its texts."""
    for output in cell.get("outputs", []):
        data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
        if output["output_type"] == "stream":
            yield "text", ["".join(output["text"])]
        elif svg := data.get("image/svg+xml"):
            yield "svg", [unescape(found["said"]) for found in LABEL.finditer(svg)]
        elif (html := data.get("text/html")) and not PROGRAM.search(html):
            yield "html", [unescape(text) for text in TEXT.findall(html)]
            yield "head", [unescape(text) for text in HEAD.findall(html)]


def said(phrases: Phrases, phrase: str) -> Iterator[str]:
    """Yield the messages that a phrase is made of, and those in their places."""
    for message, found in phrases.find(phrase):
        yield message
        for value in found.groups():
            yield from said(phrases, value)


def messages(notebook: dict[str, Any]) -> Iterator[str]:
    """Yield the messages of a page's outputs."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    own = known("".join(cell["source"]) for cell in cells)
    sentences = {m: m for m in of_the_workbook() if len(WORD.findall(m)) >= A_SENTENCE}
    on_page, drawn = Phrases(sentences | own), Phrases(of_the_workbook() | own)
    for kind, texts in chain.from_iterable(map(outputs, cells)):
        for phrase in chain.from_iterable(map(phrases, texts)):
            if kind == "head":
                yield core(template(phrase))
            else:
                yield from said((on_page if kind == "text" else drawn), phrase)


def all_messages() -> Iterator[tuple[str, str]]:
    """Yield the messages of all pages, each with its page."""
    for path in sorted(ROOT.glob("book/**/*.ipynb")):
        for message in messages(json.loads(path.read_text(encoding="utf-8"))):
            yield message, str(path.relative_to(ROOT))
