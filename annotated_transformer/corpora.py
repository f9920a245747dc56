"""Corpora: parallel text, from the embedded grammar, from Multi30k, or from files of your own."""

import gzip
import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import requests

from annotated_transformer.errors import InputError
from annotated_transformer.toy import toy_corpus

TextPair = tuple[str, str]
"""A sentence and its translation."""

Links = frozenset[tuple[int, int]]
"""Links between words (source position, target position), both from 0."""

DATA_VARIABLE = "ANNOTATED_TRANSFORMER_DATA"
MULTI30K_COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
MULTI30K_URL = (
    f"https://raw.githubusercontent.com/multi30k/dataset/{MULTI30K_COMMIT}/data/task1/raw/"
)
MULTI30K_SHA256 = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
}


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs, by split: ``train``, ``val``, and one or more to test on."""

    name: str
    languages: tuple[str, str]
    splits: dict[str, list[TextPair]]
    alignments: dict[str, list[Links]] = field(default_factory=dict)  # gold, where it is known

    def split(self, name: str) -> list[TextPair]:
        """The pairs of one split.

        Raises:
            InputError: if the corpus has no such split, or nothing in it.
        """
        if name not in self.splits:
            raise InputError(
                f"{self.name} has no split {name!r}; it has {', '.join(sorted(self.splits))}."
            )
        if not self.splits[name]:
            raise InputError(f"{self.name} has 0 pairs in its split {name!r}, it needs some.")
        return self.splits[name]

    @property
    def test_split(self) -> str:
        """The name of the split that models are tested on: the first that begins with "test".

        Raises:
            InputError: if there is none.
        """
        for name in sorted(self.splits):
            if name.startswith("test"):
                return name
        raise InputError(f"{self.name} has no test split; it has {', '.join(self.splits)}.")


def load_corpus(corpus: str, languages: str | None = None) -> Corpus:
    """The corpus of that name, or in that folder or file.

    Args:
        corpus: ``toy`` (the embedded English–Korean grammar), ``multi30k`` (downloaded once), a
            folder with ``train.SRC``, ``train.TGT``, ``val.SRC``, … (plain or ``.gz``), or a TSV
            file of two columns.
        languages: source and target as in ``de-en``: which of a folder's languages is
            translated into which. By default the two are taken in alphabetical order. A TSV file
            has its source in the first column.

    Raises:
        InputError: if there is no such corpus, or it cannot be read or downloaded.
    """
    if corpus == "toy":
        if languages not in (None, "en-ko"):
            raise InputError(f"languages is {languages!r}, the toy corpus has only 'en-ko'.")
        splits = toy_corpus()
        return Corpus(
            "toy",
            ("en", "ko"),
            {
                name: [(" ".join(p.src), " ".join(p.tgt)) for p in pairs]
                for name, pairs in splits.items()
            },
            {name: [pair.alignment for pair in pairs] for name, pairs in splits.items()},
        )
    if corpus == "multi30k":
        return read_folder(multi30k_folder(), languages or "de-en", "multi30k")
    path = Path(corpus)
    if path.is_dir():
        return read_folder(path, languages)
    if path.is_file():
        return read_tsv(path, languages)
    raise InputError(
        f"there is no corpus {corpus!r}: give toy, multi30k, a folder or a TSV file that exists."
    )


def multi30k_folder() -> Path:
    """A folder with the files of Multi30k, every checksum verified; downloads what is missing.

    29,000 German–English pairs of image captions (Elliott et al. 2016), for research and teaching.
    They are kept in the user's cache, or read from ``multi30k`` in the folder that the environment
    variable ``ANNOTATED_TRANSFORMER_DATA`` names; nothing is downloaded then.

    Raises:
        InputError: if a file is missing or damaged, or the download fails.
    """
    import pooch  # here, because its import warns in a notebook without ipywidgets

    given = os.environ.get(DATA_VARIABLE)
    folder = Path(given or pooch.os_cache("annotated-transformer")) / "multi30k"
    for name, checksum in MULTI30K_SHA256.items():
        path = folder / name
        if not path.is_file():
            if given:
                raise InputError(
                    f"{path} is missing: put it there, or unset {DATA_VARIABLE} to download it."
                )
            _download(name, checksum, folder)
        elif pooch.file_hash(str(path)) != checksum:
            raise InputError(f"{path} is damaged (its SHA-256 is wrong): delete it and try again.")
    return folder


def _download(name: str, checksum: str, folder: Path) -> None:
    import pooch

    files = pooch.create(
        path=folder, base_url=MULTI30K_URL, registry={name: checksum}, retry_if_failed=3
    )
    try:
        files.fetch(name)
    except (requests.exceptions.RequestException, OSError) as error:
        raise InputError(
            f"{MULTI30K_URL}{name} could not be downloaded ({type(error).__name__}): check the "
            f"network, or set {DATA_VARIABLE} to a folder that holds multi30k/{name}."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{MULTI30K_URL}{name} arrived with a wrong SHA-256 checksum and was not kept: "
            f"try again, or set {DATA_VARIABLE} to a folder that holds multi30k/{name}."
        ) from error


def read_folder(folder: Path, languages: str | None = None, name: str | None = None) -> Corpus:
    """Read ``SPLIT.LANGUAGE`` files (plain or ``.gz``), one sentence a line, UTF-8.

    Raises:
        InputError: if the files do not pair up, or there is no ``train`` split.
    """
    files: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        split, _, language = path.name.removesuffix(".gz").rpartition(".")
        if split and path.is_file():
            files.setdefault(split, {})[language] = path
    found = tuple(sorted(files.get("train", {})))
    source, _, target = (languages or "-".join(found)).partition("-")
    if (len(found) != 2 and languages is None) or not {source, target} <= set(found):
        raise InputError(
            f"{folder} has training text in {', '.join(found) or 'no language'}: it needs "
            f"train.SRC and train.TGT, and languages (here {languages!r}) as SRC-TGT."
        )
    splits = {
        split: _pair_up(_read_lines(paths[source]), _read_lines(paths[target]), paths[target])
        for split, paths in files.items()
        if source in paths and target in paths
    }
    return Corpus(name or str(folder.resolve()), (source, target), splits)


def _read_lines(path: Path) -> list[str]:
    content = path.read_bytes()
    try:
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as UTF-8 text ({error}).") from error
    return [line.strip() for line in text.removesuffix("\n").split("\n")]


def _pair_up(sources: list[str], targets: list[str], path: Path) -> list[TextPair]:
    if len(sources) != len(targets):
        raise InputError(
            f"{path} has {len(targets)} lines, its source {len(sources)}: "
            "line by line, one must be the translation of the other."
        )
    return [(s, t) for s, t in zip(sources, targets, strict=True) if s and t]


def read_tsv(path: Path, languages: str | None = None) -> Corpus:
    """Read a two-column, tab-separated UTF-8 file; blank lines are left out.

    A twentieth of the pairs, chosen by a hash of the source sentence, becomes ``val``, another
    ``test``: equal sources never stand on both sides.

    Raises:
        InputError: if a line has not two columns, or a split would be empty.
    """
    splits: dict[str, list[TextPair]] = {"train": [], "val": [], "test": []}
    for number, line in enumerate(_read_lines(path), start=1):
        if not line:
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2:
            raise InputError(f"{path}, line {number}: {len(columns)} columns, there must be 2.")
        place = zlib.crc32(columns[0].encode()) % 20
        split = {0: "val", 1: "test"}.get(place, "train")
        splits[split].append((columns[0], columns[1]))
    if empty := [name for name, pairs in splits.items() if not pairs]:
        raise InputError(f"{path} is too small: nothing falls into {', '.join(empty)}.")
    source, _, target = (languages or "src-tgt").partition("-")
    return Corpus(str(path.resolve()), (source, target), splits)
