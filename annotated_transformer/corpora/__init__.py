"""Corpora: text of one or two languages from the toy grammar, Multi30k, or files."""

import gzip
import os
import shlex
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from annotated_transformer.corpora.drawn import toy_corpus
from annotated_transformer.corpora.multi30k import multi30k_folder
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import (
    LONGEST_WORD,
    StrPath,
    require_content,
    require_path,
    with_short_words,
)
from annotated_transformer.ground.settings import BRIEF
from annotated_transformer.text.cleaning import clean

Links = frozenset[tuple[int, int]]
"""Alignment links (source position, target position), both counted from 0."""


UNNAMED = ("text", "src-tgt")
"""The languages of a file, plain or TSV, for which none are given."""

WANTED = (
    "it needs some: a twentieth of a TSV file, chosen by a hash of the source, is val, so that a "
    "short one may have none: make a folder of train.SRC, train.TGT, val.SRC and val.TGT"
)
"""What a split without pairs needs."""

WANTED_ALONE = "it needs some: three lines of a text file, or train.en and val.en in a folder"
"""What a split of one language without sentences needs."""

COMPRESSED = {b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"(\xb5/\xfd": "zstd",
              b"7z\xbc\xaf": "7z", b"\x1f\x8b": "gzip"}  # fmt: skip
"""The first bytes of compressed files. Gzip is read where the name ends in ``.gz``."""

PACKED = (".xz", ".zip", ".bz2", ".zst", ".7z", ".tar", ".tgz")
"""The name endings of compressed files, except ``.gz``."""

Texts = tuple[str, ...]
"""A sentence and its translation; in a corpus of one language, a single sentence."""


MARKS = str.maketrans({"\0": "\0" + "0", "\t": "\0t", "\n": "\0n"})
"""Escapes NUL, tab and newline, so that different corpora give different bytes to a checksum."""


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs by split: ``train``, ``val``, and one or more test splits.

    A corpus of one language has single sentences instead: tuples of one text. A split is read
    again each time it is iterated over; it need not fit into memory.
    """

    name: str
    languages: tuple[str, ...]  # two, or one
    splits: Mapping[str, Iterable[Texts]]
    alignments: Mapping[str, list[Links]] = field(default_factory=dict)  # gold, where it is known

    def split(self, name: str) -> Iterable[Any]:
        """Return the pairs of one split, or its sentences, each as a tuple.

        Raises:
            InputError: if the corpus has no such split, the split is empty, or it cannot be read.
        """
        if name not in self.splits:
            raise InputError(
                f"{self.name} has no split {name!r}; it has {', '.join(sorted(self.splits))}."
            )
        if next(iter(self.splits[name]), None) is None:
            wanted = f"sentences in its split {name!r}, {WANTED_ALONE}"
            if self.kind == "pairs":
                wanted = f"pairs in its split {name!r}, {WANTED}"
            raise InputError(f"{self.name} has 0 {wanted}.")
        return self.splits[name]

    def sides(self, name: str) -> tuple[list[str], ...]:
        """Return the sources and the targets of one split; or the sentences of a single language.

        Raises:
            InputError: as for :meth:`split`.
        """
        return tuple(map(list, zip(*self.split(name), strict=True)))

    def place(self, name: str, index: int) -> str:
        """Say where the pair of that index (from 0) is: the line of its file, if it has one."""
        split = self.splits[name]
        if isinstance(split, FileSplit):
            line, _ = next(islice(split.numbered(), index, None))
            return f"{split.path}, line {line:,}"
        return f"pair {index + 1:,} of {name}"

    @property
    def kind(self) -> str:
        """Return what it has: pairs or sentences."""
        return "pairs" if len(self.languages) == 2 else "sentences"

    @property
    def direction(self) -> str | None:
        """Return its languages as in ``de-en`` or ``de``; ``None`` if they were not named."""
        direction = "-".join(self.languages)
        return None if direction in UNNAMED else direction

    @cached_property
    def checksum(self) -> str:
        """Compute a SHA-256 of all text that a training reads: the splits ``train`` and ``val``.

        Raises:
            InputError: if one of them is empty, or cannot be read.
        """
        digest = sha256()
        for name in ("train", "val"):
            for texts in self.split(name):
                marked = (text.translate(MARKS) for text in texts)  # so that no two are the same
                digest.update("\t".join([name, *marked]).encode() + b"\n")
        return digest.hexdigest()

    @property
    def test_split(self) -> str:
        """Return the name of the split for testing: the first that begins with "test".

        Raises:
            InputError: if there is none.
        """
        for name in sorted(self.splits):
            if name.startswith("test"):
                return name
        raise InputError(f"{self.name} has no test split; it has {', '.join(self.splits)}.")


def load_corpus(corpus: StrPath, languages: str | None = None) -> Corpus:
    """Load the corpus of that name, or the one in that folder or file.

    Args:
        corpus: ``toy`` (the embedded English–Korean grammar), ``multi30k`` (downloaded once), a
            folder with ``train.SRC``, ``train.TGT``, ``val.SRC``, … (plain or ``.gz``), a TSV
            file of two columns, or a plain text file, whose last twentieth of lines is ``test``,
            and the one before it ``val``.
        languages: source and target as in ``de-en``. By default the two languages of a folder
            are taken in alphabetical order. A TSV file
            has its source in the first column. With one language, as in ``de``, the corpus has
            single sentences of that language.

    Raises:
        InputError: if there is no such corpus, or it cannot be read or downloaded.
    """
    path = require_path("corpus", corpus)
    if languages is not None and not isinstance(languages, str):
        raise InputError(f"languages is {languages!r}, it must be a text such as 'de-en'.")
    if named := CORPORA.get(os.fspath(corpus)):
        return named.read(named.languages if languages is None else languages)
    if corpus and path.is_dir():  # an empty text would be the current folder
        return read_folder(path, languages)
    if path.is_file() and _is_plain(path, languages):
        parts = {name: _Part(path, name=name) for name in ("train", "val", "test")}
        return Corpus(str(path.resolve()), (languages or UNNAMED[0],), parts)
    if path.is_file():
        return read_tsv(path, languages)
    raise InputError(
        f"there is no corpus {os.fspath(corpus)!r}: give {', '.join(CORPORA)}, a folder or a file "
        "that exists."
    )


def _is_plain(path: Path, languages: str | None) -> bool:
    """Tell whether a file has text of one language: its first line that is not blank has no tab."""
    alone = languages is None or (languages != "" and "-" not in languages)
    if not alone or path.name.removesuffix(".gz").endswith(".tsv"):
        return False
    return "\t" not in next(filter(clean, _lines(path)), "")


def read_toy(languages: str) -> Corpus:
    """Read the sentence pairs of the toy grammar, ``en-ko``, or its sentences of one language.

    Raises:
        InputError: if it does not have these languages.
    """
    wanted = tuple(languages.split("-"))
    if wanted not in (("en", "ko"), ("en",), ("ko",)):
        raise InputError(f"languages is {languages!r}, the toy corpus has 'en-ko', 'en' and 'ko'.")
    splits, gold = {}, {}
    for name, pairs in toy_corpus().items():
        sides = {"en": (" ".join(p.src) for p in pairs), "ko": (" ".join(p.tgt) for p in pairs)}
        splits[name] = list(zip(*(sides[language] for language in wanted), strict=True))
        gold[name] = [pair.alignment for pair in pairs]
    return Corpus("toy", wanted, splits, gold if len(wanted) == 2 else {})


def read_folder(folder: StrPath, languages: str | None = None, name: str | None = None) -> Corpus:
    """Read ``SPLIT.LANGUAGE`` files (plain or ``.gz``), one sentence a line, UTF-8.

    Raises:
        InputError: if the files do not pair up, or there is no ``train`` split.
    """
    folder, files = require_path("folder", folder), dict[str, dict[str, Path]]()
    for path in sorted(folder.iterdir()):
        split, _, language = path.name.removesuffix(".gz").rpartition(".")
        if split and path.is_file():
            if language in files.setdefault(split, {}):
                raise InputError(
                    f"{folder} has both {files[split][language].name} and {path.name}: keep the "
                    "one that is meant, and move the other away."
                )
            files[split][language] = path
    found = tuple(sorted(files.get("train", {})))
    if languages in found:
        return Corpus(name or str(folder.resolve()), (languages,), _splits(files, languages))
    asked = ("-".join(found) if languages is None else languages).split("-")
    ways = [("-".join(asked[:i]), "-".join(asked[i:])) for i in range(1, len(asked))]
    source, target = next((way for way in ways if {*way} <= set(found)), ("", ""))
    if (len(found) != 2 and languages is None) or not {source, target} <= set(found):
        endings = ((path, path.suffix.lower()) for path in sorted(folder.iterdir()))
        packed = [
            path.name for path, end in endings if end in PACKED or end == ".gz" != path.suffix
        ]
        hint = f" {packed[0]} is compressed: decompress it, or let it end in .gz." if packed else ""
        raise InputError(
            f"{folder} has training text in {', '.join(found) or 'no language'}: it needs "
            f"train.SRC and train.TGT, and languages (here {languages!r}) as SRC-TGT; or, for a "
            f"model of one language, train.en and val.en, and --languages en.{hint}"
        )
    _require_two(source, target)
    return Corpus(name or str(folder.resolve()), (source, target), _splits(files, source, target))


def _splits(files: Mapping[str, Mapping[str, Path]], *languages: str) -> dict[str, "FileSplit"]:
    return {
        split: LinesOfFiles(paths[languages[0]], tuple(paths[other] for other in languages[1:]))
        for split, paths in files.items()
        if {*languages} <= paths.keys()
    }


@dataclass(frozen=True)
class FileSplit:
    """Texts stored in the lines of a file; they are read whenever they are iterated over."""

    path: Path  # of the first language

    def __iter__(self) -> Iterator[Texts]:
        """Read the texts, as :meth:`numbered` does."""
        return (texts for _, texts in self.numbered())

    def numbered(self) -> Iterator[tuple[int, Texts]]:
        """Read the texts with their line numbers, from 1."""
        raise NotImplementedError(f"{type(self).__name__} does not implement numbered.")


@dataclass(frozen=True)
class LinesOfFiles(FileSplit):
    """One file (plain or ``.gz``, UTF-8), or two, whose lines are translations of each other.

    Lines that are blank on one side are left out.
    """

    others: tuple[Path, ...] = ()  # of the target, if there is one

    def numbered(self) -> Iterator[tuple[int, Texts]]:
        """Read the texts with their line numbers, from 1.

        Raises:
            InputError: if a file is not UTF-8 text, or one has more lines than the other.
        """
        paths = (self.path, *self.others)
        for number, lines in enumerate(zip_longest(*map(_lines, paths)), start=1):
            if None in lines:
                shorter, longer = paths[:: 1 if lines[0] is None else -1]
                raise InputError(
                    f"{longer} has more lines than {shorter}, which has {number - 1}: line by "
                    "line, one must be the translation of the other, and its next line is "
                    f"{BRIEF.repr(lines[0] or lines[-1])}."
                )
            if all(texts := tuple(map(clean, lines))):
                yield number, texts


@dataclass(frozen=True)
class _Part(LinesOfFiles):
    """The lines of one split of a plain text file: its last twentieth is test, then comes val."""

    name: str = "train"

    def numbered(self) -> Iterator[tuple[int, Texts]]:
        """Read the lines with their numbers, from 1: ``train``, ``val``, ``test`` in this order."""
        total = sum(1 for _ in super().numbered())
        few = max(1, total // 20)
        ends = {"train": (0, 2 * few), "val": (total - 2 * few, few), "test": (total - few, 0)}
        first, after = ends[self.name]
        return islice(super().numbered(), max(0, first), max(0, total - after))


@dataclass(frozen=True)
class TsvSplit(FileSplit):
    """The pairs of one split of a two-column, tab-separated UTF-8 file, without blank lines."""

    name: str

    def numbered(self) -> Iterator[tuple[int, Texts]]:
        """Read the pairs with their line numbers, from 1.

        Raises:
            InputError: if a line does not have two columns, the first is blank, or the file is not
                UTF-8 text.
        """
        for number, line in enumerate(_lines(self.path), start=1):
            if not clean(line):
                continue
            columns = [*map(clean, line.split("\t"))]
            if len(columns) != 2 or not all(columns):
                name = shlex.quote(self.path.name)
                more = f": `cut -f1,2 {name} > two.tsv` leaves two" * (len(columns) > 2)
                if len(columns) == 1 < number:
                    more = "; a file whose first line has a tab is one of pairs"
                raise InputError(
                    f"{self.path}, line {number}: {len(columns)} columns, 2 with text are "
                    f"needed{more}."
                )
            place = zlib.crc32(columns[0].encode()) % 20
            if {0: "val", 1: "test"}.get(place, "train") == self.name:
                yield number, (columns[0], columns[1])


def _lines(path: Path) -> Iterator[str]:
    try:
        _require_plain(path)
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                place = f"{path}, line {number:,}"
                text = (line.removeprefix(BOM_UTF8) if number == 1 else line).decode().rstrip()
                require_lines(text, place)
                if len(text) > LONGEST_WORD:  # every line is cleaned later
                    with_short_words(clean(text), f"{place}: ")
                yield text
    except UnicodeDecodeError as error:
        if error.object.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise InputError(f"{path} is UTF-16 text, it must be UTF-8.") from error
        raise InputError(f"{place} cannot be read as UTF-8 text ({error}).") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read as UTF-8 text ({error}).") from error


def _require_plain(path: Path) -> None:
    start = require_content(path)
    kind = next((kind for mark, kind in COMPRESSED.items() if start.startswith(mark)), None)
    if kind and not (kind == "gzip" and path.suffix == ".gz"):
        raise InputError(f"{path} is compressed ({kind}): decompress it; gzip may end in .gz.")


def require_lines(text: str, place: str) -> None:
    """Refuse a line that contains a NUL or a carriage return.

    Raises:
        InputError: if it does; the message begins with the line's place.
    """
    if "\0" in text:
        raise InputError(
            f"{place} contains a NUL character: if it is UTF-16, `iconv -f UTF-16LE -t UTF-8` "
            "(or UTF-16BE) converts it to UTF-8."
        )
    if "\r" in text:
        raise InputError(
            f"{place} contains a carriage return: if all lines end in one, `tr '\\r' '\\n'` "
            "converts the line ends."
        )


def _require_two(source: str, target: str) -> None:
    if source == target:
        raise InputError(f"languages is '{source}-{target}', source and target must be different.")


def read_tsv(path: StrPath, languages: str | None = None) -> Corpus:
    """Read a two-column, tab-separated UTF-8 file; blank lines are left out.

    A twentieth of the pairs, chosen by a hash of the source sentence, becomes ``val``, another
    ``test``: equal sources are always in the same split.

    Raises:
        InputError: if the languages are not two different ones.
    """
    path = require_path("path", path)
    source, _, target = ("src-tgt" if languages is None else languages).partition("-")
    if not (source and target):
        raise InputError(
            f"languages is {languages!r}, it must be SRC-TGT for two columns, for example de-en."
        )
    _require_two(source, target)
    splits = {name: TsvSplit(path, name) for name in ("train", "val", "test")}
    return Corpus(str(path.resolve()), (source, target), splits)


class NamedCorpus(NamedTuple):
    """A corpus that is known by its name: its languages, its reader, the recipe made for it."""

    languages: str
    read: Callable[[str], Corpus]
    recipe: str = "medium"


CORPORA = {
    "toy": NamedCorpus("en-ko", read_toy, "tiny"),
    "multi30k": NamedCorpus(
        "de-en", lambda languages: read_folder(multi30k_folder(), languages, "multi30k")
    ),
}
"""The corpora that have a name; others are a folder or a file."""
