"""The record of lesson 15: a translator and those who do not translate, scored as on its page.

Written down before the runs: a score tells a cheat from the model if the model gets more by it in
at least 19 of 20 draws of captions, once fifty of all and once fifty of the 300 longest.
"""

from collections.abc import Callable
from random import Random

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from annotated_transformer.run import Run
from records import captions
from records.tables import Row, Tables, with_seeds

Texts = list[list[str]]
SAME = ["A", "man", "in", "a", "blue", "shirt", "is", "standing", "in", "the", "street", "."]
CHEATS: dict[str, Callable[[Texts], Texts]] = {
    "next caption": lambda texts: texts[1:] + texts[:1],
    "backwards": lambda texts: [text[::-1] for text in texts],
    "four words": lambda texts: [text[:4] for text in texts],
    "in alphabetical order": lambda texts: [sorted(text) for text in texts],
    "one caption for all": lambda texts: [SAME for _ in texts],
    "halves swapped": lambda texts: [t[len(t) // 2 :] + t[: len(t) // 2] for t in texts],
    "written twice": lambda texts: [text + text for text in texts],
}


def score_cheat(model: str, seed: int) -> Row:
    """BLEU, single words, and pairs with the penalty, on fifty captions and on fifty long ones."""
    torch.set_num_threads(1)
    translator, words = Run.open(captions.CHECKPOINT), Tokenizer13a()  # type: ignore[no-untyped-call]
    every = list(captions.corpus().split(captions.TEST))
    longest = sorted(every, key=lambda pair: len(pair[1].split()))[-300:]
    row: Row = {"model": model, "seed": seed}
    for end, some in {"": every, "_long": longest}.items():
        german, english = zip(*Random(seed).sample(some, 50), strict=True)
        theirs = [words(text).split() for text in english]
        if model in CHEATS:
            ours = CHEATS[model](theirs)
        else:
            ours = [words(text).split() for text in translator.translate(list(german))]
        said, wanted = ([" ".join(text) for text in texts] for texts in (ours, theirs))
        found = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(said, [wanted])
        scores = found.score, found.precisions[0], found.bp * found.precisions[1]
        names = (f"{name}{end}" for name in ("bleu", "words", "pairs"))
        row |= {name: round(score, 2) for name, score in zip(names, scores, strict=True)}
    return row


def make_cheats(tables: Tables) -> None:
    """BLEU of our translator on fifty captions, and that of seven who do not translate.

    It is the refuter of lesson 15: which of them get more than the translator, by BLEU and by
    simpler scores, and on longer captions.
    """
    tasks = with_seeds(dict.fromkeys(["model", *CHEATS], 20))
    tables.extend("cheats", score_cheat, tasks, ["model", "seed"], workers=1)
