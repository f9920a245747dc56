"""The toy English-Korean corpus: generated sentence pairs with gold word alignments.

A hand-written synchronous grammar translates while it generates. English is subject-verb-object and
puts phrases and clauses behind nouns, Korean is subject-object-verb and puts them in front, and
clauses nest: the longer the sentence, the farther the words move. Each English sentence has one
Korean translation, each Korean morpheme an English gloss, and each link between the two is known.

    I think that he is a doctor
    나 는   그 가        의사   라고      생각하 ㄴ다
    I TOPIC he SUBJECT  doctor be.QUOTE think  PLAIN
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_whole
from annotated_transformer.toy.clauses import (
    action,
    fused,
    given,
    identity,
    statement,
)
from annotated_transformer.toy.lexicon import NOUNS, VERBS
from annotated_transformer.toy.morphology import Token, written
from annotated_transformer.toy.nominals import (
    ITSELF,
    PRONOUNS,
    marked,
    noun_phrase,
)
from annotated_transformer.toy.phrases import Phrase
from annotated_transformer.toy.sampler import Sampler

LONGEST = 40  # tokens a side, in the splits of longer and of deeper sentences
_HELD_OUT = 10  # one template in ten is kept for the split "unseen"
_PATIENCE = 20  # draws for each sentence found, beyond 20,000, before giving up


@dataclass(frozen=True)
class Pair:
    """A sentence pair.

    Attributes:
        src: English words, lower case except "I"; no full stop.
        tgt: Korean morphemes: ("나", "는", "학생", "이다").
        gloss: an English gloss for each morpheme: ("I", "TOPIC", "student", "be").
        alignment: gold links (position in `src`, position in `tgt`), from 0. A morpheme is linked
            to the word that carries its meaning; `toy.phrases` tells which have
            no link.
        depth: how deep relative clauses, "that", "because", "if", "given" and prepositional phrases
            behind nouns are nested; 0 for a simple sentence.
        template: the categories of the English words: "PRO BE ART N".
    """

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    gloss: tuple[str, ...]
    alignment: frozenset[tuple[int, int]]
    depth: int
    template: str

    @property
    def surface(self) -> str:
        """Korean as it is written, morphemes joined to words: "나는 학생이다"."""
        return written(tuple(map(Token, self.tgt, self.gloss)))


def pair(phrase: Phrase) -> Pair:
    """Make a sentence pair of a complete sentence of the grammar."""
    src, categories = zip(*phrase.src, strict=True)
    tgt, gloss = zip(*phrase.tgt, strict=True)
    return Pair(src, tgt, gloss, frozenset(phrase.links), phrase.depth, " ".join(categories))


def _examples() -> Iterator[Pair]:
    student = noun_phrase(NOUNS["student"], "a")
    robot = noun_phrase(NOUNS["robot"], "a")
    orders = given(noun_phrase(NOUNS["order"], "the", plural=True), ITSELF)
    obey = action(VERBS["obey"], marked(orders, "OBJECT"), modal="must")
    yield pair(fused(statement(PRONOUNS["I"], identity(student))))
    yield pair(fused(statement(robot, obey)))


EXAMPLES: tuple[Pair, ...] = tuple(_examples())
"""Two sentences that the course returns to, "I am a student" and the second law of robotics."""


def is_held_out(template: str) -> bool:
    """Tell whether a template is kept out of the splits train, val and test.

    >>> is_held_out("PRO BE ART N")
    False
    """
    return zlib.crc32(template.encode()) % _HELD_OUT == 0


def toy_corpus(
    pairs: int = 10_000, seed: int = 0, max_length: int = 18, max_depth: int = 2
) -> dict[str, list[Pair]]:
    """Make the corpus: the same for the same arguments, on every machine.

    pairs: size of the split "train", 20 to 1,000,000; every other split has a twentieth of it.
        pairs: size of the split "train", 20 to 1,000,000; every other has a twentieth of it.
        seed: of the random numbers.
        max_length: maximum number of tokens on the longer side, 4 to 32.
        max_depth: maximum nesting of clauses and prepositional phrases, 0 to 3.

    Returns:
        Splits without a sentence in common. "train", "val" and "test" have the same distribution,
        except that "train" begins with those of `EXAMPLES` that are within the bounds.
        "unseen" has only templates that these three do not have. "longer" has sentences of more
        than `max_length` tokens and of no more than `max_depth`, "deeper" has sentences nested
        deeper than `max_depth`; both stop at 40 tokens.

    Raises:
        InputError: if an argument is out of its range, or if the grammar does not have that many
            different sentences within these bounds.
    """
    for name, value, low, high in (
        ("pairs", pairs, 20, 1_000_000),
        ("seed", seed, 0, None),
        ("max_length", max_length, 4, 32),
        ("max_depth", max_depth, 0, 3),
    ):
        require_whole(name, value, low, high)
    few = pairs // 20
    shallow, deep = range(max_depth + 1), range(max_depth + 1, max_depth + 3)

    def split(candidate: Pair) -> str:
        length = max(len(candidate.src), len(candidate.tgt))
        if length > LONGEST:
            return ""
        if candidate.depth > max_depth:
            return "deeper"
        if length > max_length:
            return "longer"
        return "unseen" if is_held_out(candidate.template) else "seen"

    known = [example for example in EXAMPLES if split(example) == "seen"]
    rng = Random(seed)
    wanted = {"seen": pairs + 2 * few - len(known), "unseen": few, "longer": few}
    found = _draw(rng, shallow, split, wanted) | _draw(rng, deep, split, {"deeper": few})
    seen = found.pop("seen")
    rng.shuffle(seen)  # the first pairs drawn are the shorter ones
    return {
        "train": [*known, *seen[2 * few :]],
        "val": seen[:few],
        "test": seen[few : 2 * few],
        **found,
    }


def _draw(
    rng: Random, depths: range, split: Callable[[Pair], str], wanted: dict[str, int]
) -> dict[str, list[Pair]]:
    """Draw different sentences until each split has its size."""
    sampler = Sampler(rng)
    found: dict[str, dict[tuple[str, ...], Pair]] = {name: {} for name in wanted}
    examples = {example.src for example in EXAMPLES}
    missing, patience = sum(wanted.values()), 1000 * _PATIENCE
    while missing and patience:
        # The larger of two depths: deep sentences are often too long, and would become rare.
        candidate = pair(sampler.sentence(max(rng.choices(depths, k=2)), rng.random()))
        name = "" if candidate.src in examples else split(candidate)
        patience -= 1
        if len(found.get(name, ())) < wanted.get(name, 0) and candidate.src not in found[name]:
            found[name][candidate.src] = candidate
            missing, patience = missing - 1, patience + _PATIENCE
    if missing:
        counts = ", ".join(f"{len(found[name])} of {wanted[name]} {name}" for name in wanted)
        raise InputError(
            f"The grammar has too few sentences within these bounds (found {counts}); "
            "ask for fewer pairs, or for another max_length or max_depth."
        )
    return {name: list(sentences.values()) for name, sentences in found.items()}
