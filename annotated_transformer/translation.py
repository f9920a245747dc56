"""Translation: from texts to texts, with a model and the vocabularies of both languages."""

from collections.abc import Sequence

from annotated_transformer.batches import batches_by_tokens, pad
from annotated_transformer.decoding import GREEDY, Hypothesis, Search, decode
from annotated_transformer.ground.devices import device_of
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_search, require_whole, unpadded
from annotated_transformer.ground.settings import BRIEF
from annotated_transformer.text.examples import Examples
from annotated_transformer.tokens import EOS, PAD, UNK, Vocabularies, Vocabulary
from annotated_transformer.translator import NextTokenModel, require_positions

MOST = 10
"""The largest number of unknown words of a text that are listed."""


def search_all(
    model: NextTokenModel,
    sources: Sequence[list[int]],
    search: Search,
    prefixes: Sequence[list[int]] | None = None,
    max_tokens: int = 6144,
) -> list[list[Hypothesis]]:
    """Search for translations of any number of sentences, in batches of similar length.

    They come in the order of the sources, the best of each first; where there are fewer than asked
    for, as after a prefix that leaves no room, the others are empty. A prefix is what a translation
    has to begin with. An empty source has an empty translation, whatever its prefix. A batch has at
    most ``max_tokens`` source positions, each counted once for every beam slot.

    Raises:
        InputError: if a source is longer than the model can read, or there are not as many
            prefixes as sources.
    """
    require_search(search)
    require_whole("max_tokens", max_tokens, 1)
    if prefixes is not None and len(prefixes) != len(sources):
        raise InputError(f"there are {len(prefixes)} prefixes for {len(sources)} sentences.")
    require_positions(model, Examples.of([(source,) for source in sources]).lengths)
    kept = [i for i in range(len(sources)) if sources[i]]
    texts = Examples.of([(sources[i],) for i in kept])
    unpadded(texts, PAD)
    room = max(max_tokens // search.beam, 1 + int(texts.lengths.max(initial=0)))
    found = [[Hypothesis([], 0.0, 0.0)] * search.best for _ in sources]
    for group in batches_by_tokens(texts, room):
        numbers = [kept[i] for i in group]
        src = pad([[*sources[number], EOS] for number in numbers], device_of(model))
        begun = None if prefixes is None else [prefixes[number] for number in numbers]
        for number, hypotheses in zip(numbers, decode(model, src, search, begun), strict=True):
            found[number][: len(hypotheses)] = hypotheses
    return found


def unknown_words(text: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """List the words of a text that a vocabulary does not know completely, each once."""
    return tuple(word for word in dict.fromkeys(text.split()) if UNK in vocabulary.encode(word))


def require_known(name: str, text: str, vocabulary: Vocabulary) -> list[int]:
    """Return the ids of a text; refuse it if a token is unknown to the vocabulary.

    Raises:
        InputError: if it has an unknown token; the message begins with ``name``.
    """
    if UNK in (ids := vocabulary.encode(text)):
        words = ", ".join(map(BRIEF.repr, unknown_words(text, vocabulary)[:MOST])) or "all of it"
        raise InputError(
            f"{name} is {BRIEF.repr(text)}, the vocabulary must know all its tokens: it does not "
            f"know {words}."
        )
    return ids


def translate_ids(
    model: NextTokenModel, sources: Sequence[list[int]], search: Search = GREEDY
) -> list[list[int]]:
    """Find the best translation of every sentence, from ids to ids."""
    return [best.tokens for best, *_ in search_all(model, sources, search)]


def translations(
    model: NextTokenModel,
    texts: Sequence[str],
    vocabularies: Vocabularies,
    search: Search,
    prefixes: Sequence[str] | None = None,
    max_tokens: int = 6144,
) -> list[list[str]]:
    """Find the ``search.best`` best translations of every text, the best first.

    Raises:
        InputError: if a text is longer than the model can read, or a prefix has a token outside the
            target vocabulary.
    """
    src, tgt = vocabularies
    begun = None
    if prefixes is not None:
        begun = [require_known("a prefix", prefix, tgt) for prefix in prefixes]
    found = search_all(model, src.encode_all(texts), search, begun, max_tokens)
    return [[tgt.decode(hypothesis.tokens) for hypothesis in best] for best in found]


def translate(
    model: NextTokenModel,
    texts: Sequence[str],
    vocabularies: Vocabularies,
    search: Search = GREEDY,
    max_tokens: int = 6144,
) -> list[str]:
    """Translate every text, in their order; greedily unless ``search`` is given.

    Raises:
        InputError: if a text is longer than the model can read.
    """
    return [best for best, *_ in translations(model, texts, vocabularies, search, None, max_tokens)]
