"""The tries for the checkpoint: one setting at a time, each with twenty minutes of one core.

They choose; they are no result. So they are compared on the validation split alone, with one seed.
The number of steps comes from a record of its own, as in the race.
"""

import json
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from annotated_transformer.run import Recipe
from annotated_transformer.text.examples import Example
from annotated_transformer.tokens import TextPair, Vocabularies, Vocabulary
from records import captions
from records.checkpoint import mark_best
from records.tables import Row, Tables

BUDGET = 1200  # seconds of one core for each try
PASSES = 10
"""How often the corpus is cut at random, where it is: as often as a try meets it, or more."""
TRIES: dict[str, dict[str, Any]] = {
    "as it was": {},
    "dropout 0.3": {"dropout": 0.3},
    "rate 3e-3": {"peak_rate": 3e-3},
    "post-norm": {"norm_position": "post"},
    "BPE-dropout": {"bpe_dropout": 0.1},
    "3,000 subwords": {"subwords": 3000},
    "batches of 1,024": {"batch_tokens": 1024, "average_decay": 0.999},
    "rate 1.4e-3": {"peak_rate": 1.4e-3},
    "dropout 0.1": {"dropout": 0.1},
    "4 layers": {"num_layers": 4},
    "width 192": {"d_model": 192, "num_heads": 6, "d_ff": 384},
    "8,000 subwords": {"subwords": 8000},
}
"""The changes of the preset with the fast engine, by the name of the try."""


class NoisyVocabularies(Vocabularies):
    """Vocabularies that split the training text at random, several times.

    A join of two symbols is left out with the probability ``dropout``: rare ways to cut a word are
    met, too. What is not trained on, :meth:`encode`, is cut as ever.

    Source: Provilkov et al. 2020, section 3.
    """

    clean: Vocabularies

    @classmethod
    def of(cls, clean: Vocabularies, dropout: float) -> "NoisyVocabularies":
        """Copy the vocabularies, with the same tokens."""

        def with_dropout(vocabulary: Vocabulary) -> Vocabulary:
            described = json.loads(vocabulary.to_json())
            described["model"]["dropout"] = dropout
            return Vocabulary(Tokenizer.from_str(json.dumps(described)))

        noisy = cls(*map(with_dropout, clean))
        noisy.clean = clean
        return noisy

    def encode(self, pairs: Iterable[TextPair]) -> list[Example]:
        """Encode sentence pairs, split as usual."""
        return self.clean.encode(pairs)

    def encode_in_chunks(
        self, pairs: Iterable[TextPair], size: int = 10_000
    ) -> Iterator[list[Example]]:
        """Encode sentence pairs, split in ten ways."""
        kept = list(pairs)
        for _ in range(PASSES):
            yield from super().encode_in_chunks(kept, size)


def recipe_of_try(name: str, **changes: Any) -> tuple[Recipe, float]:
    """Return the recipe of a try, and the probability of its BPE-dropout."""
    settings = TRIES[name] | changes
    dropout = float(settings.pop("bpe_dropout", 0))
    return captions.caption_recipe("transformer", engine="fast").changed(settings), dropout


def time_try(name: str) -> Row:
    """Time one step of a try, on one thread; compute how many fit into the budget."""
    torch.set_num_threads(1)
    recipe, _ = recipe_of_try(name)
    seconds = captions.time_step(recipe, steps=60)
    steps = int(BUDGET / seconds) // 50 * 50
    return {"name": name, "seconds_per_step": round(seconds, 3), "steps": steps}


def train_try(name: str, steps: int) -> Row:
    """Train one try and measure it on the validation split."""
    torch.set_num_threads(1)
    recipe, dropout = recipe_of_try(name, steps=steps)
    noisy = {"cut": partial(NoisyVocabularies.of, dropout=dropout)} if dropout else {}
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run = captions.train_run(Path(folder) / "run", recipe, **noisy)
        minutes = (time.process_time() - start) / 60
        scores = captions.scores_of(run, "val")
    return {
        "name": name,
        "steps": steps,
        "cpu_minutes": round(minutes, 1),
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "val_perplexity": round(scores["perplexity"].value, 3),
        "val_bleu": round(scores["BLEU"].value, 2),
    }


def make_speeds(tables: Tables) -> dict[str, int]:
    """The time of a training step of each of the tries, and how many fit into their budget."""
    names = [(name,) for name in TRIES]
    rows = tables.extend("capstone_tries_speed", time_try, names, ["name"])
    steps = {row["name"]: int(row["steps"]) for row in rows}
    return {name: steps[name] for name in TRIES}


def make_tries(tables: Tables) -> list[Row]:
    """What was tried for the checkpoint, one setting at a time, with twenty minutes of one core."""
    tasks = list(make_speeds(tables).items())
    return tables.extend("capstone_tries", train_try, tasks, ["name", "steps"], mark_best)
