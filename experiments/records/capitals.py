"""The record of lesson 28: a model that answers kindly, after comparisons of answers alone.

Before the runs: a run counts if 90 of 100 answers are friendly and it loses at most 15 of its right
ones; a rival of the reference model if it does both on average.
"""

import random
from copy import deepcopy
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.language_model import LanguageModel
from annotated_transformer.lora import add_lora
from records.fitting import fit_one_cycle
from records.tables import Row, Tables, with_seeds
from transformer_workbook.notebook.capitals import (
    CAPITAL,
    FRIENDLY,
    REQUEST,
    SHORT,
    numbers,
    of_100,
    small_model,
)

RATE, STEPS = 1e-3, 80
# What is changed: the loss, the pairs, β, the learning rate, the steps, the rank of LoRA.
MODELS: dict[str, Row] = {
    "before": {"steps": 0},
    "DPO": {},
    "DPO, swapped pairs": {"pairs": "swapped"},
    "DPO, coin tosses": {"pairs": "coins"},
    "no reference": {"loss": "free"},
    "no reference, mean log p": {"loss": "mean"},
    "fine-tuning on the preferred": {"loss": "likelihood"},
    "DPO, β 3": {"beta": 3.0},
    "DPO, four times the steps": {"steps": 320},
    "fine-tuning, a third of the rate": {"loss": "likelihood", "rate": RATE / 3},
    "LoRA, rank 1": {"rank": 1, "rate": 1.5 * RATE},
    "LoRA, rank 1, twice the rate": {"rank": 1, "rate": 3 * RATE},
}
# Rate by β by reference: how far a model may move before it forgets.
MODELS |= {
    f"{name}, β {beta:g}, rate {rate:g}": {"loss": loss, "beta": beta, "rate": rate}
    for name, loss in {"DPO": "DPO", "no reference": "free"}.items()
    for beta in (0.1, 1.0)
    for rate in (1e-4, 3e-4, 1e-3)
    if (beta, rate) != (1.0, RATE)
}
TWENTY = ("before", "DPO", "no reference", "no reference, β 1, rate 0.0001", "LoRA, rank 1")
Pair = tuple[str, str, str]  # a country, the preferred answer, the other


def written(land: str, city: str, friendly: bool) -> str:
    """An answer, short or friendly."""
    return (FRIENDLY if friendly else SHORT).format(land=land, city=city)


def log_p(model: LanguageModel, lands: list[str], answers: list[str]) -> Tensor:
    """Add up the log-probabilities of the tokens of each answer, (batch,)."""
    texts = [f"{REQUEST} {y}".format(land=x) for x, y in zip(lands, answers, strict=True)]
    ids = nn.utils.rnn.pad_sequence(list(map(numbers, texts)), batch_first=True)
    each = model(ids[:, :-1]).log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    return (each * (ids[:, 1:] > 0))[:, len(REQUEST.split()) - 1 :].sum(dim=1)


@cache
def begun(seed: int) -> tuple[LanguageModel, list[str]]:
    """Train the model that knows all capitals; and draw the order of the countries."""
    torch.manual_seed(seed)
    dice = random.Random(seed)
    lands = dice.sample(sorted(CAPITAL), len(CAPITAL))
    model = small_model()

    def loss_at(_: int) -> Tensor:
        asked = dice.choices(lands, k=32)
        return -log_p(
            model, asked, [written(x, CAPITAL[x], dice.random() < 0.5) for x in asked]
        ).mean()

    fit_one_cycle(model, 5e-3, 400, loss_at)
    return model, lands


def compared(lands: list[str], dice: random.Random, how: str) -> list[Pair]:
    """Two of four answers; the friendly one is preferred, of two in one style a coin decides.

    A country has one wrong city, the capital of the next: counting does not tell which is right.
    """
    wrong, pairs = dict(zip(lands, lands[1:] + lands[:1], strict=True)), []
    for land in dice.choices(lands, k=500):
        four = [(style, CAPITAL[x]) for style in (True, False) for x in (land, wrong[land])]
        two = sorted(dice.sample(four, 2), key=lambda answer: -answer[0])
        if two[0][0] == two[1][0] or how == "coins":
            dice.shuffle(two)
        better, worse = (written(land, city, style) for style, city in two)
        pairs.append((land, worse, better) if how == "swapped" else (land, better, worse))
    return pairs


def train_capitals(name: str, seed: int) -> Row:
    """Train one model on 500 comparisons for 20 countries; ask about these and about 20 others."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    start, lands = begun(seed)
    torch.manual_seed(seed)
    model, dice, how = deepcopy(start), random.Random(seed), MODELS[name]
    pairs = compared(lands[:20], dice, how.get("pairs", "friendly"))
    loss, beta = how.get("loss", "DPO"), how.get("beta", 1.0)
    if rank := how.get("rank"):
        add_lora(model.decoder, rank)

    def loss_at(_: int) -> Tensor:
        asked, better, worse = map(list, zip(*dice.sample(pairs, 32), strict=True))
        good = log_p(model, asked, better)
        if loss == "likelihood":
            return -good.mean()
        bad = log_p(model, asked, worse)
        if loss == "mean":
            good = good / torch.tensor([len(y.split()) for y in better])
            bad = bad / torch.tensor([len(y.split()) for y in worse])
        margin = good - bad
        if loss == "DPO":
            with torch.no_grad():
                before = log_p(start, asked, better) - log_p(start, asked, worse)
            margin = margin - before
        return -F.logsigmoid(beta * margin).mean()

    if steps := how.get("steps", STEPS):
        fit_one_cycle(model, how.get("rate", RATE), steps, loss_at)
    friendly, right = of_100(model, lands[20:])
    row: Row = {"model": name, "seed": seed, "friendly": friendly, "right": right}
    row["friendly_compared"], row["right_compared"] = of_100(model, lands[:20])
    asked, better, worse = map(list, zip(*pairs, strict=True))
    true = [written(x, CAPITAL[x], True) for x in asked]
    with torch.no_grad():
        for part, texts in {"preferred": better, "other": worse, "true": true}.items():
            row[part] = round(-log_p(model, asked, texts).mean().item(), 3)
    return row


def make_capitals(tables: Tables) -> None:
    """A model that knows 40 capitals, after comparisons that say nothing about right and wrong.

    It is the refuter of lesson 28: the loss with and without its reference model, at three rates
    and two values of β, with more steps or means over tokens, fine-tuning on the preferred answers,
    swapped pairs and coin tosses.
    """
    seeds = with_seeds({name: 20 if name in TWENTY else 5 for name in MODELS})
    # A seed after the other: the model that all of them begin from is trained once.
    runs = sorted(seeds, key=lambda run: run[1])
    tables.extend("capitals", train_capitals, runs, ["model", "seed"])
