"""Inputs: what public functions refuse before PyTorch takes it for something else.

Each check is made once, where a tensor or a list comes in; what is inside does not look again.
"""

from collections.abc import Iterable, Iterator, Sequence
from numbers import Real
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.errors import InputError
from annotated_transformer.settings import BRIEF

LARGEST_ID = 2**31 - 1

IDS = (torch.int64, torch.int32)
"""The types that a tensor of ids may have."""

LONGEST_WORD = 10_000
"""Characters: the time to learn subwords from a word grows with the square of its length."""


def is_utf8(text: str) -> bool:
    """Whether a text can be shown and written: Python's may hold halves of characters."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return False
    return True


def each_text(texts: Iterable[str]) -> Iterator[str]:
    """The texts one by one; a single text is refused, whose characters would be taken for texts.

    Raises:
        InputError: if it is a text, no list at all, or holds anything but texts in UTF-8.
    """
    if isinstance(texts, str) or not hasattr(texts, "__iter__"):
        raise InputError(f"texts is {BRIEF.repr(texts)}, it must be a list of texts.")
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"a text is {BRIEF.repr(text)}, it must be a str.")
        if not is_utf8(text):
            raise InputError(f"a text is {BRIEF.repr(text)}, it must be UTF-8.")
        yield text


def require_readable(**texts: str | None) -> None:
    """Refuse texts, by their names, that are not UTF-8: they could neither be shown nor written.

    Raises:
        InputError: if there is one.
    """
    for name, text in texts.items():
        if not is_utf8(text or ""):
            raise InputError(f"{name} is {BRIEF.repr(text)}, it must be UTF-8 text.")


def each_pair(pairs: Iterable[Any]) -> Iterator[Any]:
    """The pairs one by one; a text of two characters is none.

    Raises:
        InputError: if one has not exactly two sides.
    """
    for pair in pairs:
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InputError(f"a pair is {BRIEF.repr(pair)}, it must be a source and a target.")
        yield pair


def each_example(examples: Iterable[Any]) -> Iterator[Any]:
    """The examples one by one: a source and a target, or a sentence alone, and all of one kind.

    Raises:
        InputError: if one has other sides than the first.
    """
    sides = 0
    for example in examples:
        number = 0 if isinstance(example, str) or not hasattr(example, "__len__") else len(example)
        if number not in (1, 2) or number != (sides or number):
            raise InputError(
                f"an example is {BRIEF.repr(example)}, it must be a source and a target, or a "
                "sentence alone, as the others are."
            )
        sides = number
        yield example


def with_short_words(text: str, where: str = "") -> str:
    """The same text, if subwords can be learned from its words in reasonable time.

    Raises:
        InputError: if a word is too long; it begins with ``where`` the text stands.
    """
    longest = len(text)
    if longest > LONGEST_WORD:  # cut as for subwords: at spaces, and at no other white space
        longest = max(map(len, text.split(" ")))
    if longest > LONGEST_WORD:
        raise InputError(
            f"{where}a word has {longest:,} characters, it may have {LONGEST_WORD:,}: is this text?"
        )
    return text


def require_sentences(sentences: Sequence[Any]) -> None:
    """Refuse what is no list of sentences of ids; PyTorch and NumPy would cut 5.7 down to 5.

    >>> require_sentences([[5, 5.7]])
    Traceback (most recent call last):
    annotated_transformer.errors.InputError: an id is 5.7, it must be a whole number from 0 to \
2147483647.

    Raises:
        InputError: if there is no sentence, or one holds anything but ids.
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
                    f"an id is {BRIEF.repr(i)}, it must be a whole number from 0 to {LARGEST_ID}."
                )


def _require_list(sentence: Any) -> None:
    """Refuse what is no list, tuple, array or tensor: a text, a set without an order, a number."""
    if isinstance(sentence, str) or not hasattr(sentence, "__getitem__"):
        raise InputError(f"a sequence is {BRIEF.repr(sentence)}, it must be a list of ids.")


def unpadded(examples: Iterable[Any], padding: int) -> list[Any]:
    """The examples, as far as they are sentences without the id of padding: no loss would count it.

    Raises:
        InputError: if one is none, or holds it.
    """
    kept = list(examples)
    for example in kept:
        for side in example:
            _require_list(side)
        if any(padding in side for side in example):
            raise InputError(
                f"an example is {BRIEF.repr(example)}, it must not hold {padding}, the padding."
            )
    return kept


def each_id(ids: Any) -> Iterator[int]:
    """The ids of a sentence one by one; those of a tensor or of NumPy, too.

    Raises:
        InputError: if it is no list of whole numbers.
    """
    if isinstance(ids, str) or not hasattr(ids, "__iter__"):
        raise InputError(f"a sequence is {BRIEF.repr(ids)}, it must be a list of ids.")
    for i in ids:
        given: Any = None if isinstance(i, bool) else i
        try:
            number = index(given)
        except TypeError as error:
            raise InputError(f"an id is {BRIEF.repr(i)}, it must be a whole number.") from error
        yield number


def require_path(name: str, given: Any) -> Path:
    """A path, which may have been given as a text.

    Raises:
        InputError: if it is neither.
    """
    if not isinstance(given, str | Path):
        raise InputError(f"{name} is {BRIEF.repr(given)}, it must be a path.")
    return Path(given)


def require_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is no whole number within these bounds.

    >>> require_whole("length", 2.5, 1)
    Traceback (most recent call last):
    annotated_transformer.errors.InputError: length is 2.5, it must be a whole number, at least 1.

    Raises:
        InputError: if it is none.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bound = "" if most is None else f" and at most {most:,}"
        raise InputError(
            f"{name} is {BRIEF.repr(value)}, it must be a whole number, at least {least}{bound}."
        )


def require_sizes(**sizes: Any) -> None:
    """Refuse sizes, by their names, that are no whole numbers of at least 1.

    Raises:
        InputError: if one is none.
    """
    for name, size in sizes.items():
        require_whole(name, size, 1)


def require_span(start: Any, length: Any) -> None:
    """Refuse a length that is none, and a beginning outside it.

    Raises:
        InputError: if one is no whole number, or out of its bounds.
    """
    require_whole("length", length, 0)
    require_whole("start", start, 0, most=length)


def require_rate(peak: float) -> None:
    """Refuse the highest rate of a schedule if no training can have it.

    Raises:
        InputError: if it is negative, infinite, or not a number.
    """
    if not isinstance(peak, Real) or not 0 <= peak < float("inf"):
        raise InputError(f"peak is {peak!r}, it must be at least 0 and finite.")


def require_ids(name: str, tokens: Any, size: int | None) -> None:
    """Refuse what is no batch of ids of a vocabulary of that size, if it is known.

    Raises:
        InputError: if it is no tensor (batch, length) of whole numbers, is empty, or holds an id
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
            f"{name} holds id {min(low, 0) or high}, it must be at least 0"
            + ("." if size is None else f" and below {size}, the size of the vocabulary.")
        )


def require_rows(name: str, tokens: Any) -> None:
    """Refuse what is no tensor (batch, length) of whole numbers.

    Raises:
        InputError: if it is something else, or has other axes.
    """
    if not isinstance(tokens, Tensor) or tokens.dtype not in IDS or tokens.dim() != 2:
        raise InputError(
            f"{name} is {_described(tokens)}, it must be ids (batch, length) of torch.long."
        )


def _described(given: Any) -> str:
    """The shape and the type of a tensor; of anything else its kind."""
    return (
        f"{list(given.shape)} of {given.dtype}"
        if isinstance(given, Tensor)
        else type(given).__name__
    )


def require_targets(logits: Any, target: Any) -> None:
    """Refuse targets that are not one id of the vocabulary for every row of the logits.

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
    """Refuse scores that have no softmax, and masks that are none.

    Raises:
        InputError: if the scores are no floats (…, query, key), the mask is not boolean and of
            their shape, or a row is minus infinity wherever it may be seen.
    """
    if not isinstance(scores, Tensor) or not scores.is_floating_point() or scores.dim() < 2:
        raise InputError(f"scores are {_described(scores)}, they must be floats (…, query, key).")
    require_mask(mask, scores.shape)
    # Of an accelerator one would have to wait for the answer, at every call.
    if scores.is_cpu and bool((never := scores.isneginf()).any()):
        seen = torch.ones_like(never) if mask is None else mask.expand_as(never)
        if bool((seen.any(-1) & (never | ~seen).all(-1)).any()):
            raise InputError(
                "scores have a row of −∞ alone, which has no softmax: say with the mask what a "
                "query may not see."
            )


def require_mask(mask: Any, rows: torch.Size) -> None:
    """Refuse a mask that is not boolean, or has not the shape of the scores: PyTorch would add it.

    Raises:
        InputError: if it is no boolean tensor that can be spread over ``rows``, (…, query, key).
            A mask with some of the leading axes is refused: it would be spread over others.
    """
    if mask is None:
        return
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise InputError(f"mask is of the type {kind}, it must be torch.bool: True may be seen.")
    pairs = zip(reversed(mask.shape), reversed(rows), strict=False)
    if mask.dim() not in (2, len(rows)) or any(one not in (1, whole) for one, whole in pairs):
        raise InputError(
            f"mask has the shape {list(mask.shape)}, it must be spread over {list(rows)}: it needs "
            "the last two axes or all, each equal, or 1."
        )


def require_lookup(query: Tensor, key: Tensor, value: Tensor, mask: Any, same_width: bool) -> None:
    """Refuse queries, keys and values that do not belong together, and such masks.

    Raises:
        InputError: if they have fewer than two axes, their leading axes differ, there is not one
            value for each key, queries are not as wide as keys where they have to be, or the mask
            does not fit: PyTorch would broadcast a key of size 1 to several queries. Also if they
            are no floats of one type on one device; autocast makes them one.
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
