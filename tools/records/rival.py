"""The rival: the best model of the ladder but the Transformer, with more time.

It is trained like the checkpoint: with the same corpus, vocabulary, batches, loss, optimizer,
schedule, dropout and averaging, in its own best settings, and for the same time. Time is counted
in steps of a measured speed, as on the ladder. How to search is chosen for both of them from the
same list, on the validation split.
"""

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from annotated_transformer.decoding import Search
from annotated_transformer.evaluation import score_translations
from annotated_transformer.run import Recipe, Run
from records import captions
from records.checkpoint import make_checkpoint
from records.ladder import (
    KEYS,
    MODELS,
    SEEDS,
    best_settings,
    best_trial,
    full_recipe,
    make_ladder,
    measure_run,
    time_caption_step,
)
from records.tables import Row, Tables, read

*RIVALS, OURS = MODELS


def settings_of(recipe: Recipe) -> Row:
    """What the record tells of a recipe, besides what is in its first columns."""
    names = ("batch_tokens", "warmup", "smoothing", "average_decay", "subwords")
    return {name: getattr(recipe, name) for name in names} | {
        "bfloat16": recipe.precision == "bfloat16",
        "dropout": recipe.sizes["dropout"],
    }


def chance(baseline: list[str], system: list[str], references: list[str]) -> float:
    """p: how often chance in the sentences alone would set two systems so far apart."""
    systems = [("baseline", baseline), ("system", system)]
    metrics = {"BLEU": BLEU(references=[references])}
    test = PairedTest(systems, metrics, references=None, test_type="bs", n_samples=1000)
    _, results = test()
    return float(results["BLEU"][1].p_value)


def time_full_step(model: str, batch_tokens: int) -> Row:
    """Time one step; how many of them make ten minutes is of no interest here."""
    row = time_caption_step(model, batch_tokens)
    del row["steps"]
    return row


def train_rival(model: str, score: str, rate: float, seed: int, steps: int) -> Row:
    """Train a model like the checkpoint, or what is left of it; choose its search; measure it.

    Raises:
        InputError: if what is there was begun in another way.
    """
    torch.set_num_threads(1)
    recipe = full_recipe(model, score, rate, seed, steps)
    run = captions.train_run(captions.RUNS / model, recipe)
    curve = read(run.learning_curve)
    found = {}
    for beam, alpha in captions.SEARCHES:
        search = Search(beam=beam, alpha=alpha)
        found[beam, alpha] = captions.scores_of(run, "val", search)["BLEU"].value
    beam, alpha = max(found, key=lambda search: found[search])
    sources, references = captions.corpus().sides(captions.TEST)
    translations = run.translate(sources, Search(beam=beam, alpha=alpha))
    scores = captions.by_name(score_translations(translations, references))
    ours = Run.open(captions.CHECKPOINT).translate(sources)
    return {
        "model": model,
        "score": score,
        "rate": rate,
        "seed": seed,
        "steps": steps,
        **settings_of(recipe),
        "wall_minutes": round(float(curve[-1]["seconds"]) / 60, 1),
        **measure_run(run),
        "lowest_val_perplexity": round(min(float(row["val_perplexity"]) for row in curve), 3),
        "val_beam": round(found[4, 0.6], 2),
        "chosen_beam": beam,
        "chosen_alpha": alpha,
        "val_chosen": round(found[beam, alpha], 2),
        **captions.score_columns("chosen", scores),
        "p": round(chance(translations, ours, references), 4),
        **captions.columns_by_length("chosen_bleu", sources, translations, references),
    }


def find_rival(tables: Tables) -> tuple[str, str, float]:
    """The best model of the ladder but the Transformer, with the settings that were best."""
    ladder = make_ladder(tables)
    rival = min(RIVALS, key=lambda model: float(best_trial(ladder, model)["val_perplexity"]))
    return best_settings(ladder, rival)


def make_rival_speeds(tables: Tables) -> dict[str, float]:
    """The time of a training step of the rival and of the Transformer, as the checkpoint's is."""
    batch_tokens = captions.caption_recipe(OURS).batch_tokens
    timed = [(model, batch_tokens) for model in (find_rival(tables)[0], OURS)]
    keys = ["model", "batch_tokens"]
    rows = tables.extend("capstone_rival_speed", time_full_step, timed, keys)
    return {row["model"]: float(row["seconds_per_step"]) for row in rows}


def make_rival(tables: Tables) -> None:
    """The rival, trained like the checkpoint and as long as it."""
    make_checkpoint(tables)
    settings, seconds = find_rival(tables), make_rival_speeds(tables)
    budget = captions.caption_recipe(OURS).steps * seconds[OURS]
    task = (*settings, SEEDS[0], captions.steps_within(budget, seconds[settings[0]]))
    tables.extend("capstone_rival", train_rival, [task], KEYS)
