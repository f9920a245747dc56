"""For a translator of the Korean edition: what is missing or wrong in the catalogue of a page.

``python tools/korean.py check book/06_multi_head_attention`` names it, in a second and without a
build; ``read`` prints the Korean alone, ``count`` how much there is to translate on every page. The
tests ask the same.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from babel.messages import Message
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from catalogues import (  # noqa: E402
    catalogue_of,
    is_missing,
    messages,
    share,
    translated_pages,
    words,
)
from editions import EDITIONS  # noqa: E402

LANGUAGE = "ko"

# What a translation must have as the original has it. A role with a text counts by its target.
ROLE = re.compile(r"(?<!`)\{([a-z:]+)\}`(?:[^`<]*<([^`>]*)>|([^`]*))`")
PIECES = {
    "formula": re.compile(r"\$[^$]+\$"),
    "code": re.compile(r"`[^`]+`"),
    "link": re.compile(r"\]\([^)]*\)"),
    "footnote": re.compile(r"\[\^[^\]]*\]"),
    "placeholder": re.compile(r"\{\w*(?:[!:][^{}]*)?\}|%\(\w+\)s"),
    "number": re.compile(r"\d+(?:[.,]\d+)*(?![.,]?\d| [mb]illion)"),  # 134 million is 1억 3400만
}
# A particle depends on how the word before it ends, and nobody knows how a value will end.
ALTERNATES = re.compile(
    r"(?:\{glue:text\}`[^`]*`|\{\w+(?:[!:][^{}`]*)?\})\s?(?:은|는|이|가|을|를|과|와|으로|로)(?![가-힣])"
)
TRANSLATED_SOUND = re.compile("당신|되어지|어지게 되|에 의해|것들")
INTRODUCED = re.compile(r"([가-힣][가-힣 -]*?) ?\*{0,2}\(([A-Za-z][A-Za-z -]*)\)")


@cache
def terms() -> dict[str, tuple[str, list[str]]]:
    """Return from the glossary the Korean word of each term, and the other words that it lists."""
    found = {}
    for page in sorted((ROOT / "book").glob("**/glossary*.md")):
        text = page.read_text(encoding="utf-8")
        for entry in "\n\n".join(re.findall(r"(?s)```\{glossary[a-z-]*\}\n(.*?)\n```", text)).split(
            "\n\n"
        ):
            names = [line for line in entry.strip().splitlines() if not line.startswith(" ")]
            pairs = [re.split(r", (?![^(]*\))", line) for line in names]
            if len(pairs) == 2 and len(pairs[0]) == len(pairs[1]):
                for name, korean in zip(*pairs, strict=True):
                    word, _, others = korean.partition(" (")
                    key = re.sub(r" \(.*", "", name).lower()
                    found[key] = word, others.rstrip(")").split(", ") if others else []
    return found


def pieces(message: str) -> set[tuple[str, str]]:
    """Return formulas, code, roles, addresses and numbers of a message.

    >>> sorted(pieces("As {term}`내적 <dot product>` of $q$ and [4](x.md)"))
    [('formula', '$q$'), ('link', '](x.md)'), ('number', '4'), ('term', 'dot product')]
    """
    found = {(role, target or text) for role, target, text in ROLE.findall(message)}
    rest = ROLE.sub(" ", message)
    for kind, pattern in PIECES.items():
        found |= {(kind, piece) for piece in pattern.findall(rest)}
        rest = pattern.sub(" ", rest)
    return found


def stars(message: str) -> int:
    """Count the asterisks of a message that would be shown, because they open or close nothing."""
    text = PIECES["formula"].sub("$x$", ROLE.sub("`x`", message))
    shown = MarkdownIt().parseInline(text)[0].children or []
    return sum(token.content.count("*") for token in shown if token.type == "text")


def faults(source: str, korean: str) -> Iterator[str]:
    """Say what is wrong with a translation.

    >>> list(faults("The *value* of $v$", "**밸류(value)**는"))
    ['lacks formula $v$', 'shows *: bold ends before a bracket']
    """
    has, had = pieces(korean), pieces(source)
    yield from (f"lacks {kind} {piece}" for kind, piece in sorted(had - has))
    new = sorted(
        (kind, piece) for kind, piece in has - had if kind not in ("formula", "number", "code")
    )
    yield from (f"adds {kind} {piece}" for kind, piece in new)
    if stars(korean) > stars(source):
        yield "shows *: bold ends before a bracket"
    for pattern, reason in {
        ALTERNATES: "a particle after a value",
        TRANSLATED_SOUND: "sounds translated",
    }.items():
        yield from (f"{reason}: {found}" for found in pattern.findall(korean))
    for before, name in INTRODUCED.findall(korean):
        word, _ = terms().get(name.lower(), (before, ()))
        if not (before.endswith(word) or word.endswith(before)):  # of KV 캐시, 캐시 is found
            yield f"{name} is {word}, not {before}"
    for name, (word, others) in terms().items():
        used = [other for other in filter(EDITIONS[LANGUAGE].writes, others) if other in korean]
        if used and word not in korean and re.search(rf"(?i)\b{re.escape(name)}s?\b", source):
            yield f"{name} is {word}, not {used[0]}"


def faults_of(found: list[Message]) -> Iterator[str]:
    """Go through the messages of a page: first what is missing, then what is wrong."""
    for message in found:
        source, korean = str(message.id), str(message.string)
        if is_missing(message, LANGUAGE):
            yield f"not translated: {source[:70]}"
        elif korean:
            yield from (f"{fault}: {source[:70]}" for fault in faults(source, korean))


def main(action: str, pages: list[str]) -> int:
    """Do what is asked for some pages, or for all that have a catalogue; count the faults."""
    found = 0
    for page in pages or translated_pages(LANGUAGE):
        entries = messages(catalogue_of(page, LANGUAGE))
        if action == "check":
            said = [f"{page}: {fault}" for fault in faults_of(entries)]
            print(*said, sep="\n", end="\n" * bool(said))
            found += len(said)
        elif action == "read":
            print(*(message.string for message in entries if message.string), sep="\n\n")
        else:
            number = sum(len(words(str(message.id))) for message in entries)
            done = share(entries, LANGUAGE)
            print(f"{page:40} {len(entries):4} messages {number:6} words {done:4.0%}")
    return found


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], sys.argv[2:])))
