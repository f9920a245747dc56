"""Tokens: convert text to integer ids, and back."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from typing import Any, NamedTuple

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import (
    each_example,
    each_id,
    each_text,
    require_whole,
    with_short_words,
)
from annotated_transformer.text.cleaning import CLEANING, clean
from annotated_transformer.text.examples import Example

TextPair = tuple[str, str]
"""A sentence and its translation."""

SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
PAD, BOS, EOS, UNK = range(4)

EARLIER = (None, {"type": "NFC"})
"""How vocabularies cleaned before version 0.3; they can be read, and clean like all others now."""

LARGEST_VOCABULARY = 10**7
"""Tokens: the largest vocabulary that is learned."""


class Vocabulary:
    """A fixed list of tokens, and the rule that splits a text into them.

    The first four ids are the same in every vocabulary: ``PAD`` fills up short sentences, ``BOS``
    begins and ``EOS`` ends a sentence, ``UNK`` stands for whatever is not in the vocabulary.
    Learn a vocabulary from the *training* texts only: what it learns from the test texts is
    not new to it afterwards. Every text is cleaned first (:func:`clean`).
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Wrap a trained tokenizer. Use :meth:`words` or :meth:`subwords` to learn one.

        Raises:
            InputError: if the first four tokens are not the special tokens.
        """
        tokenizer.normalizer = CLEANING  # for every tokenizer, however it was stored
        first = tuple(tokenizer.id_to_token(i) for i in range(len(SPECIALS)))
        if first != SPECIALS:
            raise InputError(f"the first tokens are {first}, they must be {SPECIALS}.")
        self._tokenizer = tokenizer

    @classmethod
    def words(cls, texts: Iterable[str]) -> "Vocabulary":
        """Learn a vocabulary of whole words, which are separated by spaces.

        >>> vocabulary = Vocabulary.words(["I am a student"])
        >>> vocabulary.encode("I am a robot")
        [4, 6, 5, 3]
        >>> vocabulary.decode([4, 6, 5, 3])
        'I am a <unk>'
        """
        tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trainer = trainers.WordLevelTrainer(
            vocab_size=2**31, special_tokens=list(SPECIALS), show_progress=False
        )
        # A special token spelled out in a text would be learned a second time.
        words = (
            " ".join(w for w in clean(text).split() if w not in SPECIALS)
            for text in each_text(texts)
        )
        tokenizer.train_from_iterator(words, trainer)
        return cls(tokenizer)

    @classmethod
    def subwords(cls, texts: Iterable[str], size: int = 8000) -> "Vocabulary":
        """Learn ``size`` tokens by byte-pair encoding, or fewer if no pair is left to merge.

        Begin with single characters; merge the most frequent pair of adjacent tokens into a new
        token; repeat. Frequent words become one token, rare words several, and no word is unknown
        if its characters were seen. ``▁`` marks the beginning of a word. Every character of the
        texts is kept, even if there are more than ``size``.

        Source: Sennrich et al. 2016, section 3.2.

        Raises:
            InputError: if ``size`` leaves no room beside the special tokens, or is above
                ten million, or a word has more than 10,000 characters.
        """
        require_whole("size", size, len(SPECIALS) + 1, most=LARGEST_VOCABULARY)
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()]
        )
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.BpeTrainer(
            vocab_size=size, special_tokens=list(SPECIALS), show_progress=False
        )
        cleaned = map(with_short_words, map(clean, each_text(texts)))
        tokenizer.train_from_iterator(cleaned, trainer)
        return cls(tokenizer)

    @classmethod
    def from_json(cls, text: str) -> "Vocabulary":
        """Read what :meth:`to_json` wrote.

        Raises:
            InputError: if it is anything else.
        """
        try:
            described = json.loads(text)
            _require_our_rules(described)
            if described["model"]["type"] == "WordLevel":  # learned before texts were cleaned
                ids = described["model"]["vocab"]
                cleaned = {word: CLEANING.normalize_str(word) for word in ids}
                for word in [word for word, new in cleaned.items() if new not in ids]:
                    ids[cleaned[word]] = ids.pop(word)
            tokenizer = Tokenizer.from_str(json.dumps(described))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic of the library is not an Exception
            raise InputError(f"this is not the JSON of a vocabulary ({error}).") from error
        return cls(tokenizer)

    def to_json(self) -> str:
        """Write the whole vocabulary, rules and tokens, as JSON."""
        return self._tokenizer.to_str()

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Split ``text`` into tokens and return their ids, without ``BOS`` and ``EOS``.

        A special token that is spelled out in the text is unknown, so that no input
        can end a sentence.
        """
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Do :meth:`encode` for many texts at once, which is much faster."""
        encodings = self._tokenizer.encode_batch_fast([*each_text(texts)])
        return [[i if i > EOS else UNK for i in encoding.ids] for encoding in encodings]

    def decode(self, ids: Sequence[int]) -> str:
        """Join tokens to a text; ``PAD``, ``BOS`` and ``EOS`` are left out.

        Raises:
            InputError: if an id is outside the vocabulary.
        """
        ids = [*each_id(ids)]
        self.tokens(ids)
        shown = [i for i in ids if i not in (PAD, BOS, EOS)]
        return self._tokenizer.decode(shown, skip_special_tokens=False)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the token of each id, as a string.

        Raises:
            InputError: if an id is outside the vocabulary.
        """
        tokens = []
        for i in each_id(ids):
            token = self._tokenizer.id_to_token(i) if 0 <= i < len(self) else None
            if token is None:
                raise InputError(f"id {i} is outside the vocabulary of {len(self)} tokens.")
            tokens.append(token)
        return tokens


def _require_our_rules(described: Any) -> None:
    """Refuse the JSON of a tokenizer that this package did not write.

    A foreign rule may drop text, split at random, or end the library without an exception.
    """
    tokens = described["model"]["vocab"]
    rules = _our_rules().get(described["model"]["type"])
    if rules and described.get("normalizer") in EARLIER:
        described = described | {"normalizer": rules["normalizer"]}
    if not _agrees(described, rules):
        raise InputError("its tokenization rules are not those of this version")
    if sorted(tokens.values()) != [*range(len(tokens))]:
        raise InputError("its ids are not 0, 1, 2, … without a gap")


@cache
def _our_rules() -> dict[str, Any]:
    """Describe our tokenizers, without their tokens, by the type of the model."""
    ours = {}
    for vocabulary in (Vocabulary.words([]), Vocabulary.subwords([])):
        rules = json.loads(vocabulary.to_json())
        del rules["version"], rules["model"]["vocab"]
        rules["model"].pop("merges", None)
        ours[rules["model"]["type"]] = rules
    return ours


def _agrees(described: Any, rules: Any) -> bool:
    """Tell whether a description has all these rules; a missing one has its default."""
    if isinstance(described, dict) and isinstance(rules, dict):
        return all(_agrees(described.get(name, rule), rule) for name, rule in rules.items())
    return bool(described == rules)


class Vocabularies(NamedTuple):
    """The vocabularies of source and target, the same object if the vocabulary is joint."""

    src: Vocabulary
    tgt: Vocabulary

    @classmethod
    def learn(cls, pairs: Iterable[TextPair | tuple[str]], subwords: int) -> "Vocabularies":
        """Learn a joint vocabulary of that many subwords, or, if it is 0, of words for each side.

        The pairs, or sentences without a source, are read more than once.

        Raises:
            InputError: if one is neither, they can be read only once, or ``subwords``
                is too small.
        """
        if isinstance(pairs, Iterator):
            raise InputError(
                f"pairs is a {type(pairs).__name__}, it must be a list, or another iterable that "
                "can be read more than once."
            )
        require_whole("subwords", subwords, 0)
        if subwords:
            joint = Vocabulary.subwords(chain.from_iterable(each_example(pairs)), subwords)
            return cls(joint, joint)
        sides = (0, -1)  # of a single sentence, which is its own target, both are the same
        return cls(
            *(Vocabulary.words(pair[side] for pair in each_example(pairs)) for side in sides)
        )

    def encode(self, pairs: Iterable[TextPair | tuple[str]]) -> list[Example]:
        """Encode sentence pairs, or sentences without a source, as ids.

        Raises:
            InputError: if one is neither, or not of the kind of the others.
        """
        return list(chain.from_iterable(self.encode_in_chunks(pairs)))

    def encode_in_chunks(
        self, pairs: Iterable[TextPair | tuple[str]], size: int = 10_000
    ) -> Iterator[list[Example]]:
        """Encode sentence pairs that need not fit into memory together, chunk by chunk."""
        iterator = each_example(pairs)
        while chunk := list(islice(iterator, size)):
            if len(chunk[0]) == 1:
                yield list(zip(self.tgt.encode_all([text for (text,) in chunk]), strict=True))
                continue
            sources, targets = zip(*chunk, strict=True)
            yield list(zip(self.src.encode_all(sources), self.tgt.encode_all(targets), strict=True))
