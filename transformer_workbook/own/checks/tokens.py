"""Checks of tokens."""

import unicodedata
from collections import Counter
from typing import Any

from transformer_workbook.own.checks.check import Check, refusal

TEXTS = ["I am a student", "you are a robot", "I am"]
MARKED = "Öl, e\u0301² ﬁ!"
PAIRS = [("low lower", "ab"), ("low", "ab ab"), ("lowest low", "b")]


def _ids(text: str) -> list[int]:
    """Assign ids by the frequency of words, then alphabetically."""
    counts = Counter(" ".join(TEXTS).split())
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return [words.index(word) + 4 if word in words else 3 for word in text.split()]


def _words(m: Any) -> Any:
    return m.Vocabulary.words(TEXTS)


CHECKS = (
    Check(
        "Vocabulary.words",
        "len(Vocabulary.words({texts}))",
        lambda m: len(_words(m)),
        lambda: 11,
        {"texts": TEXTS},
    ),
    Check(
        "Vocabulary.encode",
        "Vocabulary.words({texts}).encode('I am a teacher')",
        lambda m: _words(m).encode("I am a teacher"),
        lambda: _ids("I am a teacher"),
        {"texts": TEXTS},
    ),
    Check(
        "Vocabulary.words",
        "the ids of 'a b' in Vocabulary.words(['a\\u00ad\\u00a0b']), which are cleaned",
        lambda m: m.Vocabulary.words(["a\u00ad\u00a0b"]).encode("a b"),
        lambda: [4, 5],
    ),
    Check(
        "Vocabulary.words",
        "the ids of 'x2' and 'x²' in Vocabulary.words(['x²']), cleaned to NFC, not NFKC",
        lambda m: m.Vocabulary.words(["x²"]).encode("x2 x²"),
        lambda: [3, 4],
    ),
    Check(
        "Vocabulary.words",
        "len(Vocabulary.words(['<eos> a'])): a special token is not learned once more",
        lambda m: len(m.Vocabulary.words(["<eos> a"])),
        lambda: 5,
    ),
    Check(
        "Vocabulary.encode",
        "Vocabulary.words({texts}).encode('I\\u00a0a\\u200bm'), which is cleaned",
        lambda m: _words(m).encode("I\u00a0a\u200bm"),
        lambda: _ids("I am"),
        {"texts": TEXTS},
    ),
    Check(
        "Vocabulary.encode",
        "Vocabulary.words({texts}).encode('<eos> I <pad>')",
        lambda m: _words(m).encode("<eos> I <pad>"),
        lambda: [3, *_ids("I"), 3],
        {"texts": TEXTS},
    ),
    Check(
        "Vocabulary.encode_all",
        "Vocabulary.words({texts}).encode_all(['you', 'am I <bos>'])",
        lambda m: _words(m).encode_all(["you", "am I <bos>"]),
        lambda: [_ids("you"), [*_ids("am I"), 3]],
        {"texts": TEXTS},
    ),
    Check(
        "Vocabulary.tokens",
        "Vocabulary.words({texts}).tokens([0, 2, 3, 4])",
        lambda m: _words(m).tokens([0, 2, 3, 4]),
        lambda: ["<pad>", "<eos>", "<unk>", "I"],
        {"texts": TEXTS},
    ),
    Check(
        "Vocabulary.tokens",
        "the error for an id outside the vocabulary, 11 or -1",
        lambda m: [refusal(lambda i=i: _words(m).tokens([i])) for i in (11, -1)],  # type: ignore[misc]
        lambda: ["InputError"] * 2,
    ),
    Check(
        "Vocabulary.decode",
        "Vocabulary.words({texts}).decode([1, 4, 5, 3, 2, 0])",
        lambda m: _words(m).decode([1, 4, 5, 3, 2, 0]),
        lambda: "I a <unk>",
        {"texts": TEXTS},
    ),
    Check(
        "Vocabulary.subwords",
        "the subwords of 'low' and 'lower', learned from 'low lower lowest low' with room enough",
        lambda m: (lambda v: v.tokens(v.encode("low lower")))(
            m.Vocabulary.subwords(["low lower lowest low"], 40)
        ),
        lambda: ["▁low", "▁lower"],
    ),
    Check(
        "Vocabulary.subwords",
        "'Öl, e\\u0301² ﬁ!' decoded from its subwords: NFC, not NFKC",
        lambda m: (lambda v: v.decode(v.encode(MARKED)))(m.Vocabulary.subwords([MARKED], 20)),
        lambda: unicodedata.normalize("NFC", MARKED),
    ),
    Check(
        "Vocabulary.subwords",
        "the subwords of 'low,', learned from 'low, low, low,': punctuation stands alone",
        lambda m: (lambda v: v.tokens(v.encode("low,")))(
            m.Vocabulary.subwords(["low, low, low,"], 40)
        ),
        lambda: ["▁low", ","],
    ),
    Check(
        "Vocabulary.subwords",
        "len(Vocabulary.subwords(['low lower lowest low'], 15))",
        lambda m: len(m.Vocabulary.subwords(["low lower lowest low"], 15)),
        lambda: 15,
    ),
    Check(
        "Vocabulary.subwords",
        "the error for a size of 4, which leaves no room",
        lambda m: refusal(lambda: m.Vocabulary.subwords(["a"], 4)),
        lambda: "InputError",
    ),
    Check(
        "Vocabularies.learn",
        "how many vocabularies Vocabularies.learn makes with 0 and with 30 subwords",
        lambda m: [len({*map(id, m.Vocabularies.learn(PAIRS, n))}) for n in (0, 30)],
        lambda: [2, 1],
    ),
    Check(
        "Vocabularies.learn",
        "'low ab' in the tokens of Vocabularies.learn({pairs}, 30)",
        lambda m: (lambda v: v.tokens(v.encode("low ab")))(m.Vocabularies.learn(PAIRS, 30).tgt),
        lambda: ["▁low", "▁ab"],
        {"pairs": PAIRS},
    ),
    Check(
        "Vocabularies.encode",
        "Vocabularies.learn({pairs}, 0).encode([('lowest', 'ab b')])",
        lambda m: m.Vocabularies.learn(PAIRS, 0).encode([("lowest", "ab b")]),
        lambda: [([6], [4, 5])],
        {"pairs": PAIRS},
    ),
    Check(
        "Vocabularies.encode_in_chunks",
        "list(Vocabularies.learn({pairs}, 0).encode_in_chunks({pairs}, 2))",
        lambda m: list(m.Vocabularies.learn(PAIRS, 0).encode_in_chunks(PAIRS, 2)),
        lambda: [[([4, 5], [4]), ([4], [4, 4])], [([6, 4], [5])]],
        {"pairs": PAIRS},
    ),
)
