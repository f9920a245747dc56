"""Sentence pieces: the vocabulary of a SentencePiece model, as many published models have."""

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

from annotated_transformer.ground.errors import InputError, require_library
from annotated_transformer.ground.inputs import each_id, each_text
from annotated_transformer.run.sentences import LANGUAGE_CODE
from annotated_transformer.tokens import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

KIND = "SentencePiece"


class SentencePieces(Vocabulary):
    """The tokens of a SentencePiece model, in an order of their own.

    The order may contain pieces that the model never produces: those of the other language, if one
    order serves both. A prefix such as ``>>fra<<``, which tells some models the language to
    translate into, is one token.

    Source: Kudo and Richardson 2018.
    """

    def __init__(self, model: bytes, tokens: Sequence[str]) -> None:
        """Store the bytes of a model (a file ``.spm``) and all tokens.

        Raises:
            InputError: if the first four tokens are not the special tokens, the bytes are not those
                of a model, or the library sentencepiece is not installed.
        """
        if (first := tuple(tokens[: len(SPECIALS)])) != SPECIALS:
            raise InputError(f"the first tokens are {first}, they must be {SPECIALS}.")
        library = require_library("sentencepiece")
        self.model, self._tokens = model, list(tokens)
        if not model:
            raise InputError("this is not a model of SentencePiece (it has 0 bytes).")
        try:
            self._processor = library.SentencePieceProcessor(model_proto=model)
            count = self._processor.get_piece_size()
            self.pieces: list[str] = [*map(self._processor.id_to_piece, range(count))]
            """The pieces of the model, with or without an id here."""
        except (RuntimeError, UnicodeDecodeError) as error:
            raise InputError(f"this is not a model of SentencePiece ({error}).") from error
        # Input text never becomes a special token.
        self._ids = {token: i for i, token in enumerate(self._tokens) if i > EOS}

    @classmethod
    def from_json(cls, text: str) -> "SentencePieces":
        """Read what :meth:`to_json` wrote.

        Raises:
            InputError: if it is anything else.
        """
        try:
            described = json.loads(text)["model"]
            model = b64decode(described["proto"], validate=True)
            tokens = list(map(str, described["tokens"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"this is not the JSON of sentence pieces ({error!r}).") from error
        return cls(model, tokens)

    def to_json(self) -> str:
        """Write the whole vocabulary, model and tokens, as JSON."""
        proto = b64encode(self.model).decode()
        described = {"type": KIND, "tokens": self._tokens, "proto": proto}
        return json.dumps({"model": described}, ensure_ascii=False)

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def languages(self) -> list[str]:
        """List the tokens that tell the language to translate into, such as ``>>fra<<``."""
        return [token for token in self._tokens if LANGUAGE_CODE.fullmatch(token)]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Split texts into tokens and return their ids; a piece without an id is unknown."""
        parts = [self._language_and_text(text) for text in each_text(texts)]
        cut = self._processor.encode([text for _, text in parts], out_type=str)
        return [
            [self._ids.get(token, UNK) for token in [*language, *pieces]]
            for (language, _), pieces in zip(parts, cut, strict=True)
        ]

    @staticmethod
    def _language_and_text(text: str) -> tuple[list[str], str]:
        if code := LANGUAGE_CODE.match(text):
            return [code[0]], text[code.end() :]
        return [], text

    def decode(self, ids: Sequence[int]) -> str:
        """Join tokens to a text; ``PAD``, ``BOS`` and ``EOS`` are left out.

        Raises:
            InputError: if an id is outside the vocabulary.
        """
        pieces = self.tokens([i for i in each_id(ids) if i not in (PAD, BOS, EOS)])
        return str(self._processor.decode_pieces(pieces)).replace("▁", " ").strip()

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the token of each id, as a string.

        Raises:
            InputError: if an id is outside the vocabulary.
        """
        ids = [*each_id(ids)]
        for i in ids:
            if not 0 <= i < len(self):
                raise InputError(f"id {i} is outside the vocabulary of {len(self)} tokens.")
        return [self._tokens[i] for i in ids]


def vocabulary_of_json(text: str) -> Vocabulary:
    """Read a vocabulary of any kind from the JSON that it wrote.

    Raises:
        InputError: if it is not the JSON of any kind.
    """
    try:
        kind: Any = json.loads(text)["model"]["type"]
    except (ValueError, KeyError, TypeError, RecursionError):
        kind = None  # the other kind reports the error
    return (SentencePieces if kind == KIND else Vocabulary).from_json(text)
