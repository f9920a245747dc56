"""The race: four models on German captions, with equal tuning, and time as the measure.

Every model gets the same tokenizer, batches, loss, optimizer and averaging. Time is counted in
steps of a measured speed, so that no result depends on what else the machine did: that of
race_speed for the tries, and that of all its tries together for the race. Each model is tried
equally often, in settings of its own: beside the best so far in its rate, its warm-up, its dropout,
or its score. Then five fresh seeds run on to the last budget; the rate falls as 1/√step, so they
may be stopped anywhere on the way.
"""

import copy
import math
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
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
TRIED = 3
"""Minutes of one core for a try."""
TRIES = 12
"""Tries of each model; all get more if the best of one is at the edge of what was tried."""
QUARTERS = (4, 2, 1)
"""How far apart rates and warm-ups are, in quarters of a doubling: first far, then nearer."""
ALIKE = 1.01
"""Perplexities with a smaller quotient are alike: another seed changes them by more."""
SUBWORDS, BATCH_TOKENS, SMOOTHING, AVERAGE_DECAY = 5000, 1024, 0.1, 0.99
SEARCH = Search(beam=4, alpha=0.6)


class Settings(NamedTuple):
    """What is tuned."""

    model: str
    score: str  # "" if the model has no choice
    rate: float = 2e-3
    warmup: int = 200
    dropout: float = 0.1

    def beside(self, quarters: int) -> list["Settings"]:
        """These with another rate, dropout or warm-up: so many quarters of a doubling away.

        A doubling of the rate or of the warm-up counts as a tenth of dropout.
        """
        signs = (1, -1)
        rates = [moved(self.rate, FIRST.rate, sign * quarters) for sign in signs]
        dropouts = [round(self.dropout + sign * quarters / 40, 3) for sign in signs]
        warmups = [moved(self.warmup, FIRST.warmup, sign * quarters) for sign in signs]
        return [
            *(self._replace(rate=float(f"{rate:.2g}")) for rate in rates),
            *(self._replace(dropout=dropout) for dropout in dropouts if dropout >= 0),
            *(self._replace(warmup=round(warmup)) for warmup in warmups),
        ]

    def with_other_scores(self) -> list["Settings"]:
        """These with each of the other scores, if the model has a choice."""
        return [self._replace(score=score) for score in SCORES if self.score not in ("", score)]


FIRST = Settings("", "")


def moved(value: float, first: float, quarters: int) -> float:
    """A value so many quarters of a doubling higher, on the grid of quarters around ``first``."""
    return float(first * 2 ** ((round(4 * math.log2(value / first)) + quarters) / 4))


def first_settings(model: str) -> Settings:
    """Where the tries of a model begin."""
    return Settings(model, "general" if model == "luong" else "")


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
    """What to try next: the best with one thing changed.

    Raises:
        RuntimeError: if all of that was tried.
    """
    best = best_of(tried)
    far, *nearer = map(best.beside, QUARTERS)
    scores, seen = best.with_other_scores(), {settings.score for settings in tried}
    new = [other for other in scores if other.score not in seen]
    for other in [*new, *far, *scores, *chain(*nearer)]:
        if other not in tried:
            return other
    raise RuntimeError(f"all that is beside {best} was tried.")


def is_inside(tried: dict[Settings, float]) -> bool:
    """Whether the best, or one that is hardly worse, lies between others in every direction."""
    good = ALIKE * min(tried.values())
    return any(lies_between(settings, tried) for settings in tried if tried[settings] <= good)


def lies_between(settings: Settings, tried: Collection[Settings]) -> bool:
    """Whether others differ from these settings in one thing alone, on either side of each thing.

    There is none below a dropout of 0. Of the other scores, all have to be tried.
    """
    for name in ("rate", "warmup", "dropout"):
        value = getattr(settings, name)
        row = [
            getattr(other, name) for other in tried if other._replace(**{name: value}) == settings
        ]
        if value == max(row) or value == min(row) > 0:
            return False
    return set(tried) >= set(settings.with_other_scores())


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
        minutes, found = round(seconds / 60, 2), perplexity_on("val", average)
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
    goals = [steps_within(minutes, seconds_per_step) for minutes in MINUTES]
    passing = stages(model, settings.rate, settings.warmup, seed, goals)
    for minutes, goal, (average, seconds) in zip(MINUTES, goals, passing, strict=True):
        row |= {"steps": goal, "cpu_minutes": round(seconds / 60, 2)}
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


def steps_within(minutes: float, seconds_per_step: float) -> int:
    """How many steps fit into so many minutes."""
    return int(60 * minutes / seconds_per_step)


def mark_best(rows: list[Row]) -> list[Row]:
    """Tell for every row whether it is the best of its model."""
    best = {best_of(tries_of(rows, model)) for model in {row["model"] for row in rows}}
    return [{**row, "chosen": settings_of(row) in best} for row in rows]


def make_tries(tables: Tables) -> list[Row]:
    """What was tried of each of the four models, equally often, three minutes of one core each.

    What would refute "the best lies inside": a rate, warm-up or dropout at the edge, with all else
    equal, or a score of Luong that was not tried beside it. Then all models get another try, until
    the best of each, or one that is no more than a hundredth worse, lies between others.
    """
    speeds = make_speeds(tables)
    keys = [*Settings._fields, "steps"]

    def task(settings: Settings) -> tuple[Any, ...]:
        return (*settings, steps_within(TRIED, speeds[settings.model, settings.score]))

    tasks, number = [task(first_settings(model)) for model in MODELS], TRIES
    while True:
        rows = tables.extend("race_tries", try_settings, tasks, keys, mark_best)
        tried = {model: tries_of(rows, model) for model in MODELS}
        number = max(number, *map(len, tried.values()))
        if all(len(found) == number for found in tried.values()):
            if all(map(is_inside, tried.values())):
                return rows
            number += 1
        tasks += [task(next_try(found)) for found in tried.values() if len(found) < number]


def seconds_in_tries(rows: Iterable[Row], settings: Settings) -> float:
    """The seconds of the processor for a step, over all tries of a model with this score."""
    mine = [row for row in rows if settings_of(row)[:2] == settings[:2] and row["cpu_minutes"]]
    minutes = sum(float(row["cpu_minutes"]) for row in mine)
    return round(60 * minutes / sum(int(row["steps"]) for row in mine), 4)


def chosen_tasks(tables: Tables) -> dict[str, tuple[Settings, float]]:
    """The best settings of each of the four models, and the seconds for a step of them."""
    rows = make_tries(tables)
    best = [best_of(tries_of(rows, model)) for model in MODELS]
    return {settings.model: (settings, seconds_in_tries(rows, settings)) for settings in best}


RUN = [*Settings._fields, "seed", "seconds_per_step"]
"""Which columns say what a run of the race is."""


def make_race(tables: Tables) -> list[Row]:
    """The four models in their best settings, five fresh seeds, from half a minute to twelve.

    What would refute an order: settings that suit twelve minutes better than three, for which they
    were chosen. A lower rate and more dropout, which long trainings like, are in race_others.
    """
    chosen = chosen_tasks(tables)
    tasks = [(*settings, seed, seconds) for seed in SEEDS for settings, seconds in chosen.values()]
    return tables.extend("race", run_model, tasks, RUN)


def make_others(tables: Tables) -> list[Row]:
    """The four models with half the rate, and with a tenth more dropout, one seed each.

    What would refute that the chosen settings are good at every budget: a lower perplexity at one
    of them than that of the same seed in the race.
    """
    others = [
        (other, seconds)
        for settings, seconds in chosen_tasks(tables).values()
        for other in (
            settings._replace(rate=settings.rate / 2),
            settings._replace(dropout=round(settings.dropout + 0.1, 3)),
        )
    ]
    tasks = [(*settings, SEEDS[0], seconds) for settings, seconds in others]
    return tables.extend("race_others", run_model, tasks, RUN)
