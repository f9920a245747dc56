"""Encoded text: the vocabularies and ids of a corpus, made once and shared by all runs.

They are kept in the user's cache, or in the folder that the environment variable
``ANNOTATED_TRANSFORMER_CACHE`` names; deleted or damaged files there are made again.
"""

from collections.abc import Callable, Iterable
from hashlib import file_digest, sha256
from pathlib import Path

import numpy as np
from filelock import FileLock
from jaxtyping import Int
from tqdm import tqdm

from annotated_transformer.corpora import Corpus
from annotated_transformer.corpora.cache import CACHE_VARIABLE, kept_in
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.sentences import spoken
from annotated_transformer.run.files import discard, fill_folder
from annotated_transformer.run.screen import SCREEN, tell
from annotated_transformer.run.sentence_pieces import vocabulary_of_json
from annotated_transformer.text.examples import (
    SIDES,
    Example,
    Examples,
    files_of,
    read_examples,
    write_examples,
)
from annotated_transformer.tokens import UNK, Vocabularies, Vocabulary

FILES = ("vocabulary.src.json", "vocabulary.tgt.json")
JOINT = "vocabulary.json"
"""The one file if source and target have the same vocabulary; before 0.3 there were always two."""
SUMS = "sha256"
"""The file in a folder of the cache with the checksum of the others."""

PATIENCE = 5  # seconds before a progress bar is shown
ALMOST_NONE = 0.005  # the share of unknown tokens below which nothing is said
PART = 2**20  # tokens that are counted at once


def learned_vocabularies(corpus: Corpus, subwords: int) -> Vocabularies:
    """Learn the vocabularies of a corpus, from its training split only.

    Raises:
        InputError: if that split is empty, or cannot be read.
    """

    def learn(folder: Path) -> None:
        pairs = corpus.split("train")
        write_vocabularies(Vocabularies.learn(pairs, subwords), folder)

    return read_vocabularies(
        _made_once(f"{corpus.checksum}-cleaned-{subwords}", vocabulary_files, learn)
    )


def training_pairs(
    corpus: Corpus, vocabularies: Vocabularies, longest: int
) -> tuple[Examples, int]:
    """Map the training split, as ids, into memory, and count the pairs that are left out.

    Those are the pairs of which a side has more than ``longest`` tokens.

    Raises:
        InputError: if that split is empty, or cannot be read.
    """

    def encode(folder: Path) -> None:
        chunks = vocabularies.encode_in_chunks(corpus.split("train"))
        write_examples(folder, _shown(chunks), sides)

    sides = SIDES[-len(corpus.languages) :]  # without a source, a sentence is a target
    text = "".join(vocabulary.to_json() for vocabulary in vocabularies)
    name = f"{corpus.checksum}-ids-{sha256(text.encode()).hexdigest()[:16]}"
    everything = read_examples(_made_once(name, lambda _: files_of(sides), encode), sides)
    kept = everything.within(longest)
    return kept, len(everything) - len(kept)


def told_unknown(split: str, examples: Examples, most: float = 1.0) -> str:
    """Say what share of each side of a split is unknown to the vocabulary; nothing if hardly any.

    Raises:
        InputError: if that is more than ``most`` of a side.
    """
    shares = [_unknown(side.ids) for side in examples.sides]
    whose = f"{shares[0]:.0%} of the"
    if len(shares) == 2:
        whose = f"{shares[0]:.0%} of the source's and {shares[1]:.0%} of the target's"
    told = f"{whose} tokens in {split} are unknown to the vocabulary"
    if max(shares) > most:
        raise InputError(
            f"{told}, at most {most:.0%} may be: use text in the languages, and written as that, "
            "of the model, or --force."
        )
    return f"{told}." if max(shares) >= ALMOST_NONE else ""


def _unknown(ids: Int[np.ndarray, " tokens"]) -> float:
    """Compute the share of unknown tokens; few of the tokens are in memory."""
    parts = (ids[start : start + PART] for start in range(0, len(ids), PART))
    return sum(int((part == UNK).sum()) for part in parts) / max(1, len(ids))


def vocabulary_files(folder: Path) -> tuple[str, str]:
    """Name the files of the vocabularies of source and target in a folder: two, or twice one."""
    return FILES if any((folder / name).exists() for name in FILES) else (JOINT, JOINT)


def write_vocabularies(vocabularies: Vocabularies, folder: Path) -> None:
    """Write both vocabularies into a folder, into one file if they are the same."""
    src, tgt = texts = [vocabulary.to_json() for vocabulary in vocabularies]
    for name, text in zip((JOINT,) if src == tgt else FILES, texts, strict=False):
        (folder / name).write_text(text, encoding="utf-8")


def read_vocabularies(folder: Path) -> Vocabularies:
    """Read what :func:`write_vocabularies` wrote.

    Raises:
        InputError: if a file does not contain a vocabulary.
        OSError: if there is no such file.
    """
    names = vocabulary_files(folder)
    read = {name: _read_vocabulary(folder / name) for name in names}
    return Vocabularies(*(read[name] for name in names))


def _read_vocabulary(path: Path) -> Vocabulary:
    try:
        return vocabulary_of_json(path.read_text(encoding="utf-8"))
    except ValueError as error:  # also if it is not text
        raise InputError(f"{path} holds no vocabulary: {error}") from error


def _shown(chunks: Iterable[list[Example]]) -> Iterable[list[Example]]:
    """Count the pairs of chunks on stderr if it takes long; the chunks stay the same."""
    desc, unit = spoken("encoding"), spoken(" pairs")
    with tqdm(desc=desc, unit=unit, delay=PATIENCE, dynamic_ncols=True, file=SCREEN) as bar:
        for chunk in chunks:
            yield chunk
            bar.update(len(chunk))


def _made_once(
    name: str, files: Callable[[Path], Iterable[str]], make: Callable[[Path], None]
) -> Path:
    """Return the folder of that name in the cache; the first process that needs it fills it.

    If its files have changed, it is filled again. ``files`` names those of a folder.
    """
    folder = kept_in(CACHE_VARIABLE) / "encoded" / name

    def checksum(place: Path) -> str:
        digest = sha256()
        for file in files(place):
            with (place / file).open("rb") as opened:
                digest.update(file_digest(opened, "sha256").digest())
        return digest.hexdigest()

    def fill(place: Path) -> None:
        make(place)
        (place / SUMS).write_text(checksum(place), encoding="utf-8")

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{name}.lock")):
            there = all((folder / file).is_file() for file in (*files(folder), SUMS))
            if not there or (folder / SUMS).read_bytes() != checksum(folder).encode():
                if there:
                    tell(f"{folder} is damaged: it is made again.")
                discard(folder)
                fill_folder(folder, fill)
    except OSError as error:
        raise InputError(
            f"encoded text cannot be kept ({error}): let {CACHE_VARIABLE} name a folder for it."
        ) from error
    return folder
