"""Inputs: what public functions refuse before PyTorch misreads it.

Each check is made once, where a tensor or a list comes in; the code inside does not repeat it.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from numbers import Real
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.settings import BRIEF

StrPath = str | os.PathLike[str]
"""What is taken as a path."""

LARGEST_ID = 2**31 - 1

IDS = (torch.int64, torch.int32)
"""The types that a tensor of ids may have."""

LONGEST_WORD = 10_000
"""Characters: the time to learn subwords from a word grows with the square of its length."""


def is_utf8(text: str) -> bool:
    """Tell whether a text can be shown and written: a Python string may contain half characters."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _each(name: str, given: Any) -> Any:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InputError(f"{name} is {BRIEF.repr(given)}, it must be a list of {name}.")
    return given


def each_text(texts: Iterable[str]) -> Iterator[str]:
    """Iterate over texts; a single text is refused, since its characters would pass as texts.

    Raises:
        InputError: if it is a text, not a list, or contains anything but texts in UTF-8.
    """
    for text in _each("texts", texts):
        if not isinstance(text, str):
            raise InputError(f"a text is {BRIEF.repr(text)}, it must be a str.")
        if not is_utf8(text):
            raise InputError(f"a text is {BRIEF.repr(text)}, it must be UTF-8.")
        yield text


def require_readable(**texts: str | None) -> None:
    """Refuse texts, given by name, that are not UTF-8: they could neither be shown nor written.

    Raises:
        InputError: if there is one.
    """
    for name, text in texts.items():
        if not is_utf8(text or ""):
            raise InputError(f"{name} is {BRIEF.repr(text)}, it must be UTF-8 text.")


def each_pair(pairs: Iterable[Any]) -> Iterator[Any]:
    """Iterate over pairs; a text of two characters is refused.

    Raises:
        InputError: if it is not a list, or one does not have exactly two sides.
    """
    for pair in _each("pairs", pairs):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InputError(f"a pair is {BRIEF.repr(pair)}, it must be a source and a target.")
        yield pair


def each_example(examples: Iterable[Any]) -> Iterator[Any]:
    """Iterate over examples: pairs of source and target, or single sentences, all of one kind.

    Raises:
        InputError: if it is not a list, or one has another number of sides than the first.
    """
    sides = 0
    for example in _each("examples", examples):
        number = 0 if isinstance(example, str) or not hasattr(example, "__len__") else len(example)
        if number not in (1, 2) or number != (sides or number):
            raise InputError(
                f"an example is {BRIEF.repr(example)}, it must be a source and a target, or a "
                "single sentence, like the other examples."
            )
        sides = number
        yield example


def with_short_words(text: str, where: str = "") -> str:
    """Return the text if subwords can be learned from its words in reasonable time.

    Raises:
        InputError: if a word is too long; the message begins with ``where``, the text's place.
    """
    longest = len(text)
    if longest > LONGEST_WORD:  # split as for subwords: at spaces, not at other white space
        longest = max(map(len, text.split(" ")))
    if longest > LONGEST_WORD:
        raise InputError(
            f"{where}a word has {longest:,} characters, it must have at most {LONGEST_WORD:,}."
        )
    return text


def require_sentences(sentences: Sequence[Any]) -> None:
    """Refuse anything but a list of sentences of ids; PyTorch and NumPy would round 5.7 down to 5.

    >>> require_sentences([[5, 5.7]])
    Traceback (most recent call last):
    annotated_transformer.ground.errors.InputError: an id is 5.7, it must be an integer from 0 to \
2147483647.

    Raises:
        InputError: if there are no sentences, or one contains anything but ids.
    """
    if not hasattr(sentences, "__len__"):
        raise InputError(f"sequences is a {type(sentences).__name__}, it must be a list.")
    if not len(sentences):
        raise InputError("there are 0 sequences, a batch needs at least 1.")
    for sentence in sentences:
        _require_list(sentence)
        for i in sentence:
            whole = isinstance(i, (int, np.integer)) and not isinstance(i, bool)
            if not (whole and 0 <= i <= LARGEST_ID):
                raise InputError(
                    f"an id is {BRIEF.repr(i)}, it must be an integer from 0 to {LARGEST_ID}."
                )


def _require_list(sentence: Any) -> None:
    """Refuse anything but a list, tuple, array or tensor, such as a text, a set or a number."""
    if isinstance(sentence, str) or not hasattr(sentence, "__getitem__"):
        raise InputError(f"a sequence is {BRIEF.repr(sentence)}, it must be a list of ids.")


def unpadded(examples: Iterable[Any], padding: int) -> list[Any]:
    """Return the examples if they are sentences without the id of padding: no loss counts it.

    Raises:
        InputError: if one is not a sentence, or contains it.
    """
    kept = list(_each("examples", examples))
    for example in kept:
        for side in _each("sentences", example):
            _require_list(side)
        if any(padding in side for side in example):
            raise InputError(
                f"an example is {BRIEF.repr(example)}, it must not contain {padding}, the padding."
            )
    return kept


def each_id(ids: Any) -> Iterator[int]:
    """Iterate over the ids of a sentence, which may be a tensor or a NumPy array.

    Raises:
        InputError: if it is not a list of integers.
    """
    if isinstance(ids, str) or not hasattr(ids, "__iter__"):
        raise InputError(f"a sequence is {BRIEF.repr(ids)}, it must be a list of ids.")
    for i in ids:
        given: Any = None if isinstance(i, bool) else i
        try:
            number = index(given)
        except TypeError as error:
            raise InputError(f"an id is {BRIEF.repr(i)}, it must be an integer.") from error
        yield number


def require_path(name: str, given: Any) -> Path:
    """Return a path, which may be given as a text, or as an object that has one.

    Raises:
        InputError: if it is none of them.
    """
    text = given.__fspath__() if isinstance(given, os.PathLike) else given
    if not isinstance(text, str):
        raise InputError(f"{name} is {BRIEF.repr(given)}, it must be a path.")
    return Path(text)


def require_content(path: Path) -> bytes:
    """Return the first bytes of a file; refuse one that only stands for what was not fetched.

    Raises:
        InputError: if it cannot be read, is empty, a pointer of Git LFS, or a web page.
    """
    try:
        with path.open("rb") as file:
            start = file.read(100)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error}).") from error
    if not start:
        raise InputError(f"{path} is empty (0 bytes): fetch it again.")
    if start.startswith(b"version https://git-lfs"):
        raise InputError(f"{path} is only a pointer of Git LFS: `git lfs pull` fetches the file.")
    if re.match(rb"(\xef\xbb\xbf)?\s*<(!doctype|html)\b", start, re.IGNORECASE):
        raise InputError(f"{path} is a web page: fetch the file itself, not the page about it.")
    return start


def require_search(search: Any) -> None:
    """Refuse anything that does not have the settings of a search, such as a dictionary.

    Raises:
        InputError: if it does not.
    """
    if not (hasattr(search, "beam") and hasattr(search, "extra_length")):
        raise InputError(f"search is {BRIEF.repr(search)}, it must be a Search.")


def require_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse anything but an integer within these bounds.

    >>> require_whole("length", 2.5, 1)
    Traceback (most recent call last):
    annotated_transformer.ground.errors.InputError: length is 2.5, it must be an integer, \
at least 1.

    Raises:
        InputError: if it is anything else.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bound = "" if most is None else f" and at most {most:,}"
        raise InputError(
            f"{name} is {BRIEF.repr(value)}, it must be an integer, at least {least}{bound}."
        )


def require_sizes(**sizes: Any) -> None:
    """Refuse sizes, given by name, that are not integers of at least 1.

    Raises:
        InputError: if one is not.
    """
    for name, size in sizes.items():
        require_whole(name, size, 1)


def require_span(start: Any, length: Any) -> None:
    """Refuse a length that is not an integer of at least 0, and a start outside it.

    Raises:
        InputError: if one is not an integer, or out of its bounds.
    """
    require_whole("length", length, 0)
    require_whole("start", start, 0, most=length)


def require_number(
    name: str, value: Any, least: float = 0.0, below: float = inf, *, above: float | None = None
) -> None:
    """Refuse anything but a number of at least ``least``, or above another, and below ``below``.

    >>> require_number("smoothing", 1.0, below=1.0)
    Traceback (most recent call last):
    annotated_transformer.ground.errors.InputError: smoothing is 1.0, it must be at least 0 \
and below 1.

    Raises:
        InputError: if it is anything else, such as nan.
    """
    low = f"at least {least:g}" if above is None else f"above {above:g}"
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and (value >= least if above is None else value > above) and value < below):
        high = "finite" if below == inf else f"below {below:g}"
        raise InputError(f"{name} is {BRIEF.repr(value)}, it must be {low} and {high}.")


def require_rate(peak: float) -> None:
    """Refuse a peak learning rate that no training can use.

    Raises:
        InputError: if it is negative, infinite, or nan.
    """
    require_number("peak", peak)


def require_ids(name: str, tokens: Any, size: int | None) -> None:
    """Refuse anything but a batch of ids of a vocabulary of that size, if the size is known.

    Raises:
        InputError: if it is not a tensor (batch, length) of integers, is empty, or contains an id
            outside the vocabulary.
    """
    if not isinstance(tokens, Tensor) or tokens.dtype not in IDS:
        kind = tokens.dtype if isinstance(tokens, Tensor) else type(tokens).__name__
        raise InputError(f"{name} is of the type {kind}, it must be a tensor of torch.long.")
    if tokens.dim() != 2 or 0 in tokens.shape:
        raise InputError(
            f"{name} has the shape {list(tokens.shape)}, it must be (batch, length), and not empty."
        )
    if tokens.is_meta:  # ids without values, as when a model's operations are counted
        return
    low, high = (int(bound) for bound in tokens.aminmax())
    if low < 0 or (size is not None and high >= size):
        raise InputError(
            f"{name} contains id {min(low, 0) or high}, it must be at least 0"
            + ("." if size is None else f" and below {size}, the size of the vocabulary.")
        )


def require_values(name: str, tensor: Any) -> None:
    """Refuse a tensor on the device meta, where they have shapes but no values.

    Raises:
        InputError: if it is there.
    """
    if getattr(tensor, "is_meta", False):
        raise InputError(f"{name} is on the device meta, it must be where tensors have values.")


def require_rows(name: str, tokens: Any) -> None:
    """Refuse anything but a tensor (batch, length) of integers.

    Raises:
        InputError: if it is anything else, or has other axes.
    """
    if not isinstance(tokens, Tensor) or tokens.dtype not in IDS or tokens.dim() != 2:
        raise InputError(
            f"{name} is {_described(tokens)}, it must be ids (batch, length) of torch.long."
        )


def _described(given: Any) -> str:
    """Describe a tensor by its shape and type, anything else by its class."""
    return (
        f"{list(given.shape)} of {given.dtype}"
        if isinstance(given, Tensor)
        else type(given).__name__
    )


def require_targets(logits: Any, target: Any) -> None:
    """Refuse targets that do not give one id of the vocabulary for every row of logits.

    Raises:
        InputError: if the logits are not (batch, length, vocab), or the targets not (batch, length)
            and ids of that vocabulary.
    """
    if not isinstance(logits, Tensor) or not logits.is_floating_point() or logits.dim() != 3:
        raise InputError(
            f"logits are {_described(logits)}, they must be floats (batch, length, vocab)."
        )
    require_ids("target", target, logits.size(-1))
    if target.shape != logits.shape[:-1]:
        raise InputError(
            f"target has the shape {list(target.shape)} and logits {list(logits.shape)}: each row "
            "of logits needs its own target."
        )


def require_scores(scores: Any, mask: Any) -> None:
    """Refuse scores without a softmax, and invalid masks.

    Raises:
        InputError: if the scores are not floats (…, query, key), the mask is not boolean and of
            their shape, or a row is minus infinity wherever the mask allows attention.
    """
    if not isinstance(scores, Tensor) or not scores.is_floating_point() or scores.dim() < 2:
        raise InputError(f"scores are {_described(scores)}, they must be floats (…, query, key).")
    require_mask(mask, scores.shape)
    # On an accelerator, checking would wait for the device at every call.
    if scores.is_cpu and bool((never := scores.isneginf()).any()):
        seen = torch.ones_like(never) if mask is None else mask.expand_as(never)
        if bool((seen.any(-1) & (never | ~seen).all(-1)).any()):
            raise InputError(
                "scores have a row of −∞ only, which has no softmax: use the mask to say what a "
                "query may not attend to."
            )


def require_mask(mask: Any, rows: torch.Size) -> None:
    """Refuse a mask that is not boolean, or does not have the shape of the scores.

    Raises:
        InputError: if it is not a boolean tensor that broadcasts to ``rows``, (…, query, key).
            A mask with only some of the leading axes is refused: it would broadcast along others.
    """
    if mask is None:
        return
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise InputError(f"mask is of the type {kind}, it must be torch.bool (True: attend).")
    pairs = zip(reversed(mask.shape), reversed(rows), strict=False)
    if mask.dim() not in (2, len(rows)) or any(one not in (1, whole) for one, whole in pairs):
        raise InputError(
            f"mask has the shape {list(mask.shape)}, it must broadcast to {list(rows)}: it needs "
            "the last two axes or all, each equal, or 1."
        )


def require_lookup(query: Tensor, key: Tensor, value: Tensor, mask: Any, same_width: bool) -> None:
    """Refuse queries, keys and values that do not fit together, and masks that do not fit.

    Raises:
        InputError: if they have fewer than two axes, their leading axes differ, the numbers of keys
            and values differ, queries are not as wide as keys where they must be, or the mask
            does not fit: PyTorch would broadcast a key of size 1 to several queries. Also if they
            are not floats of one type on one device; autocast makes them one type.
    """
    three = (query, key, value)
    if not all(isinstance(x, Tensor) and x.is_floating_point() for x in three) or (
        len({(x.dtype, x.device) for x in three}) > 1
        and not torch.is_autocast_enabled(query.device.type)
    ):
        kinds = ", ".join(map(_described, three))
        raise InputError(
            f"query, key and value are {kinds}: they must be floats of one type on one device."
        )
    shapes = ", ".join(str(list(x.shape)) for x in three)
    if min(x.dim() for x in three) < 2:
        raise InputError(
            f"query, key and value have the shapes {shapes}: each needs positions and a width, "
            "(…, position, width)."
        )
    if not (query.shape[:-2] == key.shape[:-2] and key.shape[:-1] == value.shape[:-1]):
        raise InputError(
            f"query, key and value have the shapes {shapes}: all axes but the last two must be "
            "equal, and each key needs its value."
        )
    if same_width and query.size(-1) != key.size(-1):
        raise InputError(
            f"query, key and value have the shapes {shapes}: a query must be as wide as a key."
        )
    require_mask(mask, torch.Size([*query.shape[:-1], key.size(-2)]))
