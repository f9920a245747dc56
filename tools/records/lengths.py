"""The records of texts longer than those of training, by the encoding of positions.

Two tasks: to name the previous symbol, with one head of causal self-attention, and to predict the
next word of English sentences of the toy corpus, one after the other, with two decoder layers.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
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
)
from annotated_transformer.soft_lookup import masked_softmax
from annotated_transformer.tokens import EOS, PAD
from annotated_transformer.training import Trainer, linear_schedule
from records.tables import Row, Tables
from records.toy_training import task
from records.trials import SEEDS, tune, tuned_rate
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

SYMBOLS, LENGTH, SEQUENCES, STEPS, WARMUP, TESTS = 8, 16, 64, 400, 30, 200
RATES = (1e-2, 2e-2, 4e-2)
FURTHER = (1, 2, 4, 8)  # times the length of training
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


def loss_of(model: OneHead, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, ""]:
    """The cross-entropy of the symbol before, from the second position on."""
    return F.cross_entropy(model(tokens)[:, 1:].flatten(0, 1), tokens[:, :-1].flatten())


def sequences(length: int) -> Int[Tensor, "batch time"]:
    """Those on which every head is tested."""
    return torch.randint(SYMBOLS, (TESTS, length), generator=torch.Generator().manual_seed(2))


def share_right(model: OneHead, length: int) -> float:
    """The share of right answers in the second half of sequences of that length."""
    tokens = sequences(length)
    right = model(tokens)[:, 1:].argmax(-1) == tokens[:, :-1]
    return round(right[:, length // 2 - 1 :].double().mean().item(), 4)


def train_head(model: str, rate: float, seed: int) -> Row:
    """Train one head; the shares right by length, for rotary heads with each scaling."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    head = OneHead(**HEADS[model])
    adam = torch.optim.Adam(head.parameters(), lr=rate, eps=1e-6)
    for step in range(STEPS):
        adam.param_groups[0]["lr"] = rate * min((step + 1) / WARMUP, 1 - step / STEPS)
        loss = loss_of(head, torch.randint(SYMBOLS, (SEQUENCES, LENGTH)))
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    row: Row = {"model": model, "rate": rate, "seed": seed}
    width, trained = head.symbols.embedding_dim, head.frequencies
    with torch.no_grad():
        row["val_loss"] = f"{loss_of(head, sequences(LENGTH)).item():.3e}"
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
    down, they answer nearly as before; without them, a head fails earlier.
    """
    tune(tables, "length_heads", train_head, HEADS, RATES, "val_loss")


# --- a language model that reads on ---------------------------------------------------------------

WINDOW, WINDOWS, TEXT_STEPS, LONG, FURTHER_STEPS = 64, 32, 1000, 512, 100
TEXT_RATES = (1e-3, 2e-3, 4e-3)
READERS: dict[str, dict[str, Any]] = {
    "sinusoids": {},
    "no positions": {"positions": "none"},
    "ALiBi": {"positions": "none"},
    "rotary": {"positions": "rotary"},
    "rotary, base 500": {"positions": "rotary", "rotary_base": 500.0},
    "rotary, base 1000000": {"positions": "rotary", "rotary_base": 1e6},
}


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
def long_windows() -> Int[Tensor, "batch time"]:
    """Texts of the test split that are eight times as long as those of training, and one token."""
    windows = [text("test", seed).unfold(0, LONG + 1, LONG) for seed in range(3)]
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
def loss_by_length(model: LanguageModel, length: int) -> float:
    """The loss of the next token in the second half of texts of that length, in nats."""
    windows = long_windows()[:, : length + 1]
    logits = model(windows[:, :-1])[:, length // 2 :]
    return round(F.cross_entropy(logits.mT, windows[:, length // 2 + 1 :]).item(), 4)


@contextmanager
def scaled(model: LanguageModel, frequencies: Frequencies, amplitude: float) -> Iterator[None]:
    """Turn with these frequencies, and multiply queries by the square of the amplitude."""
    layers: Any = [layer.self_attention for layer in model.decoder]
    before = [layer.frequencies for layer in layers]
    for layer in layers:
        layer.frequencies = frequencies
        for tensor in layer.query.parameters():
            tensor.data *= amplitude**2
    yield
    for layer, kept in zip(layers, before, strict=True):
        layer.frequencies = kept
        for tensor in layer.query.parameters():
            tensor.data /= amplitude**2


def windows_of(tokens: Int[Tensor, " token"], length: int, count: int, random: Random) -> Batch:
    """Texts that begin anywhere, for teacher forcing."""
    starts = [random.randrange(len(tokens) - length - 1) for _ in range(count)]
    windows = torch.stack([tokens[start : start + length + 1] for start in starts])
    no_source = torch.full((count, 1), PAD)
    return Batch(no_source, windows[:, :-1], windows[:, 1:])


def trained_reader(name: str, rate: float, seed: int) -> LanguageModel:
    """Train a language model on texts of 64 tokens."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    model, tokens, random = build_reader(name, seed), text("train", 0), Random(seed)
    schedule = linear_schedule(rate, TEXT_STEPS, warmup=TEXT_STEPS // 20)
    trainer = Trainer(model, smoothed_cross_entropy, schedule)
    for _ in range(TEXT_STEPS):
        trainer.update([windows_of(tokens, WINDOW, WINDOWS, random)])
    return model.eval()


def methods_of(model: LanguageModel) -> dict[str, Callable[[float], Frequencies]]:
    """The scalings of a model with rotary positions."""
    c = model.config
    return scalings(c.d_model // c.num_heads, c.rotary_base, WINDOW)


def amplitude_of(method: str, factor: float) -> float:
    """By how much YaRN multiplies queries and keys."""
    return 0.1 * math.log(factor) + 1 if method == "yarn" else 1.0


def train_reader(name: str, rate: float, seed: int) -> Row:
    """Train a language model; its loss by length, for rotary positions with each scaling."""
    model = trained_reader(name, rate, seed)
    row: Row = {"model": name, "rate": rate, "seed": seed}
    row["val_loss"] = loss_by_length(model, WINDOW)
    for method, scale in methods_of(model).items():
        for factor in FURTHER:
            column = f"{method}_{factor * WINDOW}"
            if method == "plain":
                row[column] = loss_by_length(model, factor * WINDOW)
            elif model.config.positions == "rotary":
                with scaled(model, scale(factor), amplitude_of(method, factor)):
                    row[column] = loss_by_length(model, factor * WINDOW)
            else:
                row[column] = ""
    return row


def make_length_texts(tables: Tables) -> None:
    """Language models, trained on 64 tokens of English text and asked about up to 512.

    What would refute "dividing all frequencies helps less than dividing those of the slow pairs":
    some further training, as the authors of position interpolation had it (`length_texts_further`).
    """
    tune(tables, "length_texts", train_reader, READERS, TEXT_RATES, "val_loss")


def train_further(name: str, rate: float, seed: int) -> Row:
    """Train a rotary model on longer texts for a few steps, with the frequencies of one method."""
    model = trained_reader("rotary", rate, seed)
    frequencies, amplitude = (
        methods_of(model)[method](LONG / WINDOW),
        amplitude_of(method, LONG / WINDOW),
    )
    row: Row = {"model": name, "rate": rate, "seed": seed}
    with scaled(model, frequencies, amplitude):
        row["before"] = loss_by_length(model, LONG)
        schedule = linear_schedule(rate / 4, FURTHER_STEPS, warmup=FURTHER_STEPS // 10)
        trainer, random = Trainer(model, smoothed_cross_entropy, schedule), Random(seed)
        for _ in range(FURTHER_STEPS):
            trainer.update([windows_of(text("train", 0), LONG, WINDOWS * WINDOW // LONG, random)])
        row["after"] = loss_by_length(model.eval(), LONG)
    return row


def make_length_texts_further(tables: Tables) -> None:
    """The rotary language models after 100 further steps on texts of 512 tokens, by scaling.

    It is the other method for "dividing all frequencies does harm": models that may learn what to
    do with the new frequencies.
    """
    rate = tuned_rate(tables, "length_texts", train_reader, "rotary", TEXT_RATES)
    runs = [
        (method, rate, seed)
        for method in ("plain", "interpolated", "ntk", "yarn", "slow")
        for seed in SEEDS
    ]
    tables.extend("length_texts_further", train_further, runs, ["model", "rate", "seed"])
