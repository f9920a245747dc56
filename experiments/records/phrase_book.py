"""The record of the phrase book of lesson 18, and of models that know less of the source."""

from functools import cache
from random import Random
from typing import Any

import torch

from annotated_transformer.toy import Pair, toy_corpus
from records.fitting import fit_one_cycle
from records.tables import Row, Tables
from transformer_workbook.chapters.language_model import exercises as lesson

STEPS, ROWS, LONGEST = 800, 32, 48  # the page's, but for room for longer lines
KNOWN: dict[str, Any] = {  # of the source; a rival fails that gets less than 10% right
    "its words in order": lambda words, rng: list(words),
    "how many words": lambda words, rng: ["…"] * len(words),
    "its words, shuffled": lambda words, rng: rng.sample(words, len(words)),
}
corpus = cache(toy_corpus)


def train_phrase_book(known: str, seed: int) -> Row:
    """Train one model as on the page; what it gets right of new lines, and of longer ones."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    splits, rng = corpus(max_length=12, max_depth=1), Random(seed)
    lines = [[*KNOWN[known](p.tgt, rng), "=", *p.src] for p in splits["train"]]
    words = ["", "⏎", *sorted({word for line in lines for word in line})]
    number = {word: i for i, word in enumerate(words)}
    rows = [torch.tensor([number[w] for w in ["⏎", *line, "⏎"]]) for line in lines]
    text = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    model: Any = lesson.decoder_only.reference(len(words), LONGEST, 64, 4, 3)

    def loss_at(_: int) -> Any:
        ids = text[torch.randint(len(text), (ROWS,))]
        return lesson.loss_of_every_word.reference(model, ids)

    fit_one_cycle(model, 4e-3, STEPS, loss_at, torch.optim.AdamW)

    @torch.no_grad()
    def is_right(pair: Pair) -> bool:
        ids = torch.tensor([[number[w] for w in ["⏎", *KNOWN[known](pair.tgt, rng), "="]]])
        start = ids.size(1)
        while ids.size(1) < LONGEST and ids[0, -1] != number["⏎"]:
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(dim=-1)], dim=1)
        said = [words[i] for i in ids[0, start:].tolist() if i > 1]
        the = {"a": "the", "an": "the"}  # Korean has no articles
        return [the.get(w, w) for w in said] == [the.get(w, w) for w in pair.src]

    longer = [p for p in splits["longer"] if len(p.src) < 16 and len(p.tgt) < 16]
    new, beyond = (sum(map(is_right, pairs)) for pairs in (splits["test"][:100], longer[:100]))
    return {"model": known, "seed": seed, "new": new, "longer": beyond, "of": len(longer[:100])}


def make_phrase_book(tables: Tables) -> None:
    """A language model of the lesson that translates, and models that know less of the source.

    It is the refuter of lesson 18: a model that is told how many words the source has, or which
    ones, but not in which order; and sentences longer than any of its book.
    """
    tasks = [(known, seed) for known in KNOWN for seed in range(1, 6)]
    tasks += [("its words in order", seed) for seed in range(6, 21)]
    tables.extend("phrase_book", train_phrase_book, tasks, ["model", "seed"], workers=1)
