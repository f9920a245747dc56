import json
from collections import Counter
from itertools import pairwise

import pytest
from tokenizers import Tokenizer, models

from annotated_transformer.ground.errors import InputError
from annotated_transformer.tokens import BOS, EOS, PAD, SPECIALS, UNK, Vocabularies, Vocabulary

TEXTS = [
    "Grüße aus Köln!",
    "Der Weg ist 3,5 km lang (ungefähr).",
    "»Wirklich?«, fragt sie; er nickt.",
    "It's an ice-cream shop, isn't it?",
    "나는 학생이다.",
]
LEARN = {"words": Vocabulary.words, "subwords": Vocabulary.subwords}
both = pytest.mark.parametrize("learn", LEARN.values(), ids=LEARN)


@pytest.mark.parametrize("size", [5, 70, 8000])
def test_subwords_lose_nothing(size):
    vocabulary = Vocabulary.subwords(TEXTS, size)
    for text in (*TEXTS, " ".join(TEXTS), "gekünstelt, (5)?!", ""):
        ids = vocabulary.encode(text)
        assert UNK not in ids
        assert vocabulary.decode(ids) == text
        assert vocabulary.decode([BOS, *ids, EOS, PAD, PAD]) == text


def test_every_merge_joins_the_most_frequent_pair():
    texts = ["low lower lowest", "new newer newest low low", "wide wider widest new"]
    vocabulary = Vocabulary.subwords(texts, 40)
    merges = json.loads(vocabulary.to_json())["model"]["merges"]
    words = {word: ["▁", *word] for text in texts for word in text.split()}
    counts = Counter(word for text in texts for word in text.split())
    assert len(merges) > 10
    for merge in merges:
        pairs = Counter()
        for word, parts in words.items():
            for pair in pairwise(parts):
                pairs[pair] += counts[word]
        assert pairs[tuple(merge)] == max(pairs.values())
        for word, parts in words.items():
            i, merged = 0, []
            while i < len(parts):
                step = 2 if parts[i : i + 2] == list(merge) else 1
                merged.append("".join(parts[i : i + step]))
                i += step
            words[word] = merged
    for word, parts in words.items():
        assert vocabulary.tokens(vocabulary.encode(word)) == parts


def test_composed_and_decomposed_letters_are_the_same():
    vocabulary = Vocabulary.subwords(TEXTS)
    assert vocabulary.encode("Gru\u0308\u00dfe") == vocabulary.encode("Gr\u00fc\u00dfe")


@both
def test_specials_come_first(learn):
    vocabulary = learn(TEXTS)
    assert tuple(vocabulary.tokens([PAD, BOS, EOS, UNK])) == SPECIALS
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert len(set(vocabulary.tokens(range(len(vocabulary))))) == len(vocabulary)


@both
def test_nothing_typed_becomes_a_special_token(learn):
    vocabulary = learn([*TEXTS, *(f"ein {special} Wort" for special in SPECIALS)])
    for special in SPECIALS:
        for text in (special, f"Der {special} Weg", f"Der{special}", f"{special}{special} Weg"):
            assert not {PAD, BOS, EOS} & set(vocabulary.encode(text))
        assert vocabulary.encode(special) == [UNK]


@both
def test_only_what_was_given_is_learned(learn):
    vocabulary = learn(["ein Hund", "eine Katze"])
    said = vocabulary.decode(vocabulary.encode("ein qHund"))
    assert said == ("ein <unk>" if learn == Vocabulary.words else "ein <unk>Hund")
    learned = set("".join(vocabulary.tokens(range(4, len(vocabulary)))))
    assert learned <= set("ein Hundeine Katze▁")


@both
def test_learning_and_storing_are_repeatable(learn):
    vocabulary = learn(TEXTS)
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again.to_json() == vocabulary.to_json() == learn(TEXTS).to_json()
    assert again.encode_all(TEXTS) == [vocabulary.encode(text) for text in TEXTS]


def changed(path, value):
    """The JSON of a vocabulary, with one thing in it another."""
    part = described = json.loads(Vocabulary.subwords(TEXTS).to_json())
    *inside, last = path
    for name in inside:
        part = part[name]
    part[last] = value(part[last]) if callable(value) else value
    return json.dumps(described)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["truncation"], {"direction": "Right", "max_length": 1, "strategy": "LongestFirst"}),
        (["post_processor"], {"type": "TemplateProcessing", "single": [], "pair": []}),
        (["normalizer"], {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        (["pre_tokenizer"], None),
        (["decoder"], {"type": "Strip", "content": "a", "start": 1, "stop": 0}),
        (["model", "unk_token"], "none"),
        (["added_tokens", 2, "special"], False),
        (["model", "type"], "Unigram"),
        (["model", "dropout"], 0.5),
        (["model", "continuing_subword_prefix"], "#########"),
        (["model", "end_of_word_suffix"], "#########"),
    ],
)
def test_foreign_rules_are_refused(path, value):
    """Some of them would lose text without a word, some end in a panic of the library."""
    with pytest.raises(InputError, match="its tokenization rules are not those of this version"):
        Vocabulary.from_json(changed(path, value))


def without_its_longest(ids):
    """The library panics at it."""
    *_, joined = sorted(ids, key=len)
    return {name: i for name, i in ids.items() if name != joined} | {"": ids[joined]}


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "{}",
        *(changed(["model", "vocab", "zz"], number) for number in (-1, 4, 10**6, "7")),
        changed(["model", "vocab"], without_its_longest),
    ],
)
def test_json_of_something_else(text):
    with pytest.raises(InputError, match="this is not the JSON of a vocabulary"):
        Vocabulary.from_json(text)


@both
def test_what_other_versions_of_the_library_leave_out_or_add_changes_nothing(learn):
    described = json.loads(learn(TEXTS).to_json())
    del described["truncation"]
    described["model"]["something_new"] = None
    again = Vocabulary.from_json(json.dumps(described))
    assert again.to_json() == learn(TEXTS).to_json()


def test_an_id_outside_the_vocabulary_is_refused():
    vocabulary = Vocabulary.words(["ein Hund"])
    for method in (vocabulary.decode, vocabulary.tokens):
        for wrong in (-1, 6, 2**40):
            with pytest.raises(InputError, match=f"id {wrong} is outside the vocabulary of 6 tok"):
                method([4, wrong])


def test_a_tokenizer_without_specials():
    with pytest.raises(InputError, match=r"the first tokens are \('a', 'b', None, None\)"):
        Vocabulary(Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a")))


def test_a_vocabulary_of_words_forgets_none():
    words = [f"word{i}" for i in range(40_000)]
    vocabulary = Vocabulary.words([" ".join(words)])
    assert len(vocabulary) == len(words) + len(SPECIALS)


# --- two vocabularies -----------------------------------------------------------------------------

PAIRS = [("ein Hund", "a dog"), ("eine Katze", "a cat"), ("ein Weg", "a way"), ("so weit", "a way")]


def test_a_vocabulary_is_learned_from_both_sides_or_for_each_side_by_itself():
    src, tgt = vocabularies = Vocabularies.learn(PAIRS, subwords=60)
    assert src is tgt is vocabularies.src is vocabularies.tgt
    texts = [text for pair in PAIRS for text in pair]
    assert src.to_json() == Vocabulary.subwords(texts, 60).to_json()
    for side, vocabulary in enumerate(Vocabularies.learn(PAIRS, subwords=0)):
        alone = Vocabulary.words([pair[side] for pair in PAIRS])
        assert vocabulary.to_json() == alone.to_json()


@pytest.mark.parametrize("subwords", [0, 60])
def test_pairs_are_encoded_side_by_side_in_chunks_that_are_read_when_asked_for(subwords):
    src, tgt = vocabularies = Vocabularies.learn(PAIRS, subwords)
    expected = [(src.encode(source), tgt.encode(target)) for source, target in PAIRS]
    assert vocabularies.encode(PAIRS) == expected
    coming = iter(PAIRS)
    chunks = vocabularies.encode_in_chunks(coming, 3)
    assert next(chunks) == expected[:3]
    assert [*coming] == PAIRS[3:]
    assert [*vocabularies.encode_in_chunks(iter(PAIRS), 3)] == [expected[:3], expected[3:]]
    assert vocabularies.encode([]) == []


def test_subwords_are_not_learned_from_a_word_without_an_end():
    Vocabulary.subwords(["a" * 10_000])
    with pytest.raises(InputError, match="a word has 10,001 characters, it must have at most"):
        Vocabulary.subwords(["a", "b " + "a" * 10_001])


def test_white_space_of_every_kind_ends_a_word():
    for white in ("\u00a0", "\u3000", "\t", "\n"):
        Vocabulary.subwords([white.join(["ab"] * 4_000)])
