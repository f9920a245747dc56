"""The race: four models on German captions, with equal tuning, and time as the measure.

Every model gets the same tokenizer, batches, loss, optimizer and averaging. Time is counted in
steps of a measured speed (race_speed), so that no result depends on what else the machine did.
Each model is tried equally often, in settings of its own: beside the best so far in its rate, its
warm-up, its dropout, or its score. Then five fresh seeds run on to the last budget; the rate falls
as 1/√step, so they may be stopped anywhere on the way.
"""

import copy
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import torch

from annotated_transformer.bitext import Bitext, Example
from annotated_transformer.errors import DivergedError
from annotated_transformer.evaluation import perplexity, score_translations
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.luong import SCORES
from annotated_transformer.run.encoded import learned_vocabularies, training_pairs
from annotated_transformer.schedule import inverse_sqrt_schedule
from annotated_transformer.search import Search
from annotated_transformer.tokens import Vocabularies
from annotated_transformer.training import Trainer, endless_batches
from annotated_transformer.translation import translate
from annotated_transformer.translator import Translator
from records import captions
from records.recurrent import start_as_recommended
from records.tables import Row, Tables
from records.trials import SEEDS, TRIAL

MODELS = ("seq2seq", "bahdanau", "luong", "transformer")
MINUTES = (0.5, 1, 2, 3, 4, 6, 8, 10, 12)
"""Minutes of one core after which the perplexity of a run is measured."""
BUDGETS = (2, 4, 12)
"""Those of them after which it also translates."""
TRIED = 4
"""Minutes of one core for a try."""
TRIES = 12
"""Tries of each model; all get more if the best of one is at the edge of what was tried."""
FACTORS = (2.0, 2**0.5, 2**0.25)
"""How far apart rates and warm-ups are; if all that is near the best was tried, they are finer."""
SUBWORDS, BATCH_TOKENS, SMOOTHING, AVERAGE_DECAY = 5000, 1024, 0.1, 0.99
SEARCH = Search(beam=4, alpha=0.6)


class Settings(NamedTuple):
    """What is tuned."""

    model: str
    score: str  # "" if the model has no choice
    rate: float
    warmup: int
    dropout: float

    def beside(self, factor: float) -> list["Settings"]:
        """These with one of them changed: another score, another rate, dropout or warm-up."""
        scores = [score for score in SCORES if self.score not in ("", score)]
        rates = [float(f"{rate:.2g}") for rate in (self.rate * factor, self.rate / factor)]
        step = 0.1 * math.log2(factor)
        dropouts = [round(self.dropout + sign * step, 3) for sign in (1, -1)]
        warmups = [round(warmup) for warmup in (self.warmup * factor, self.warmup / factor)]
        return [
            *(self._replace(score=score) for score in scores),
            *(self._replace(rate=rate) for rate in rates),
            *(self._replace(dropout=dropout) for dropout in dropouts if dropout >= 0),
            *(self._replace(warmup=warmup) for warmup in warmups),
        ]


def first_settings(model: str) -> Settings:
    """Where the tries of a model begin."""
    return Settings(model, "general" if model == "luong" else "", 2e-3, 200, 0.1)


def settings_of(row: Row) -> Settings:
    """The settings that a row tells of."""
    rate, warmup, dropout = float(row["rate"]), int(row["warmup"]), float(row["dropout"])
    return Settings(row["model"], row["score"], rate, warmup, dropout)


def tries_of(rows: Iterable[Row], model: str) -> dict[Settings, float]:
    """What was tried of a model, and the perplexity of each on the validation split."""
    return {settings_of(row): float(row["val_perplexity"]) for row in rows if row["model"] == model}


def best_of(tried: dict[Settings, float]) -> Settings:
    """The settings with the lowest perplexity."""
    return min(tried, key=lambda settings: tried[settings])


def next_try(tried: dict[Settings, float]) -> Settings:
    """What to try next: the best with one thing changed to a value that has not been tried."""
    seen = [set(values) for values in zip(*tried, strict=True)]
    best = best_of(tried)
    beside = (other for factor in FACTORS for other in best.beside(factor))
    return next(
        other
        for other in beside
        if any(value not in values for value, values in zip(other, seen, strict=True))
    )


def is_inside(tried: dict[Settings, float]) -> bool:
    """Whether the best rate, warm-up and dropout lie between others that were tried."""
    best = best_of(tried)
    for name in ("rate", "warmup", "dropout"):
        values = [getattr(settings, name) for settings in tried]
        value = getattr(best, name)
        if value == max(values) or value == min(values) > 0:
            return False
    return True


@cache
def vocabularies() -> Vocabularies:
    """The joint subwords, read once in each process."""
    return learned_vocabularies(captions.corpus(), SUBWORDS)


@cache
def pairs() -> Bitext:
    """What is trained on."""
    kept, _ = training_pairs(captions.corpus(), vocabularies(), BATCH_TOKENS - 1)
    return kept


def build(settings: Settings, seed: int) -> Translator:
    """A fresh model with the sizes of the preset, begun as is recommended for its kind."""
    recipe = captions.caption_recipe(settings.model, seed=seed)
    sizes: dict[str, Any] = {"dropout": settings.dropout}
    if settings.score:
        sizes["score"] = settings.score
    model = recipe.changed(sizes).make_model(vocabularies())
    start_as_recommended(model)
    return model


def new_trainer(model: Translator, rate: float, warmup: int) -> Trainer:
    """How all of them are trained."""
    return Trainer(
        model,
        partial(smoothed_cross_entropy, smoothing=SMOOTHING),
        inverse_sqrt_schedule(rate, warmup),
        average_decay=AVERAGE_DECAY,
        precision="bfloat16",
    )


def stages(
    model: Translator, rate: float, warmup: int, seed: int, goals: Sequence[int]
) -> Iterator[tuple[Translator, float]]:
    """Train up to each of so many steps; give the model with its averaged weights.

    With it come the seconds of the processor that training has taken so far.

    Raises:
        DivergedError: if a weight is no longer a number.
    """
    trainer, batches = (
        new_trainer(model, rate, warmup),
        endless_batches(pairs(), BATCH_TOKENS, seed),
    )
    average, seconds = copy.deepcopy(model).eval(), 0.0
    for goal in goals:
        start = time.process_time()
        while trainer.steps < goal:
            trainer.update([next(batches)])
        seconds += time.process_time() - start
        average.load_state_dict(trainer.average.weights, strict=False)
        yield average, seconds


def seconds_of_step(model: Translator, steps: int = 120) -> float:
    """The seconds of the processor for one step of a fresh model."""
    trainer, batches = new_trainer(model, 1e-3, 1000), endless_batches(pairs(), BATCH_TOKENS, TRIAL)
    return captions.seconds_of_step(trainer, batches, steps)


def time_model(model: str, score: str) -> Row:
    """Time one step of a model."""
    torch.set_num_threads(1)
    settings = first_settings(model)._replace(score=score)
    seconds = seconds_of_step(build(settings, TRIAL))
    return {"model": model, "score": score, "seconds_per_step": round(seconds, 4)}


@cache
def encoded(split: str) -> list[Example]:
    """What is measured on, encoded once in each process."""
    return vocabularies().encode(captions.corpus().split(split))


def perplexity_on(split: str, model: Translator) -> float:
    """The perplexity on a split."""
    return round(perplexity(model, encoded(split)), 3)


def try_settings(*task: Any) -> Row:
    """Train once with these settings; the perplexity is infinite if that fails."""
    torch.set_num_threads(1)
    settings, (steps,) = Settings(*task[:5]), task[5:]
    model = build(settings, TRIAL)
    try:
        [(average, seconds)] = stages(model, settings.rate, settings.warmup, TRIAL, [steps])
        minutes, found = round(seconds / 60, 1), perplexity_on("val", average)
    except DivergedError:
        minutes, found = "", math.inf
    row = {**settings._asdict(), "steps": steps}
    return row | {"cpu_minutes": minutes, "val_perplexity": found}


def run_model(*task: Any) -> Row:
    """Train with one seed up to the last budget; measure on the way, and translate."""
    torch.set_num_threads(1)
    settings, (seed, seconds_per_step) = Settings(*task[:5]), task[5:]
    model = build(settings, seed)
    parameters = sum(weight.numel() for weight in model.parameters())
    row = {**settings._asdict(), "seed": seed, "seconds_per_step": seconds_per_step}
    row |= {"parameters": parameters, "steps": 0, "cpu_minutes": 0.0}
    sources, references = captions.corpus().sides(captions.TEST)
    goals = [captions.steps_within(60 * minutes, seconds_per_step) for minutes in MINUTES]
    passing = stages(model, settings.rate, settings.warmup, seed, goals)
    for minutes, goal, (average, seconds) in zip(MINUTES, goals, passing, strict=True):
        row |= {"steps": goal, "cpu_minutes": round(seconds / 60, 1)}
        row[f"val_perplexity_{minutes}"] = perplexity_on("val", average)
        if minutes in BUDGETS:
            found = translate(average, sources, vocabularies(), SEARCH)
            scores = captions.by_name(score_translations(found, references))
            row[f"test_perplexity_{minutes}"] = perplexity_on(captions.TEST, average)
            row |= captions.score_columns(f"beam_{minutes}", scores)
    row |= captions.columns_by_length("bleu", sources, found, references)
    return row | captions.signature_columns(scores)


def make_speeds(tables: Tables) -> dict[tuple[str, str], float]:
    """The time of a training step of each of the four models, of Luong's with each score."""
    timed = [
        (model, score) for model in MODELS for score in (SCORES if model == "luong" else ("",))
    ]
    rows = tables.extend("race_speed", time_model, timed, ["model", "score"])
    return {(row["model"], row["score"]): float(row["seconds_per_step"]) for row in rows}


def mark_best(rows: list[Row]) -> list[Row]:
    """Tell for every row whether it is the best of its model."""
    best = {best_of(tries_of(rows, model)) for model in {row["model"] for row in rows}}
    return [{**row, "chosen": settings_of(row) in best} for row in rows]


def make_tries(tables: Tables) -> dict[str, Settings]:
    """What was tried of each of the four models, equally often, four minutes of one core each.

    What would refute "the best lies inside": a rate, warm-up or dropout at the edge of what was
    tried. Then all models get another try, until there is none.
    """
    speeds = make_speeds(tables)
    keys = [*Settings._fields, "steps"]

    def task(settings: Settings) -> tuple[Any, ...]:
        seconds = speeds[settings.model, settings.score]
        return (*settings, captions.steps_within(60 * TRIED, seconds))

    tasks, number = [task(first_settings(model)) for model in MODELS], TRIES
    while True:
        rows = tables.extend("race_tries", try_settings, tasks, keys, mark_best)
        tried = {model: tries_of(rows, model) for model in MODELS}
        if all(len(tried[model]) >= number for model in MODELS):
            if all(map(is_inside, tried.values())):
                return {model: best_of(tried[model]) for model in MODELS}
            number = max(map(len, tried.values())) + 1
        tasks += [task(next_try(found)) for found in tried.values() if len(found) < number]


def make_race(tables: Tables) -> list[Row]:
    """The four models in their best settings, five fresh seeds, from half a minute to twelve."""
    best, speeds = make_tries(tables), make_speeds(tables)
    tasks = [
        (*best[model], seed, speeds[model, best[model].score]) for seed in SEEDS for model in MODELS
    ]
    keys = [*Settings._fields, "seed", "seconds_per_step"]
    return tables.extend("race", run_model, tasks, keys)
