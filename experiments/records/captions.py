"""What the records of Multi30k's captions share: the corpus, how runs are made and scored."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from annotated_transformer.batches import Batch
from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.decoding import Search
from annotated_transformer.evaluation import Score, score_translations
from annotated_transformer.ground.errors import InputError
from annotated_transformer.run import Recipe, Run, new_trainer, preset, train
from annotated_transformer.run.checkpoint import load_checkpoint, save_checkpoint
from annotated_transformer.tokens import Vocabularies
from annotated_transformer.training import Trainer, endless_batches
from records.tables import ROOT, Row

CHECKPOINT = ROOT / "checkpoints" / "multi30k-de-en"
RUNS = ROOT / "runs" / "capstone"
TEST = "test_2016_flickr"
SPLITS = ("val", TEST, "test_2017_flickr")
BEAMS = (2, 4, 8)
ALPHAS = (0.0, 0.6, 1.0, 1.4, 1.8, 2.2)
SEARCHES: list[tuple[int, float]] = [(1, 0.0), *product(BEAMS, ALPHAS)]
"""Beam and length penalty: greedy search, which needs no penalty, and others."""
EDGES = (1, 8, 12, 16, 20, 100)
"""The lower ends of the bins of source length, in words."""
METRICS = {"": "BLEU", "_lower": "BLEU, lower-cased", "_chrf": "chrF"}
"""The scores, by the end of a column's name."""


@cache
def corpus() -> Corpus:
    """Return the corpus, read once in each process."""
    return load_corpus("multi30k")


def caption_recipe(model: str, **changes: Any) -> Recipe:
    """Return the preset with these changes; all trainings multiply in 16 bits."""
    return preset(model, "multi30k", precision="bfloat16", **changes)


def seconds_of_step(trainer: Trainer, batches: Iterator[Batch], steps: int) -> float:
    """Measure the CPU seconds for one step, a mean over typical batches."""
    seconds = []
    for _ in range(steps):
        batch = next(batches)
        start = time.process_time()
        trainer.update([batch])
        seconds.append(time.process_time() - start)
    return statistics.fmean(seconds[2:])  # the first steps allocate memory


def median_seconds(rows: Iterable[Row], *columns: str) -> dict[tuple[str, ...], float]:
    """Compute the median time of a step over several rounds, grouped by these columns."""
    found: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        kind = tuple(str(row[column]) for column in columns)
        found.setdefault(kind, []).append(float(row["seconds_per_step"]))
    return {kind: statistics.median(seconds) for kind, seconds in found.items()}


def time_step(recipe: Recipe, steps: int) -> float:
    """Measure the CPU seconds for one step of a recipe, a mean over typical batches."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder) / "run", recipe, corpus())
        examples = run.vocabularies.encode(corpus().split("train"))
        trainer = new_trainer(run)
    batches = endless_batches(examples, recipe.batch_tokens, recipe.seed)
    return seconds_of_step(trainer, batches, steps)


def train_run(
    folder: Path, recipe: Recipe, cut: Callable[[Vocabularies], Vocabularies] = lambda same: same
) -> Run:
    """Train a run, or the rest of it; it translates with its *last* weights.

    So all figures of a record belong to the number of steps that it states. (The package would use
    the best validation.) With ``cut``, the training text is split by other vocabularies with the
    same tokens.

    Raises:
        InputError: if the existing run was started with another recipe.
        RuntimeError: if a signal stopped the training.
    """
    run = Run.open(folder) if folder.exists() else Run.create(folder, recipe, corpus())
    if replace(run.recipe, languages=recipe.languages) != recipe:  # the run knows its own
        raise InputError(f"{folder} was started with another recipe: delete it first.")
    if signal := train(replace(run, vocabularies=cut(run.vocabularies)), corpus()):
        raise RuntimeError(f"{folder}: {signal.name} came before the last step; start again.")
    prefix = "average."
    tensors, _ = load_checkpoint(run.checkpoint)
    last = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    save_checkpoint(run.weights, last)
    return run


def by_name(scores: Sequence[Score]) -> dict[str, Score]:
    """Return the scores by name."""
    return {score.name: score for score in scores}


def scores_of(run: Run, split: str, search: Search | None = None) -> dict[str, Score]:
    """Compute all scores of a run on a split, by name; by default with its own search."""
    return by_name(run.evaluate(corpus(), split, search))


def score_columns(name: str, scores: dict[str, Score]) -> Row:
    """Make columns, whose names begin with ``name``, of the scores of one search."""
    return {name + end: round(scores[metric].value, 2) for end, metric in METRICS.items()}


def signature_columns(scores: dict[str, Score]) -> Row:
    """Return how the scores of :func:`score_columns` were computed."""
    return {f"signature{end}": scores[metric].signature for end, metric in METRICS.items()}


def in_bin(source: str, low: int, high: int) -> bool:
    """Tell whether a source has at least ``low`` words, and fewer than ``high``."""
    return low <= len(source.split()) < high


def columns_by_length(
    name: str, sources: Sequence[str], found: Sequence[str], wanted: Sequence[str]
) -> Row:
    """Compute BLEU of the sentences in each bin of source length."""
    columns = {}
    for low, high in pairwise(EDGES):
        inside = [i for i, text in enumerate(sources) if in_bin(text, low, high)]
        bleu, *_ = score_translations([found[i] for i in inside], [wanted[i] for i in inside])
        columns[f"{name}_{low}-{high - 1}"] = round(bleu.value, 2)
    return columns
