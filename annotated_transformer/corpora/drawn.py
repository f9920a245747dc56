"""The drawn corpus: what the toy grammar has drawn, which takes seconds, is kept in the cache."""

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from annotated_transformer import toy
from annotated_transformer.corpora.cache import CACHE_VARIABLE, kept_in
from annotated_transformer.ground.errors import InputError
from annotated_transformer.toy import Pair

GRAMMAR = Path(toy.__file__).parent
"""The sources of the grammar: where one of them changes, the corpus is drawn anew."""


def toy_corpus() -> dict[str, list[Pair]]:
    """Read the toy corpus as this grammar drew it before, or draw it.

    A damaged file is not used. Where nothing can be kept, it is drawn each time.
    """
    with suppress(OSError, ValueError, InputError):
        checksum, _, text = _kept().read_text(encoding="utf-8").partition("\n")
        if checksum == sha256(text.encode()).hexdigest():
            return {name: [*map(_pair, pairs)] for name, pairs in json.loads(text).items()}
    drawn = toy.toy_corpus()
    lists = {name: [[*vars(pair).values()] for pair in pairs] for name, pairs in drawn.items()}
    text = json.dumps(lists, default=sorted)
    with suppress(OSError, InputError):
        kept = _kept()
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(f".{os.getpid()}")  # several processes may draw at once
        new.write_text(f"{sha256(text.encode()).hexdigest()}\n{text}", encoding="utf-8")
        new.replace(kept)
    return drawn


def _kept() -> Path:
    sources = b"".join(path.read_bytes() for path in sorted(GRAMMAR.glob("*.py")))
    return kept_in(CACHE_VARIABLE) / "toy" / f"{sha256(sources).hexdigest()[:16]}.json"


def _pair(kept: list[Any]) -> Pair:
    src, tgt, gloss, links, *rest = kept
    return Pair(tuple(src), tuple(tgt), tuple(gloss), frozenset(map(tuple, links)), *rest)
