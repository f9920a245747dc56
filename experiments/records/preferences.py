"""The record of a model that follows requests and goes on learning from preferences."""

import random
from difflib import SequenceMatcher
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.language_model import LanguageModel
from annotated_transformer.tokens import EOS
from records import following
from records.fitting import fit
from records.rewards import log_probabilities, one_drawn, start_of
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook.following import Following, continued

STEPS, REQUESTS, BATCH, BETA, RATES = 150, 2000, 32, 1.0, (5e-4, 1e-3, 2e-3)
# The answer that is chosen, and the one that is rejected, if any is.
MODELS = ("right", "right, worse", "better", "better, worse", "better, any")
Judged = tuple[list[int], dict[str, list[int]]]
"""A prompt and its answers: the right one, and the better and the worse of two that were drawn."""


@cache
def judged(seed: int) -> list[Judged]:
    """Draw two answers to each new request; the better is more like the right translation."""
    task, draw, found = Following.make(), random.Random(seed), []
    known = {*draw.sample(task.pairs["train"], 200)}  # whose translations were examples
    asked = draw.sample([pair for pair in task.pairs["train"] if pair not in known], REQUESTS)
    prompts = [task.prompt("translate", pair) for pair in asked]
    start = start_of(seed)  # which sets the seed of the draws
    twice = [continued(start, prompts, one_drawn) for _ in range(2)]
    for prompt, pair, *rows in zip(prompts, asked, *twice, strict=True):
        right = [*task.ids(pair.tgt), EOS]
        like = [SequenceMatcher(None, right, row, autojunk=False).ratio() for row in rows]
        if like[0] != like[1]:
            better, worse = rows if like[0] > like[1] else rows[::-1]
            found.append((prompt, {"right": right, "better": better, "worse": worse}))
    others = draw.sample(found, len(found))  # a worse answer, but to any request
    return [(p, a | {"any": b["worse"]}) for (p, a), (_, b) in zip(found, others, strict=True)]


def log_p(model: LanguageModel, batch: list[Judged], which: str) -> Tensor:
    """Compute the log-probability of an answer to each request, (batch,)."""
    rows = [written[which] for _, written in batch]
    return log_probabilities(model, [prompt for prompt, _ in batch], rows).sum(dim=1)


def train_preferences(model: str, rate: float, seed: int) -> Row:
    """Go on with pairs of a chosen and a rejected answer, or with the chosen one alone."""
    torch.set_num_threads(1)
    chosen, _, rejected = model.partition(", ")
    built, start, pairs, draw = start_of(seed), start_of(seed), judged(seed), random.Random(seed)

    def loss_at(_: int) -> Tensor:
        batch = draw.choices(pairs, k=BATCH)
        now = log_p(built, batch, chosen)
        if not rejected:
            return -now.sum() / sum(len(written[chosen]) for _, written in batch)
        with torch.no_grad():
            before = log_p(start, batch, chosen) - log_p(start, batch, rejected)
        return -F.logsigmoid(BETA * (now - log_p(built, batch, rejected) - before)).mean()

    fit(built, rate, STEPS, following.WARMUP, loss_at)
    row = {"model": model, "rate": rate, "seed": seed, **following.measure(built)}
    row["lack"] = round(1 - exact(built, "val"), 4)
    for name, one in (("", built), ("_before", start)):
        row["exact" + name] = exact(one, "test")
        with torch.no_grad():
            for part, which in (("chosen", chosen), ("rejected", rejected or "worse")):
                row[part + name] = round(-log_p(one, pairs[:400], which).mean().item(), 3)
    return row


def exact(model: LanguageModel, split: str) -> float:
    """Compute the share of exact translations among all sentences of a split."""
    return following.share_right(model, "translate", Following.make().pairs[split])


def make_preferences(tables: Tables) -> None:
    """Translations after 200 examples, then preferences or more fine-tuning on chosen answers.

    What would refute "a worse answer to the same request teaches": the same loss with a worse
    answer to any other request, or, by another method, fine-tuning on the better answer alone, at
    the rate that suits it best. The first is behind; of the second, five seeds do not decide it.
    """
    tune(tables, "preferences", train_preferences, MODELS, RATES, "lack")
