"""The record of the rival: the best model of the ladder but the Transformer, with more time.

It is trained like the checkpoint: with the same corpus, vocabulary, batches, loss, optimizer,
schedule, dropout and averaging, in its own best settings, and for the same time. Time is counted
in steps of a measured speed, as on the ladder. How to search is chosen for both of them from the
same list, on the validation split.
"""

from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from annotated_transformer.errors import InputError
from annotated_transformer.evaluation import score_translations
from annotated_transformer.recipes import preset
from annotated_transformer.runs import Run
from annotated_transformer.training_runs import train
from make_checkpoint import (
    CHECKPOINT,
    COMMAND,
    RUNS,
    SEARCHES,
    TEST,
    corpus,
    scores,
)
from record_runs import SEEDS, best_trial
from record_tables import Row, extend, read
from records_capstone import (
    MODELS,
    best,
    full_recipe,
    measure,
    scores_by_length,
    time_step,
)

*RIVALS, OURS = MODELS
SETTINGS = ("batch_tokens", "warmup", "smoothing", "average_decay", "subwords", "bfloat16")
"""What the record tells of the recipe, besides what is in its first columns."""


def chance(baseline: list[str], system: list[str], references: list[str]) -> float:
    """Return p: how often chance in the sentences alone would set two systems so far apart."""
    systems = [("baseline", baseline), ("system", system)]
    metrics = {"BLEU": BLEU(references=[references])}
    test = PairedTest(systems, metrics, references=None, test_type="bs", n_samples=1000)
    _, results = test()
    return float(results["BLEU"][1].p_value)


def time_full_step(model: str, batch_tokens: int) -> Row:
    """Time one step; how many of them make ten minutes is of no interest here."""
    row = time_step(model, batch_tokens)
    del row["steps"]
    return row


def train_rival(model: str, score: str, rate: float, seed: int, steps: int) -> Row:
    """Train a model like the checkpoint, or what is left of it; choose its search; measure it.

    Raises:
        InputError: if what is there was begun in another way.
    """
    torch.set_num_threads(1)
    recipe, folder = full_recipe(model, score, rate, seed, steps), RUNS / model
    run = Run.open(folder) if folder.exists() else Run.create(folder, recipe, corpus())
    if run.recipe != recipe:
        raise InputError(f"{folder} was begun with another recipe: delete it first.")
    train(run, corpus())
    curve = read(run.folder / "metrics.csv")
    found = {}
    for beam, alpha in SEARCHES:
        found[beam, alpha] = scores(run.searching(beam, alpha), "val")["bleu"].value
    beam, alpha = max(found, key=lambda search: found[search])
    sources, references = (list(side) for side in zip(*corpus().split(TEST), strict=True))
    translations = run.searching(beam, alpha).translate(sources)
    bleu, lower, chrf, _ = score_translations(translations, references)
    ours = Run.open(CHECKPOINT).translate(sources)
    return {
        "model": model,
        "score": score,
        "rate": rate,
        "seed": seed,
        "steps": steps,
        **{name: getattr(recipe, name) for name in SETTINGS},
        "dropout": recipe.sizes["dropout"],
        "wall_minutes": round(float(curve[-1]["seconds"]) / 60, 1),
        **measure(run),
        "lowest_val_perplexity": round(min(float(row["val_perplexity"]) for row in curve), 3),
        "val_beam": round(found[4, 0.6], 2),
        "chosen_beam": beam,
        "chosen_alpha": alpha,
        "val_chosen": round(found[beam, alpha], 2),
        "chosen": round(bleu.value, 2),
        "chosen_lower": round(lower.value, 2),
        "chosen_chrf": round(chrf.value, 2),
        "p": round(chance(translations, ours, references), 4),
        **{
            f"chosen_{key}": value
            for key, value in scores_by_length(sources, translations, references).items()
        },
    }


def make(records: Path) -> None:
    """Find the rival and how many steps it can make in the checkpoint's time, and train it."""
    ladder = read(records / "capstone.csv")
    rival = min(RIVALS, key=lambda model: float(best_trial(ladder, model)["val_perplexity"]))
    ours = preset(OURS, "multi30k")
    path = records / "capstone_rival_speed.csv"
    timed: list[tuple[Any, ...]] = [(model, ours.batch_tokens) for model in (rival, OURS)]
    speeds = extend(path, time_full_step, timed, ["model", "batch_tokens"], command=COMMAND)
    seconds = {row["model"]: float(row["seconds_per_step"]) for row in speeds}
    steps = int(ours.steps * seconds[OURS] / seconds[rival]) // 50 * 50
    extend(
        records / "capstone_rival.csv",
        train_rival,
        [(*best(ladder, rival), SEEDS[0], steps)],
        ["model", "score", "rate", "seed", "steps"],
        command=COMMAND,
    )
