"""The race: four models on German captions, with equal tuning, and time as the measure.

Every model gets the same tokenizer, batches, loss, optimizer and averaging. Time is counted in
steps of a measured speed, so that no result depends on what else the machine did. There are three
budgets of it. For each of them each model is tried equally often, in settings of its own: beside
the best so far in its rate, its warm-up, its dropout, or its score. Then five fresh seeds run with
the best. The rate falls as 1/√step, so a training may be looked at anywhere on the way.
"""

import copy
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple

import torch

from annotated_transformer.decoding import Search
from annotated_transformer.evaluation import perplexity, score_translations
from annotated_transformer.ground.errors import DivergedError
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.run.encoded import learned_vocabularies, training_pairs
from annotated_transformer.text.examples import Example, Examples
from annotated_transformer.tokens import Vocabularies
from annotated_transformer.training import (
    Trainer,
    endless_batches,
    inverse_sqrt_schedule,
    load_tensors,
)
from annotated_transformer.translation import translate
from annotated_transformer.translator import Translator
from records import captions
from records.recurrent import start_as_recommended
from records.tables import Row, Tables, read
from records.trials import SEEDS, TRIAL

MODELS = ("seq2seq", "bahdanau", "luong", "transformer")
SCORES = ("dot", "general", "concat")
"""Those of Luong with which the race was run."""
MOMENTS = (0.5, 1, 2, 3, 4, 6)
"""Minutes on one core after which the perplexity of a run is measured, up to its end."""
ALL = ("rate", "dropout", "warmup", "score")
"""The hyperparameters that are tuned, in the order in which they are changed."""


class Budget(NamedTuple):
    """A number of minutes on one core, and how the models are tuned for them."""

    minutes: int
    tries: int  # of each model; all get more if the best of one is at the edge of what was tried
    things: tuple[str, ...] = ALL
    after: int = 0  # the tries start from the best settings for this many minutes


BUDGETS = (Budget(1, 12), Budget(3, 12), Budget(6, 5, ("dropout", "rate"), after=3))
TIMED = 3
"""The minutes of the tries that determine how many steps the other tries have."""
ROUNDS, TIMED_STEPS = 7, 60
"""How often each model is timed, in turns with the others, and for how many steps."""
QUARTERS = (4, 2, 1)
"""The distance between rates and warm-ups, in quarters of a doubling: first far, then near."""
ALIKE = 1.01
"""Perplexities with a smaller quotient count as equal: another seed changes them by more."""
SUBWORDS, BATCH_TOKENS, SMOOTHING, AVERAGE_DECAY = 5000, 1024, 0.1, 0.99
SEARCH = Search(beam=4, alpha=0.6)


class Settings(NamedTuple):
    """The hyperparameters that are tuned."""

    model: str
    score: str  # "" if the model has no choice
    rate: float = 2e-3
    warmup: int = 200
    dropout: float = 0.1

    def beside(self, quarters: int, things: Sequence[str] = ALL) -> list["Settings"]:
        """Return these with another rate, dropout or warm-up, some quarters of a doubling away.

        A doubling of the rate or of the warm-up counts as a tenth of dropout.
        """
        signs = (1, -1)
        rates = [moved(self.rate, FIRST.rate, sign * quarters) for sign in signs]
        dropouts = [round(self.dropout + sign * quarters / 40, 3) for sign in signs]
        warmups = [moved(self.warmup, FIRST.warmup, sign * quarters) for sign in signs]
        others: dict[str, list[Any]] = {
            "rate": [float(f"{rate:.2g}") for rate in rates],
            "dropout": [dropout for dropout in dropouts if dropout >= 0],
            "warmup": list(map(round, warmups)),
        }
        return [
            self._replace(**{thing: value}) for thing in things for value in others.get(thing, [])
        ]

    def with_other_scores(self) -> list["Settings"]:
        """Return these with each of the other scores, if the model has a choice."""
        return [self._replace(score=score) for score in SCORES if self.score not in ("", score)]


FIRST = Settings("", "")


def moved(value: float, first: float, quarters: int) -> float:
    """Move a value by quarters of a doubling, on the grid of quarters around ``first``."""
    return float(first * 2 ** ((round(4 * math.log2(value / first)) + quarters) / 4))


def first_settings(model: str) -> Settings:
    """Return the settings with which the tries of a model begin."""
    return Settings(model, "general" if model == "luong" else "")


def settings_of(row: Row) -> Settings:
    """Return the settings of a row."""
    rate, warmup, dropout = float(row["rate"]), int(row["warmup"]), float(row["dropout"])
    return Settings(row["model"], row["score"], rate, warmup, dropout)


def tries_of(rows: Iterable[Row], model: str, minutes: int) -> dict[Settings, float]:
    """Return the tries of a model for that many minutes, with the validation perplexity of each."""
    mine = [row for row in rows if (row["model"], int(row["minutes"])) == (model, minutes)]
    return {settings_of(row): float(row["val_perplexity"]) for row in mine}


def best_of(tried: dict[Settings, float]) -> Settings:
    """Return the settings with the lowest perplexity."""
    return min(tried, key=lambda settings: tried[settings])


def next_try(tried: dict[Settings, float], things: Sequence[str] = ALL) -> Settings:
    """Return the next settings to try: the best with one of these hyperparameters changed.

    If all of those were tried, take the second best with one change, and so on.

    Raises:
        RuntimeError: if all of those were tried as well.
    """
    seen = {settings.score for settings in tried}
    for good in sorted(tried, key=lambda settings: tried[settings]):
        far, *nearer = (good.beside(quarters, things) for quarters in QUARTERS)
        scores = good.with_other_scores() if "score" in things else []
        new = [other for other in scores if other.score not in seen]
        for other in [*new, *far, *scores, *chain(*nearer)]:
            if other not in tried:
                return other
    raise RuntimeError(f"all neighbours of {len(tried)} settings were tried.")


def is_inside(tried: dict[Settings, float], things: Sequence[str] = ALL) -> bool:
    """Tell whether the best, or one that is hardly worse, is between others in all of these."""
    good = [settings for settings in tried if tried[settings] <= ALIKE * min(tried.values())]
    return any(lies_between(settings, tried, things) for settings in good)


def lies_between(
    settings: Settings, tried: Collection[Settings], things: Sequence[str] = ALL
) -> bool:
    """Tell whether each hyperparameter has others on either side that differ in it alone.

    There is none below a dropout of 0. Of the other scores, all must be tried.
    """
    for name in [thing for thing in things if thing != "score"]:
        value = getattr(settings, name)
        row = [
            getattr(other, name) for other in tried if other._replace(**{name: value}) == settings
        ]
        if value == max(row) or value == min(row) > 0:
            return False
    return "score" not in things or set(tried) >= set(settings.with_other_scores())


@cache
def vocabularies() -> Vocabularies:
    """Return the joint subwords, read once in each process."""
    return learned_vocabularies(captions.corpus(), SUBWORDS)


@cache
def pairs() -> Examples:
    """Return the training pairs."""
    kept, _ = training_pairs(captions.corpus(), vocabularies(), BATCH_TOKENS - 1)
    return kept


def build(settings: Settings, seed: int) -> Translator:
    """Build a new model with the sizes of the preset, initialised as recommended for its kind."""
    recipe = captions.caption_recipe(settings.model, seed=seed)
    sizes: dict[str, Any] = {"dropout": settings.dropout}
    if settings.score:
        sizes["score"] = settings.score
    model = recipe.changed(sizes).make_model(vocabularies())
    start_as_recommended(model)
    return model


def new_trainer(model: Translator, rate: float, warmup: int) -> Trainer:
    """Make the trainer of all of them."""
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
    """Train up to each of these steps; yield the model with its averaged weights.

    With it come the CPU seconds of the training so far.

    Raises:
        DivergedError: if a weight is no longer finite.
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
        load_tensors(average, trainer.average.weights)
        yield average, seconds


def seconds_of_step(model: Translator, steps: int = 120) -> float:
    """Measure the CPU seconds for one step of a new model."""
    trainer, batches = new_trainer(model, 1e-3, 1000), endless_batches(pairs(), BATCH_TOKENS, TRIAL)
    return captions.seconds_of_step(trainer, batches, steps)


def time_model(model: str, score: str) -> Row:
    """Time one step of a model."""
    torch.set_num_threads(1)
    settings = first_settings(model)._replace(score=score)
    seconds = seconds_of_step(build(settings, TRIAL))
    return {"model": model, "score": score, "seconds_per_step": round(seconds, 4)}


def time_in_turn(model: str, score: str, dropout: float, turn: int) -> Row:
    """Time one step of a model with or without dropout, in one of the rounds."""
    torch.set_num_threads(1)
    settings = first_settings(model)._replace(score=score, dropout=dropout)
    seconds = round(seconds_of_step(build(settings, TRIAL), TIMED_STEPS), 4)
    key = {"model": model, "score": score, "dropout": dropout, "round": turn}
    return key | {"seconds_per_step": seconds}


@cache
def encoded(split: str) -> list[Example]:
    """Return the examples of a split, encoded once in each process."""
    return vocabularies().encode(captions.corpus().split(split))


def perplexity_on(split: str, model: Translator) -> float:
    """Compute the perplexity on a split."""
    return round(perplexity(model, encoded(split)), 3)


def try_settings(*task: Any) -> Row:
    """Train once with these settings; the perplexity is infinite if that fails."""
    torch.set_num_threads(1)
    settings, (budget, steps) = Settings(*task[:5]), task[5:]
    model = build(settings, TRIAL)
    try:
        [(average, seconds)] = stages(model, settings.rate, settings.warmup, TRIAL, [steps])
        minutes, found = round(seconds / 60, 2), perplexity_on("val", average)
    except DivergedError:
        minutes, found = "", math.inf
    row = {**settings._asdict(), "minutes": budget, "steps": steps}
    return row | {"cpu_minutes": minutes, "val_perplexity": found}


def run_model(*task: Any) -> Row:
    """Train with one seed up to a budget, measure on the way, and translate at its end."""
    torch.set_num_threads(1)
    settings, (budget, seed, seconds_per_step) = Settings(*task[:5]), task[5:]
    model = build(settings, seed)
    parameters = sum(weight.numel() for weight in model.parameters())
    moments = [moment for moment in MOMENTS if moment <= budget]
    goals = [steps_within(moment, seconds_per_step) for moment in moments]
    passing = stages(model, settings.rate, settings.warmup, seed, goals)
    on_the_way: Row = dict.fromkeys((f"val_perplexity_{moment}" for moment in MOMENTS), "")
    for moment, (average, seconds) in zip(moments, passing, strict=True):
        on_the_way[f"val_perplexity_{moment}"] = perplexity_on("val", average)
        minutes = round(seconds / 60, 2)
    sources, references = captions.corpus().sides(captions.TEST)
    found = translate(average, sources, vocabularies(), SEARCH)
    scores = captions.by_name(score_translations(found, references))
    return {
        **settings._asdict(),
        "minutes": budget,
        "seed": seed,
        "seconds_per_step": seconds_per_step,
        "parameters": parameters,
        "steps": goals[-1],
        "cpu_minutes": minutes,
        **on_the_way,
        "val_perplexity": on_the_way[f"val_perplexity_{budget}"],
        "test_perplexity": perplexity_on(captions.TEST, average),
        **captions.score_columns("beam", scores),
        **captions.columns_by_length("bleu", sources, found, references),
        **captions.signature_columns(scores),
    }


def make_speeds(tables: Tables) -> dict[tuple[str, str], float]:
    """The time of a training step of each of the four models, of Luong's with each score."""
    timed = [
        (model, score) for model in MODELS for score in (SCORES if model == "luong" else ("",))
    ]
    rows = tables.extend("race_speed", time_model, timed, ["model", "score"])
    return {(row["model"], row["score"]): float(row["seconds_per_step"]) for row in rows}


def steps_within(minutes: float, seconds_per_step: float) -> int:
    """Compute how many steps fit into that many minutes."""
    return int(60 * minutes / seconds_per_step)


def mark_best(rows: list[Row]) -> list[Row]:
    """Tell for every row whether it is the best of its model for its budget."""
    kinds = {(row["model"], int(row["minutes"])) for row in rows}
    best = {(best_of(tries_of(rows, *kind)), kind[1]) for kind in kinds}
    return [{**row, "chosen": (settings_of(row), int(row["minutes"])) in best} for row in rows]


TRY = [*Settings._fields, "minutes", "steps"]
"""The columns that identify a try."""


def tune_for(tables: Tables, budget: Budget, seconds: Callable[[Settings], float]) -> list[Row]:
    """Try all models equally often for a budget, until the best of each lies inside.

    ``seconds`` tells how long a step takes. The rows are those of all budgets.
    """

    def task(settings: Settings) -> tuple[Any, ...]:
        return (*settings, budget.minutes, steps_within(budget.minutes, seconds(settings)))

    first = (
        best_for(read(tables.path("race_tries")), budget.after)
        if budget.after
        else list(map(first_settings, MODELS))
    )
    tasks, number = list(map(task, first)), budget.tries
    while True:
        rows = tables.extend("race_tries", try_settings, tasks, TRY, mark_best)
        tried = {model: tries_of(rows, model, budget.minutes) for model in MODELS}
        number = max(number, *map(len, tried.values()))
        if all(len(found) == number for found in tried.values()):
            if all(is_inside(found, budget.things) for found in tried.values()):
                return rows
            number += 1
        few = [found for found in tried.values() if len(found) < number]
        tasks += [task(next_try(found, budget.things)) for found in few]


def best_for(rows: Iterable[Row], minutes: int) -> list[Settings]:
    """Return the best settings of each of the four models for a budget."""
    kept = list(rows)
    return [best_of(tries_of(kept, model, minutes)) for model in MODELS]


def seconds_in_tries(rows: Iterable[Row], settings: Settings) -> float:
    """Return the seconds for a step of a model with this score, over its tries of three minutes."""
    kind = (settings.model, settings.score, TIMED)
    mine = [row for row in rows if (*settings_of(row)[:2], int(row["minutes"])) == kind]
    mine = [row for row in mine if row["cpu_minutes"]]
    minutes = sum(float(row["cpu_minutes"]) for row in mine)
    return round(60 * minutes / sum(int(row["steps"]) for row in mine), 4)


def timed_tries(tables: Tables) -> list[Row]:
    """Make the tries of three minutes, which need the measured speeds."""
    speeds = make_speeds(tables)
    [budget] = (budget for budget in BUDGETS if budget.minutes == TIMED)
    return tune_for(tables, budget, lambda settings: speeds[settings[:2]])


def tries_for(tables: Tables, budget: Budget) -> list[Row]:
    """Make the tries for a budget; those of a model with the same score have the same steps."""
    timed = timed_tries(tables)
    return (
        timed
        if budget.minutes == TIMED
        else tune_for(tables, budget, partial(seconds_in_tries, timed))
    )


def make_tries(tables: Tables) -> None:
    """What was tried of each of the four models, equally often, for each budget.

    What would refute "the best lies inside": a rate, warm-up or dropout at the edge, with all else
    equal, or a score of Luong that was not tried beside it. Then all models get another try, until
    the best of each, or one that is no more than a hundredth worse, lies between others. For six
    minutes warm-up and score are those that were best for three.
    """
    for budget in BUDGETS:
        tries_for(tables, budget)


def make_pace(tables: Tables) -> dict[tuple[str, str, bool], float]:
    """The time of a training step with and without dropout, in seven rounds of all four models.

    What would refute "they got the same time": minutes of the processor that differ in the
    race. They do after six minutes: the Transformer's steps took 0.5 [0.3, 0.7] minutes longer
    than Luong's, beside another training on the other core. So the book says it. After one
    minute and three it is not settled which of these two took longer.
    """
    rows = timed_tries(tables)
    chosen = {settings[:2]: None for settings in best_for(rows, TIMED)}
    tasks = [
        (model, score, dropout, turn)
        for turn in range(ROUNDS)
        for model, score in chosen
        for dropout in (0.0, 0.1)
    ]
    keys = ["model", "score", "dropout", "round"]
    return pace_in(tables.extend("race_pace", time_in_turn, tasks, keys))


def pace_in(rows: Iterable[Row]) -> dict[tuple[str, str, bool], float]:
    """Compute the median seconds for a step, by model, score, and dropout."""
    found = captions.median_seconds(rows, "model", "score", "dropout")
    return {
        (model, score, float(dropout) > 0): round(seconds, 4)
        for (model, score, dropout), seconds in found.items()
    }


RUN = [*Settings._fields, "minutes", "seed", "seconds_per_step"]
"""The columns that identify a run of the race."""


def runs_of(tables: Tables, minutes: int, chosen: Sequence[Settings]) -> list[tuple[Any, ...]]:
    """List runs with five fresh seeds each, with as many steps as fit."""
    pace = make_pace(tables)
    settings = [(one, pace[one.model, one.score, one.dropout > 0]) for one in chosen]
    return [(*one, minutes, seed, seconds) for seed in SEEDS for one, seconds in settings]


def make_race(tables: Tables) -> list[Row]:
    """The four models in their best settings for each budget, with five fresh seeds.

    What would refute an order: another one among the settings that were second best, since one
    seed chose the best. Those runs are in race_others, for one minute.
    """
    tasks: list[tuple[Any, ...]] = []
    for budget in BUDGETS:
        tries = tries_for(tables, budget)
        tasks += runs_of(tables, budget.minutes, best_for(tries, budget.minutes))
        rows = tables.extend("race", run_model, tasks, RUN)
    return rows


def second_best(rows: Iterable[Row], minutes: int) -> list[Settings]:
    """Return the second-best settings of each of the four models for a budget."""
    kept = list(rows)
    tried = [tries_of(kept, model, minutes) for model in MODELS]
    return [best_of({s: found[s] for s in found if s != best_of(found)}) for found in tried]


def make_others(tables: Tables) -> list[Row]:
    """The four models in the settings that were second best for one minute, five fresh seeds.

    What would refute the order of one minute: another order here.
    """
    shortest = BUDGETS[0]
    chosen = second_best(tries_for(tables, shortest), shortest.minutes)
    tasks = runs_of(tables, shortest.minutes, chosen)
    return tables.extend("race_others", run_model, tasks, RUN)
