"""Sentences: split a line of text into its sentences."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable

from annotated_transformer.ground.errors import InputError, require_library

LANGUAGE_CODE = re.compile(r">>[^<>\s]+<<")
"""The prefix of a text that tells some models the language to translate into."""


def text_of(line: bytes) -> str | None:
    """Decode a line, without white space and a byte-order mark; ``None`` if it is not UTF-8."""
    try:
        return line.removeprefix(BOM_UTF8).decode().strip()
    except UnicodeDecodeError:
        return None


def sentence_splitter(language: str) -> Callable[[bytes], list[bytes]]:
    """Make a function that splits a line into at least one sentence by the rules of a language.

    A code of the language to translate into, such as ``>>fra<<``, is put before each sentence.

    Raises:
        InputError: if ``language`` is not a code of ISO 639, or sentencex is not installed.
    """
    if not re.fullmatch("[a-z]{2,3}", language):
        raise InputError(f"the language is {language!r}, it must be a code such as en, de or ko.")
    segment = require_library("sentencex", "sentences").segment

    def split(line: bytes) -> list[bytes]:
        text = text_of(line) or ""
        code = "".join(LANGUAGE_CODE.findall(text)[: text.startswith(">>")])
        sentences = map(str.strip, segment(language, text.removeprefix(code)))
        return [f"{code}{sentence}".encode() for sentence in sentences if sentence] or [line]

    return split
