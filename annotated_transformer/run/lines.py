"""Lines: translate text of any length line by line; a bad line does not affect the others."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from threading import Thread

import torch

from annotated_transformer.decoding import Search
from annotated_transformer.ground.devices import CPU
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_search
from annotated_transformer.run.engines import ENGINES, Translating
from annotated_transformer.run.files import quoted
from annotated_transformer.run.folder import Run
from annotated_transformer.run.sentence_pieces import SentencePieces
from annotated_transformer.run.sentences import LANGUAGE_CODE, sentence_splitter, text_of
from annotated_transformer.text.cleaning import clean
from annotated_transformer.tokens import UNK
from annotated_transformer.translation import require_known, search_all, unknown_words

LONGEST = 100_000
"""Bytes of a line: a longer one is not a sentence."""

CHUNK = 1000
"""Number of lines that are read, sorted by length and translated together."""

MANY = 4 * CHUNK
"""Number of lines from which a second process is worth its start, which takes seconds."""


@dataclass(frozen=True)
class Line:
    """The translations of a line, the best first; if it has a fault, they are empty."""

    translations: list[str]
    fault: str | None = None
    unknown: tuple[str, ...] = ()  # words with tokens that the vocabulary does not know


def damage_of(line: bytes) -> str | None:
    """Say why a line is not text, as the end of a sentence; ``None`` if it is."""
    if len(line) > LONGEST:
        return f"has more than {LONGEST:,} bytes"
    if text_of(line) is None:
        return "is not UTF-8 text"
    if b"\0" in line:
        return "contains a NUL character (it may be UTF-16)"
    if b"\r" in line:
        return "contains a carriage return (its lines may end in one)"
    return None


def put_together(sentences: Sequence[Line]) -> Line:
    """Join the lines of some sentences: their translations, or the first fault."""
    fault = next((line.fault for line in sentences if line.fault), None)
    text = " ".join(line.translations[0] for line in sentences)
    unknown = chain.from_iterable(line.unknown for line in sentences)
    return Line([""] if fault else [text], fault, tuple(dict.fromkeys(unknown)) * (not fault))


def lines_of(readline: Callable[[int], bytes]) -> Iterator[bytes]:
    """Iterate over the lines of a stream; of a line that is too long, read only enough to see it.

    ``readline`` reads the next line, or that many bytes if it has more.
    """
    while line := readline(LONGEST + 2):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = readline(LONGEST)
        yield line.rstrip(b"\r\n") if rest is line else line


@dataclass(frozen=True)
class LineTranslator:
    """Translates the lines of a text, with the engine of the run's recipe."""

    run: Run
    search: Search
    prefix: str | None = None
    precision: str = "float32"
    split: str | None = None  # the language by whose rules lines are split into sentences

    def __post_init__(self) -> None:
        """Refuse a prefix with unknown words, and settings that do not allow splitting.

        Raises:
            InputError: if the model continues texts, the vocabulary does not know all of the
                prefix, or lines are split into sentences and have a prefix or more than one
                translation, or cannot be split.
        """
        require_search(self.search)
        if not self.run.recipe.has_source:
            raise InputError(
                f"{self.run.folder} continues a text, it does not translate: "
                f"`annotated-transformer generate {quoted(self.run.folder)}` does that."
            )
        prefix = self.prefix or ""
        require_known("prefix", prefix, self.run.vocabularies.tgt)
        if self.split is not None:
            sentence_splitter(self.split)
            if prefix or self.search.best > 1:
                raise InputError(
                    f"prefix is {prefix!r} and best is {self.search.best}: with lines split into "
                    "sentences, there must be no prefix, and best must be 1."
                )

    @cached_property
    def translating(self) -> Translating:
        """What yields the model that translates inside a block."""
        return ENGINES[self.run.recipe.engine].translating(self.run.model, self.precision)

    def fault(self, line: bytes, ids: Sequence[int], prefix: Sequence[int]) -> str | None:
        """Say what is wrong with a line, as the end of a sentence; an empty line is valid.

        ``ids`` are its tokens, ``prefix`` those with which its translation has to begin.
        """
        model = self.run.model
        longest = (model.max_length or LONGEST) - model.is_one_text  # BOS comes after the source
        room = min(len(ids) + 1 + self.search.extra_length, longest)
        if damage := damage_of(line):
            return damage
        if line and not (ids and clean(text_of(line) or "")):
            return "has only white space"
        code = LANGUAGE_CODE.match(text_of(line) or "")
        src = self.run.vocabularies.src
        if code and isinstance(src, SentencePieces) and code[0] not in src.languages:
            return (
                f"begins with {code[0]}, and the model has {', '.join(src.languages) or 'no codes'}"
            )
        known = [i for i in ids if i != UNK]
        if ids and not self.run.vocabularies.src.decode(known).strip():
            return "has no token that the vocabulary knows"
        if len(ids) >= longest:
            return (
                f"has {len(ids) + 1} tokens with its end symbol, the model takes {longest}: "
                "shorten it, or train with a larger max_length"
            )
        if ids and len(prefix) > room:
            return f"may have a translation of {room} tokens, and the prefix has {len(prefix)}"
        return None

    def __call__(self, lines: Sequence[bytes]) -> list[Line]:
        """Translate some lines, each as if it came alone."""
        if self.split is None:
            return self.whole(lines)
        split = sentence_splitter(self.split)
        cut = [[line] if damage_of(line) else split(line) for line in lines]
        found = iter(self.whole(list(chain.from_iterable(cut))))
        return [put_together(list(islice(found, len(sentences)))) for sentences in cut]

    def whole(self, lines: Sequence[bytes]) -> list[Line]:
        """Translate some lines, each as one sentence."""
        (src, tgt), search = self.run.vocabularies, self.search
        prefix = tgt.encode(self.prefix or "")
        ids = src.encode_all([text_of(line) or "" for line in lines])
        faults = [self.fault(line, each, prefix) for line, each in zip(lines, ids, strict=True)]
        sources = [[] if fault else each for each, fault in zip(ids, faults, strict=True)]
        with self.translating() as model:
            found = search_all(model, sources, search, [prefix] * len(lines))
        return [
            Line(
                [tgt.decode(hypothesis.tokens) for hypothesis in best],
                fault,
                self.unknown(text_of(line) or "") if UNK in each and not fault else (),
            )
            for line, each, best, fault in zip(lines, ids, found, faults, strict=True)
        ]

    def unknown(self, text: str) -> tuple[str, ...]:
        """List the words of a text that the vocabulary does not know completely, each once."""
        return unknown_words(text, self.run.vocabularies.src)

    def translate(self, lines: Iterable[bytes], workers: int | None = None) -> Iterator[Line]:
        """Translate any number of lines, in order; few of them are in memory.

        This process translates them, a thousand lines at a time, or by ``workers`` processes,
        each of which loads the model once. By default there are two for a text of thousands of
        lines on a CPU with two cores or more; to find out, that many lines are read first.

        Raises:
            InputError: if a process was killed.
        """
        rest = iter(lines)
        chunks = iter(lambda: list(islice(rest, CHUNK)), [])
        if workers is None and self.run.device.type == CPU and (os.cpu_count() or 1) > 1:
            first = list(islice(chunks, MANY // CHUNK))
            workers = 2 if sum(map(len, first)) >= MANY else 1
            chunks = chain(first, chunks)
        number = workers or 1
        found = self.by_processes(chunks, number) if number > 1 else map(self, chunks)
        return chain.from_iterable(found)

    def by_processes(
        self, chunks: Iterable[Sequence[bytes]], workers: int
    ) -> Iterator[Sequence[Line]]:
        """Translate chunks of lines by several processes."""
        own = replace(self, run=replace(self.run))  # without the loaded model: each loads its own
        threads = max(1, torch.get_num_threads() // workers)
        pool = ProcessPoolExecutor(workers, get_context("spawn"), begin, (own, threads))
        waiting: deque[Future[list[Line]]] = deque()
        try:
            for chunk in chunks:
                waiting.append(pool.submit(go_on, chunk))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise InputError("a process that translates was killed: use --workers 1.") from error
        finally:
            pool.shutdown(cancel_futures=True)


translator: Callable[[Sequence[bytes]], list[Line]]
"""The translator of a worker process."""


def begin(given: LineTranslator, threads: int) -> None:
    """Start a worker process; Ctrl-C is handled by its parent."""
    global translator
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    translator = given


def end_with_parent() -> None:
    """End this process when its parent has ended, however that happened."""
    if parent := parent_process():
        parent.join()
        os._exit(1)


def go_on(chunk: Sequence[bytes]) -> list[Line]:
    """Translate a chunk in a worker process."""
    return translator(chunk)
