"""The records of the capstone: four models on German captions, with equal time and equal tuning.

Every model gets the same tokenizer, batches, loss, optimizer and averaging, the same number of
trials, and as many steps as fit into ten minutes of one core. The number of steps comes from a
record of its own (capstone_speed), measured as the trainings are made, two at a time: after that,
no result depends on what else the machine does. The two best are then trained three times as
long, and the best trial of every model again with other seeds.
"""

import statistics
import tempfile
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU

from annotated_transformer.batches import Batch, batches_by_tokens
from annotated_transformer.evaluation import perplexity, score_translations, translate
from annotated_transformer.recipes import Recipe, preset
from annotated_transformer.runs import Run
from annotated_transformer.training import endless_batches
from annotated_transformer.training_runs import new_trainer, train
from make_checkpoint import CHECKPOINT, COMMAND, TEST, corpus
from record_runs import SEEDS, best_trial, mark_chosen
from record_tables import Row, extend

BUDGET = 600  # seconds of one core for each training
LONGER = 3  # times the budget, for the two best
EDGES = (1, 8, 12, 16, 20, 100)  # where the bins of source length begin, in words
RATES = (2e-3, 4e-3, 1e-3)
DROPOUT = 0.1
SHORT: dict[str, Any] = {"batch_tokens": 1024, "warmup": 100, "average_decay": 0.99}
"""What is not as in the preset, which is made for an hour and not for ten minutes."""
SCORES = ("dot", "general", "concat")
MODELS = ("seq2seq", "bahdanau", "luong", "transformer")
Settings = tuple[str, str, float]
"""Model, score of its attention ("" if it has no choice), learning rate."""


def full_recipe(
    model: str, score: str, rate: float, seed: int, steps: int, **changes: Any
) -> Recipe:
    """Return the preset with these settings, for a training like that of the checkpoint."""
    changes |= {"bfloat16": True, "peak_rate": rate, "seed": seed, "steps": steps}
    recipe = preset(model, "multi30k", **changes)
    return replace(recipe, sizes=recipe.sizes | ({"score": score} if score else {}))


def recipe_of(model: str, score: str, rate: float, seed: int, steps: int) -> Recipe:
    """Return the preset with these settings, for a short training."""
    recipe = full_recipe(model, score, rate, seed, steps, validate_every=steps, **SHORT)
    return replace(recipe, sizes=recipe.sizes | {"dropout": DROPOUT})


def trials_of(model: str) -> list[Settings]:
    """Return what is tried of a model: three rates or, for Luong, the three scores."""
    if model == "luong":
        return [(model, score, RATES[0]) for score in SCORES]
    return [(model, "", rate) for rate in RATES]


def best(rows: list[Row], model: str) -> Settings:
    """Return the settings of the trial with the lowest perplexity on the validation split."""
    row = best_trial(rows, model)
    return model, row["score"], float(row["rate"])


def time_step(model: str, batch_tokens: int, steps: int = 120) -> Row:
    """Time one step of training, the mean over typical batches, on one thread."""
    torch.set_num_threads(1)
    recipe = recipe_of(model, "concat" if model == "luong" else "", 1e-3, 0, 1000)
    recipe = replace(recipe, batch_tokens=batch_tokens)
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder) / "run", recipe, corpus())
        examples = run.encode(corpus().split("train"))
        trainer = new_trainer(run)
    batches = endless_batches(examples, recipe.batch_tokens, recipe.seed)
    seconds = []
    for _ in range(steps):
        batch: Batch = next(batches)
        start = time.process_time()
        trainer.update([batch])
        seconds.append(time.process_time() - start)
    mean = statistics.fmean(seconds[2:])  # the first steps make room in memory
    return {
        "model": model,
        "batch_tokens": batch_tokens,
        "seconds_per_step": round(mean, 3),
        "steps": int(BUDGET / mean) // 50 * 50,
        "steps_per_epoch": len(batches_by_tokens(examples, recipe.batch_tokens)),
    }


def scores_by_length(sources: list[str], found: list[str], wanted: list[str]) -> Row:
    """Return BLEU of the test sentences in each bin of source length."""
    columns = {}
    for low, high in pairwise(EDGES):
        inside = [i for i, text in enumerate(sources) if low <= len(text.split()) < high]
        bleu = BLEU().corpus_score([found[i] for i in inside], [[wanted[i] for i in inside]])
        columns[f"bleu_{low}-{high - 1}"] = round(bleu.score, 2)
    return columns


def measure_bin(low: int, high: int) -> Row:
    """Count the test sentences of one bin, and score the checkpoint's translations of them."""
    torch.set_num_threads(1)
    pairs = [pair for pair in corpus().split(TEST) if low <= len(pair[0].split()) < high]
    sources, references = (list(side) for side in zip(*pairs, strict=True))
    bleu = BLEU().corpus_score(Run.open(CHECKPOINT).translate(sources), [references]).score
    return {"low": low, "high": high, "sentences": len(pairs), "checkpoint": round(bleu, 2)}


def train_and_measure(model: str, score: str, rate: float, seed: int, steps: int) -> Row:
    """Train one model and measure it on the validation and on the test split."""
    torch.set_num_threads(1)
    recipe = recipe_of(model, score, rate, seed, steps)
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder) / "run", recipe, corpus())
        start = time.process_time()
        train(run, corpus())
        minutes = (time.process_time() - start) / 60
        return {
            "model": model,
            "score": score,
            "rate": rate,
            "dropout": DROPOUT,
            "seed": seed,
            "steps": steps,
            "cpu_minutes": round(minutes, 1),
            **measure(run),
        }


def measure(run: Run) -> Row:
    """Measure a trained model on the validation and on the test split."""
    trained, vocabularies = run.model(), (run.src_vocabulary, run.tgt_vocabulary)
    row: Row = {
        "parameters": sum(p.numel() for p in trained.parameters()),
        "val_perplexity": round(perplexity(trained, run.encode(corpus().split("val"))), 3),
    }
    sources, references = (list(side) for side in zip(*corpus().split(TEST), strict=True))
    row["test_perplexity"] = round(perplexity(trained, run.encode(corpus().split(TEST))), 3)
    for name, beam in (("greedy", 1), ("beam", 4)):
        found = translate(trained, sources, *vocabularies, beam_size=beam)
        values = score_translations(found, references)[:3]
        columns = (name, f"{name}_lower", f"{name}_chrf")
        row |= {key: round(score.value, 2) for key, score in zip(columns, values, strict=True)}
    row |= scores_by_length(sources, found, references)
    signatures = ("signature", "signature_lower", "signature_chrf")
    return row | {key: s.signature for key, s in zip(signatures, values, strict=True)}


def make(records: Path) -> None:
    """Make what is missing of the ladder, and see how the checkpoint does in the same bins."""
    path = records / "capstone_lengths.csv"
    extend(path, measure_bin, list(pairwise(EDGES)), ["low", "high"], command=COMMAND)
    path = records / "capstone_speed.csv"
    timed: list[tuple[Any, ...]] = [(model, SHORT["batch_tokens"]) for model in MODELS]
    speeds = extend(path, time_step, timed, ["model", "batch_tokens"], command=COMMAND)
    steps = {row["model"]: int(row["steps"]) for row in speeds}
    keys = ["model", "score", "rate", "seed", "steps"]
    finish = partial(mark_chosen, settings=("score", "rate"))
    tasks: list[tuple[Any, ...]] = []

    def run(wanted: list[Settings], seeds: tuple[int, ...]) -> list[Row]:
        tasks.extend((*settings, seed, steps[settings[0]]) for seed in seeds for settings in wanted)
        path = records / "capstone.csv"
        return extend(path, train_and_measure, tasks, keys, finish, command=COMMAND)

    for trials in zip(*map(trials_of, MODELS), strict=True):
        rows = run(list(trials), SEEDS[:1])
    perplexities = {model: float(best_trial(rows, model)["val_perplexity"]) for model in MODELS}
    first_two = sorted(MODELS, key=lambda model: perplexities[model])[:2]
    longer = [(*best(rows, model), SEEDS[0], LONGER * steps[model]) for model in first_two]
    path = records / "capstone_longer.csv"
    extend(path, train_and_measure, longer, keys, command=COMMAND)
    run([best(rows, model) for model in MODELS], SEEDS[1:])
