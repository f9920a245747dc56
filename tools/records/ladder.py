"""The ladder: four models on German captions, with equal time and equal tuning.

Every model gets the same tokenizer, batches, loss, optimizer and averaging, the same number of
trials, and as many steps as fit into ten minutes of one core. The number of steps comes from a
record of its own (capstone_speed), measured as the trainings are made, two at a time: after that,
no result depends on what else the machine does. The two best are then trained three times as
long, and the best trial of every model again with other seeds.
"""

import tempfile
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.decoding import GREEDY, Search
from annotated_transformer.evaluation import evaluate, perplexity, score_translations
from annotated_transformer.run import Recipe, Run
from records import captions
from records.checkpoint import make_checkpoint
from records.tables import Row, Tables

BUDGET = 600  # seconds of one core for each training
LONGER = 3  # times the budget, for the two best
RATES = (2e-3, 4e-3, 1e-3)
DROPOUT = 0.1
SHORT: dict[str, Any] = {"batch_tokens": 1024, "warmup": 100, "average_decay": 0.99}
"""What is not as in the preset, which is made for an hour and not for ten minutes."""
SCORES = ("dot", "general", "concat")
MODELS = ("seq2seq", "bahdanau", "luong", "transformer")
KEYS = ["model", "score", "rate", "seed", "steps"]
SEEDS = (0, 1, 2)  # the first is that of the trials, too
Settings = tuple[str, str, float]
"""Model, score of its attention ("" if it has no choice), learning rate."""


def best_trial(rows: Iterable[Row], name: str) -> Row:
    """The trial of a model with the lowest validation perplexity."""
    trials = [row for row in rows if row["model"] == name and int(row["seed"]) == SEEDS[0]]
    return min(trials, key=lambda row: float(row["val_perplexity"]))


def mark_chosen(rows: list[Row]) -> list[Row]:
    """Tell for every row whether its settings are those that were chosen for its model."""
    best = {name: best_trial(rows, name) for name in {row["model"] for row in rows}}
    settings = ("score", "rate")
    return [
        {**row, "chosen": all(str(row[key]) == str(best[row["model"]][key]) for key in settings)}
        for row in rows
    ]


def short_recipe(model: str, score: str, rate: float, seed: int, steps: int) -> Recipe:
    """The preset with these settings, for a short training."""
    tuned = {"peak_rate": rate, "seed": seed, "steps": steps, "validate_every": steps}
    recipe = captions.caption_recipe(model, **tuned, **SHORT)
    return recipe.changed({"dropout": DROPOUT} | ({"score": score} if score else {}))


def trials_of(model: str) -> list[Settings]:
    """What is tried of a model: three rates or, for Luong, the three scores."""
    if model == "luong":
        return [(model, score, RATES[0]) for score in SCORES]
    return [(model, "", rate) for rate in RATES]


def best_settings(rows: list[Row], model: str) -> Settings:
    """The settings of the trial with the lowest perplexity on the validation split."""
    row = best_trial(rows, model)
    return model, row["score"], float(row["rate"])


def time_caption_step(model: str, batch_tokens: int, steps: int = 120) -> Row:
    """Time one step of training, the mean over typical batches, on one thread."""
    torch.set_num_threads(1)
    recipe = short_recipe(model, "concat" if model == "luong" else "", 1e-3, 0, 1000)
    recipe = recipe.changed({"batch_tokens": batch_tokens})
    mean, per_epoch = captions.time_step(recipe, steps)
    return {
        "model": model,
        "batch_tokens": batch_tokens,
        "seconds_per_step": round(mean, 3),
        "steps": captions.steps_within(BUDGET, mean),
        "steps_per_epoch": per_epoch,
    }


def score_bin(low: int, high: int) -> Row:
    """Count the test sentences of one bin, and score the checkpoint's translations of them."""
    torch.set_num_threads(1)
    test = captions.corpus().split(captions.TEST)
    pairs = [(source, target) for source, target in test if low <= len(source.split()) < high]
    run = Run.open(captions.CHECKPOINT)
    bleu, *_ = evaluate(run.model, run.vocabularies, pairs, run.recipe.search)
    return {"low": low, "high": high, "sentences": len(pairs), "checkpoint": round(bleu.value, 2)}


def train_on_captions(model: str, score: str, rate: float, seed: int, steps: int) -> Row:
    """Train one model of the ladder and measure it."""
    torch.set_num_threads(1)
    recipe = short_recipe(model, score, rate, seed, steps)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run = captions.train_run(Path(folder) / "run", recipe)
        minutes = (time.process_time() - start) / 60
        return {
            "model": model,
            "score": score,
            "rate": rate,
            "dropout": DROPOUT,
            "seed": seed,
            "steps": steps,
            "cpu_minutes": round(minutes, 1),
            **measure_run(run),
        }


def measure_run(run: Run) -> Row:
    """Measure a trained model on the validation and on the test split."""
    val = run.vocabularies.encode(captions.corpus().split("val"))
    greedy = captions.scores_of(run, captions.TEST, GREEDY)
    sources, references = captions.corpus().sides(captions.TEST)
    found = run.translate(sources, Search(beam=4))
    beam = captions.by_name(score_translations(found, references))
    return {
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "val_perplexity": round(perplexity(run.model, val), 3),
        "test_perplexity": round(greedy["perplexity"].value, 3),
        **captions.score_columns("greedy", greedy),
        **captions.score_columns("beam", beam),
        **captions.columns_by_length("bleu", sources, found, references),
        **captions.signature_columns(beam),
    }


def make_lengths(tables: Tables) -> None:
    """BLEU of the checkpoint, by the length of a sentence."""
    make_checkpoint(tables)
    tables.extend("capstone_lengths", score_bin, list(pairwise(captions.EDGES)), ["low", "high"])


def make_speeds(tables: Tables) -> dict[str, int]:
    """The time of a training step of each of the four models, and how many fit into the budget."""
    timed = [(model, SHORT["batch_tokens"]) for model in MODELS]
    keys = ["model", "batch_tokens"]
    rows = tables.extend("capstone_speed", time_caption_step, timed, keys)
    return {row["model"]: int(row["steps"]) for row in rows}


def make_ladder(tables: Tables) -> list[Row]:
    """Four models with equal time and equal tuning; the best of each with three seeds."""
    steps = make_speeds(tables)

    def tasks_of(wanted: list[Settings], seed: int) -> list[tuple[Any, ...]]:
        return [(*settings, seed, steps[settings[0]]) for settings in wanted]

    tasks = []
    for trials in zip(*map(trials_of, MODELS), strict=True):
        tasks += tasks_of(list(trials), SEEDS[0])
    rows = tables.extend("capstone", train_on_captions, tasks, KEYS, mark_chosen)
    best = [best_settings(rows, model) for model in MODELS]
    for seed in SEEDS[1:]:
        tasks += tasks_of(best, seed)
    return tables.extend("capstone", train_on_captions, tasks, KEYS, mark_chosen)


def make_longer(tables: Tables) -> None:
    """The two best models of the ladder with three times the time."""
    rows, steps = make_ladder(tables), make_speeds(tables)
    perplexities = {model: float(best_trial(rows, model)["val_perplexity"]) for model in MODELS}
    first_two = sorted(MODELS, key=lambda model: perplexities[model])[:2]
    longer = [(*best_settings(rows, model), SEEDS[0], LONGER * steps[model]) for model in first_two]
    tables.extend("capstone_longer", train_on_captions, longer, KEYS)
