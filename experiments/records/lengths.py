"""The records of texts longer than those of training, by the encoding of positions.

Two tasks: to name the previous symbol, with one head of causal self-attention, and to predict the
next word of English sentences of the toy corpus, one after the other, with two decoder layers.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import cache, partial
from random import Random
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention, SelfAttention
from annotated_transformer.batches import Batch
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.rotary import (
    interpolated,
    ntk_aware,
    rotary_frequencies,
    rotate,
    yarn,
    yarn_amplitude,
)
from annotated_transformer.soft_lookup import masked_softmax
from annotated_transformer.tokens import EOS, PAD
from annotated_transformer.training import Trainer, linear_schedule
from records.positions import SYMBOLS, begin, fit_on, loss_of, sequences
from records.tables import Row, Tables
from records.toy_training import task
from records.trials import TRIAL, best_rate, tune
from transformer_workbook.notebook import drawn_in_float64

BASE = 10000.0
Frequencies = Float[Tensor, " pair"]


def turns(frequencies: Frequencies, length: int) -> Frequencies:
    """How often each pair turns within a text of that length."""
    return frequencies * length / (2 * math.pi)


def slow_divided(frequencies: Frequencies, factor: float, length: int) -> Frequencies:
    """Divide the pairs that turn less than once within the trained length, and no others."""
    slow = turns(frequencies, length) < 1
    return torch.where(slow, interpolated(frequencies, factor), frequencies)


def scalings(d_k: int, base: float, length: int) -> dict[str, Callable[[float], Frequencies]]:
    """Frequencies for texts that are longer by a factor, by the name of the method."""
    plain = rotary_frequencies(d_k, base)
    return {
        "plain": lambda factor: plain,
        "interpolated": lambda factor: interpolated(plain, factor),
        "ntk": lambda factor: ntk_aware(d_k, base, factor),
        "yarn": lambda factor: yarn(plain, base, factor, length),
        "slow": lambda factor: slow_divided(plain, factor, length),
    }


# --- one head that names the previous symbol ------------------------------------------------------

LENGTH, STEPS, TESTS = 16, 400, 200
RATES = (1e-2, 2e-2, 4e-2)
FURTHER = (1, 2, 4, 8)  # times the length of training
MORE_SEEDS = range(6, 16)  # the intervals of five were wide; these ten are compared
HEADS: dict[str, dict[str, Any]] = {
    "rotary 8": {"width": 8},
    "rotary 16": {"width": 16},
    "rotary 32": {"width": 32},
    "rotary 64": {"width": 64},
    "rotary 32, base 500": {"base": 500.0},
    "rotary 32, base 1000000": {"base": 1e6},
    "rotary 32, fast pairs only": {"fast": True},
    "ALiBi 32": {"kind": "alibi"},
    "sinusoids 32": {"kind": "sinusoids"},
    "no positions 32": {"kind": "none"},
}


class OneHead(nn.Module):
    """Symbols, one head of causal self-attention, logits of the symbol before."""

    def __init__(
        self, kind: str = "rotary", width: int = 32, base: float = BASE, fast: bool = False
    ) -> None:
        super().__init__()
        self.kind, self.base = kind, base
        self.symbols = nn.Embedding(SYMBOLS, width)
        self.look = SelfAttention(width, width, width)
        self.output = nn.Linear(width, SYMBOLS)
        self.frequencies = rotary_frequencies(width, base)
        if fast:  # the other pairs do not turn at all
            turning = turns(self.frequencies, LENGTH) >= 1
            self.frequencies = self.frequencies * turning

    def forward(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time symbol"]:
        """Compute the logits."""
        x, at = self.symbols(tokens), torch.arange(tokens.size(1))
        if self.kind == "sinusoids":
            x = x + sinusoidal_encoding(len(at), x.size(-1))
        query, key = self.look.query(x), self.look.key(x)
        if self.kind == "rotary":
            query, key = (rotate(vectors, at, self.frequencies) for vectors in (query, key))
        scores = self.look.attention.scores(query, key)
        if self.kind == "alibi":
            scores = scores - (at[:, None] - at)  # with slope 1
        weights = masked_softmax(scores, at[:, None] >= at)
        logits: Tensor = self.output(weights @ self.look.value(x))
        return logits


def share_right(model: OneHead, length: int) -> float:
    """The share of right answers in the second half of sequences of that length."""
    tokens = sequences(length, TESTS)
    right = model(tokens)[:, 1:].argmax(-1) == tokens[:, :-1]
    return round(right[:, length // 2 - 1 :].double().mean().item(), 4)


def train_head(model: str, rate: float, seed: int) -> Row:
    """Train one head; the shares right by length, for rotary heads with each scaling."""
    begin(seed)
    head = OneHead(**HEADS[model])
    fit_on(head, rate, STEPS, LENGTH)
    row: Row = {"model": model, "rate": rate, "seed": seed}
    width, trained = head.symbols.embedding_dim, head.frequencies
    with torch.no_grad():
        row["val_loss"] = f"{loss_of(head, sequences(LENGTH, TESTS)).item():.3e}"
        for method, scale in scalings(width, head.base, LENGTH).items():
            for factor in FURTHER:
                column = f"{method}_{factor * LENGTH}"
                if method == "plain":
                    head.frequencies = trained
                elif model.startswith("rotary") and "fast" not in model:
                    head.frequencies = scale(factor)
                else:
                    row[column] = ""
                    continue
                row[column] = share_right(head, factor * LENGTH)
    return row


def make_length_heads(tables: Tables) -> None:
    """Single heads, trained on 16 symbols and asked about up to 128, by encoding and width.

    What would refute "the slow pairs fail, because they come to angles that training never showed":
    that they fail as well when they are slowed down for the longer text and all else stays (the
    columns of `slow`), or that a head trained without slow pairs reaches further. Run: slowed
    down, heads of every width are right far more often; without them, a head fails earlier.
    """
    rows = tune(tables, "length_heads", train_head, HEADS, RATES, "val_loss")
    chosen = {
        name: best_rate(rows, name, "val_loss") for name in HEADS if name.startswith("rotary")
    }
    runs = [(name, rate, seed) for name, rate in chosen.items() for seed in MORE_SEEDS]
    tables.extend("length_heads", train_head, runs, ["model", "rate", "seed"])


# --- a language model that reads on ---------------------------------------------------------------

WINDOW, WINDOWS, TEXT_STEPS, LONG, FURTHER_STEPS = 64, 32, 1000, 512, 100
STRIDE, ORDERS, SCORED = 128, 2, 32
TEXT_RATES = (1e-3, 2e-3, 4e-3)
FURTHER_RATES = (1e-3, 2e-3, 4e-3)
READERS: dict[str, dict[str, Any]] = {
    "sinusoids": {},
    "no positions": {"positions": "none"},
    "ALiBi": {"positions": "none"},
    "rotary": {"positions": "rotary"},
    "rotary, base 500": {"positions": "rotary", "rotary_base": 500.0},
    "rotary, base 1000000": {"positions": "rotary", "rotary_base": 1e6},
}
METHODS = ("plain", "interpolated", "ntk", "yarn", "yarn_sharp", "slow")
"""How the frequencies are scaled; `yarn_sharp` also multiplies queries and keys."""


class Alibi(ScaledDotProductAttention):
    """Attention whose scores fall with the distance, in each head with a slope of its own.

    In causal attention the softmax of q·k − m (i − j) over j is that of q·k + m j.

    Source: Press et al. 2022, section 3.
    """

    def forward(self, query: Any, key: Any, value: Any, mask: Any = None) -> Any:
        """Compute the weighted sum of the values for every query."""
        heads = query.size(1)
        slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
        nearer = slopes[:, None, None] * torch.arange(key.size(2))
        return masked_softmax(self.scores(query, key) + nearer, mask) @ value


@cache
def text(split: str, seed: int) -> Int[Tensor, " token"]:
    """The English sentences of a split in random order, each ended by EOS, as one text."""
    sentences = [src for src, _ in task().examples(split)]
    Random(seed).shuffle(sentences)
    return torch.tensor([token for sentence in sentences for token in (*sentence, EOS)])


@cache
def long_windows(split: str) -> Int[Tensor, "batch time"]:
    """Texts that are eight times as long as those of training, and one token."""
    windows = [text(split, seed).unfold(0, LONG + 1, STRIDE) for seed in range(ORDERS)]
    return torch.cat(windows)


def build_reader(name: str, seed: int) -> LanguageModel:
    """Build an untrained language model of English, whose weights were drawn in float64."""
    size = len(task().src_vocabulary)
    changes = {"norm_position": "pre", "dropout": 0.0, "max_length": LONG, **READERS[name]}
    with drawn_in_float64():
        torch.manual_seed(seed)
        config = LanguageModelConfig.tiny(size, size, has_source=False, **changes)
        model = LanguageModel(config)
    for layer in model.decoder:
        if name == "ALiBi":
            layer.self_attention.attention = Alibi()  # type: ignore[union-attr]
    return model.float()


@torch.no_grad()
def loss_at(model: LanguageModel, length: int, split: str = "test") -> float:
    """The loss of the last tokens of texts, in nats: the same ones for each length."""
    windows = long_windows(split)[:, -length - 1 :]
    logits = model(windows[:, :-1])[:, -SCORED:]
    return round(F.cross_entropy(logits.mT, windows[:, -SCORED:]).item(), 4)


@contextmanager
def scaled(model: LanguageModel, method: str, factor: float) -> Iterator[None]:
    """Turn with the frequencies of a method for texts that are longer by a factor."""
    c, layers = model.config, [layer.self_attention for layer in model.decoder]
    ways = scalings(c.d_model // c.num_heads, c.rotary_base, WINDOW)
    frequencies = ways[method.removesuffix("_sharp")](factor)
    amplitude = yarn_amplitude(factor) if method == "yarn_sharp" else 1.0
    before = [layer.frequencies for layer in layers]  # type: ignore[union-attr]

    def set_to(values: list[Any], times: float) -> None:
        for layer, value in zip(layers, values, strict=True):
            layer.frequencies = value
            for tensor in layer.query.parameters():  # type: ignore[union-attr]
                tensor.data *= times

    set_to([frequencies] * len(layers), amplitude**2)  # of queries alone: the score is the same
    yield
    set_to(before, amplitude**-2)


def windows_of(
    tokens: Int[Tensor, " token"], length: int, count: int, random: Random, first: int | None = None
) -> Batch:
    """Texts that begin anywhere, for teacher forcing; ``first`` replaces their first token."""
    starts = [random.randrange(len(tokens) - length - 1) for _ in range(count)]
    windows = torch.stack([tokens[start : start + length + 1] for start in starts])
    if first is not None:
        windows[:, 0] = first
    no_source = torch.full((count, 1), PAD)
    return Batch(no_source, windows[:, :-1], windows[:, 1:])


def trained(
    model: LanguageModel, length: int, steps: int, rate: float, seed: int, first: int | None = None
) -> LanguageModel:
    """Train on texts of that length, 2,048 tokens a step."""
    tokens, random = text("train", 0), Random(seed)
    trainer = Trainer(model, smoothed_cross_entropy, linear_schedule(rate, steps, steps // 20))
    for _ in range(steps):
        trainer.update([windows_of(tokens, length, WINDOWS * WINDOW // length, random, first)])
    return model.eval()


def trained_reader(name: str, rate: float, seed: int) -> LanguageModel:
    """Train a language model on texts of 64 tokens."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    return trained(build_reader(name, seed), WINDOW, TEXT_STEPS, rate, seed)


@cache
def first_reader(rate: float, seed: int) -> LanguageModel:
    """Train a rotary language model, once in each process; further steps train copies of it."""
    return trained_reader("rotary", rate, seed)


def train_reader(name: str, rate: float, seed: int) -> Row:
    """Train a language model; its loss by length, for rotary positions with each scaling."""
    model = trained_reader(name, rate, seed)
    row: Row = {"model": name, "rate": rate, "seed": seed}
    row["val_loss"] = loss_at(model, WINDOW, "val")
    is_rotary = model.config.positions == "rotary"
    for method in METHODS:
        for factor in FURTHER:
            column, length = f"{method}_{factor * WINDOW}", factor * WINDOW
            if seed == TRIAL or not (is_rotary or method == "plain"):
                row[column] = ""  # trials choose a rate, and nothing else
            elif not is_rotary:
                row[column] = loss_at(model, length)
            else:
                with scaled(model, method, factor):
                    row[column] = loss_at(model, length)
    return row


def make_length_texts(tables: Tables) -> None:
    """Language models, trained on 64 tokens of English text and asked about up to 512.

    What would refute "dividing all frequencies helps less than dividing those of the slow pairs":
    some further training, as the authors of position interpolation had it (`length_texts_further`).
    Run: most of the difference is gone after 100 steps on long texts, with any frequencies.
    """
    tune(tables, "length_texts", train_reader, READERS, TEXT_RATES, "val_loss")


def train_further(first: float, model: str, rate: float, seed: int) -> Row:
    """Train a rotary model on longer texts for a few steps, with the frequencies of one method."""
    reader = deepcopy(first_reader(first, seed))
    row: Row = {"model": model, "rate": rate, "seed": seed}
    with scaled(reader, model, LONG / WINDOW):
        row["before"] = loss_at(reader, LONG)
        trained(reader, LONG, FURTHER_STEPS, rate, seed)
        row["val_loss"], row["after"] = loss_at(reader, LONG, "val"), loss_at(reader, LONG)
    return row


def make_length_texts_further(tables: Tables) -> None:
    """The rotary language models after 100 further steps on texts of 512 tokens, by scaling.

    It is the other method for "dividing all frequencies does harm": models that may learn what to
    do with the new frequencies, each method at its own best rate.
    """
    trials = tune(tables, "length_texts", train_reader, ["rotary"], TEXT_RATES, "val_loss")
    further = partial(train_further, best_rate(trials, "rotary", "val_loss"))
    tune(tables, "length_texts_further", further, METHODS, FURTHER_RATES, "val_loss")
