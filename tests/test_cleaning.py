"""A text is cut the same, however its spaces were typed and whatever is in it that nobody sees."""

import json
import unicodedata

import pytest

from annotated_transformer.corpora import load_corpus
from annotated_transformer.evaluation import score_translations
from annotated_transformer.ground.errors import InputError
from annotated_transformer.text.cleaning import clean
from annotated_transformer.tokens import Vocabulary

SPACES = [chr(i) for i in range(0x110000) if chr(i).isspace()]
SEEN = "\u200c\u200d\ufe0f"  # joiners and variants say how a character is to be drawn
UNSEEN = [
    chr(i)
    for i in range(0x110000)
    if unicodedata.category(chr(i)) in ("Cc", "Cf") and chr(i) not in [*SPACES, *SEEN]
]
SAYS = {"Arab", "Canc", "Egyp", "Kait", "Syri", "TAG"}
"""Formats that are seen, or say something: numbers of Arabic, Syriac and Kaithi, hieroglyphs, and
the tags of which flags are made."""


def both(texts):
    return [Vocabulary.words(texts), Vocabulary.subwords(texts, 100)]


@pytest.mark.parametrize("space", [*SPACES, "  ", " \t \u00a0"])
def test_white_space_of_every_kind_is_one_space(space):
    assert clean(f"{space}10{space}km{space}") == "10 km"


def test_what_is_not_seen_goes_and_nothing_else():
    kept = {c for c in UNSEEN if clean(f"a{c}b") != "ab"}
    assert {unicodedata.name(c)[:4].rstrip().upper() for c in kept} <= {n.upper() for n in SAYS}
    for character in SEEN:
        assert character in clean(f"a{character}b")
    assert clean("\u3164a\uffa0") == "a"  # fillers, which are letters to Unicode


@pytest.mark.parametrize("text", ["10 km weit", "학생 은 학교 에", "Grüße, é"])
def test_a_vocabulary_cuts_as_if_the_text_had_been_typed_plainly(text):
    for vocabulary in both([text] * 5):
        plain = vocabulary.encode(text)
        assert 3 not in plain
        for space in ("\u00a0", "\u202f", "\u3000", "\t", "\u2028", "  "):
            assert vocabulary.encode(text.replace(" ", space)) == plain
        for unseen in ("\u00ad", "\u200b", "\u2060", "\ufeff", "\u200e"):
            assert vocabulary.encode(text[:1] + unseen + text[1:]) == plain
        assert vocabulary.encode(unicodedata.normalize("NFD", text)) == plain
        again = Vocabulary.from_json(vocabulary.to_json())
        assert again.encode(f"\ufeff{text}\u00a0") == plain


def test_what_is_learned_is_what_is_cleaned():
    for vocabulary, plain in zip(both(["a\u00a0b\u200b"] * 3), both(["a b"] * 3), strict=True):
        assert vocabulary.to_json() == plain.to_json()


def test_scores_do_not_depend_on_how_a_text_was_typed():
    plain = score_translations(["zehn km weit von hier"], ["zehn km weit von hier"])
    odd = score_translations(["zehn\u00a0km weit\u200b von hier"], ["zehn km  weit von hier"])
    assert [score.value for score in odd] == [score.value for score in plain]


@pytest.mark.parametrize("suffix", [".tsv", ""])
def test_a_corpus_is_cleaned_when_it_is_read(tmp_path, suffix):
    lines = [("10\u00a0km", "10  km"), ("\ufeff", "\u200b"), ("a\u00ad", "b\u3000c")]
    if suffix:
        path = tmp_path / "text.tsv"
        path.write_text("".join(f"{s}\t{t}\n" for s, t in lines), encoding="utf-8")
    else:
        path = tmp_path
        for side, name in enumerate(("train.de", "train.en")):
            (path / name).write_text("".join(f"{p[side]}\n" for p in lines), encoding="utf-8")
    corpus = load_corpus(str(path))
    read = [pair for split in corpus.splits.values() for pair in split]
    assert sorted(read) == [("10 km", "10 km"), ("a", "b c")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"ein Hund\teine Katze\nzwei\0\tdrei\n", "line 2 contains a NUL character: if it is"),
        ("ein\tzwei\n".encode("utf-16-le"), "line 1 contains a NUL character"),
        (b"ein\tzwei\rdrei\tvier\r", "line 1 contains a carriage return: if all lines end in"),
    ],
)
def test_what_is_no_line_of_text_is_told_with_its_place(tmp_path, text, message):
    path = tmp_path / "text.tsv"
    path.write_bytes(text)
    with pytest.raises(InputError, match=f"{path}, {message}"):
        list(load_corpus(str(path)).splits["train"])


def test_a_word_that_was_learned_uncleaned_keeps_its_id():
    described = json.loads(Vocabulary.words(["Ende", "Ende", "Anfang"]).to_json())
    described["normalizer"] = None  # as before version 0.3
    ids = described["model"]["vocab"]
    ids["En\u00adde"] = ids.pop("Ende")
    again = Vocabulary.from_json(json.dumps(described))
    assert again.encode("Ende En\u00adde Anfang") == [4, 4, 5]
    assert again.decode([4]) == "Ende"
