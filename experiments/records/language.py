"""The records of language models that translate by continuing, beside the encoder–decoder."""

from functools import partial
from typing import Any

from torch import nn

from annotated_transformer.evaluation import alignment_errors, perplexity
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.linear_attention import LinearAttention
from records.tables import Row, Tables
from records.toy_training import RATES, STEPS, measure, task, train
from records.trials import SEEDS, tune, tuned_rate
from transformer_workbook.notebook import exactly_right

SIZES = {"num_layers": 4, "d_ff": 320}  # as many parameters as the Transformer of `transformers`
MODELS: dict[str, dict[str, Any]] = {"causal": {}, "prefix": {"prefix_mask": True}}
LONGER = 2 * STEPS


def build_language_model(name: str, seed: int = 0) -> LanguageModel:
    """Build an untrained language model, whose weights were drawn in float64."""
    model = task().build(
        LanguageModel, LanguageModelConfig.tiny, seed, norm_position="pre", dropout=0.0,
        max_length=128, **SIZES, **MODELS[name],
    )  # fmt: skip
    return model.float()


def train_language_model(name: str, rate: float, seed: int, steps: int = STEPS) -> Row:
    """Train one language model; its alignment is that of the layer that is best on validation."""
    model = build_language_model(name, seed)
    train(model, steps, rate, seed)
    gold = [pair.alignment for pair in task().pairs["val"]]
    on_val = alignment_errors(model, task().examples("val"), gold)
    layer = min(on_val, key=lambda name: on_val[name])
    row = {"model": name, "rate": rate, "seed": seed, "steps": steps, **measure(model, layer)}
    return row | {"layer": layer}


def make_language_models(tables: Tables) -> None:
    """Language models with as many parameters as the Transformer, which translate by continuing.

    What would refute "the prefix mask is behind the causal one": a training that is twice as long
    (`language_models_longer`). Run: it is still behind.
    """
    tune(tables, "language_models", train_language_model, MODELS, RATES)


def train_longer(name: str, rate: float, seed: int) -> Row:
    """Train a language model for twice as many steps."""
    return train_language_model(name, rate, seed, LONGER)


def make_language_models_longer(tables: Tables) -> None:
    """The language models, each at its best rate, with twice as many steps.

    It is the other method for "the prefix mask is behind": a model that learns more slowly is
    behind after some steps, and need not be later.
    """
    rates = {
        name: tuned_rate(tables, "language_models", train_language_model, name, RATES)
        for name in MODELS
    }
    runs = [(name, rate, seed) for name, rate in rates.items() for seed in SEEDS]
    tables.extend("language_models_longer", train_longer, runs, ["model", "rate", "seed"])


HYBRID_STEPS = 500
HYBRIDS = {"softmax": "", "linear": "01", "softmax first": "1", "softmax last": "0"}
"""Language models of two layers, by those whose attention is linear: all have the same weights."""


def train_hybrid(name: str, rate: float, seed: int, steps: int = HYBRID_STEPS) -> Row:
    """Train a language model of two layers, some of them with linear attention."""
    changes: Any = {"norm_position": "pre", "dropout": 0.0, "max_length": 128}
    model: Any = task().build(LanguageModel, LanguageModelConfig.tiny, seed, **changes)
    for layer in (model.decoder[int(i)] for i in HYBRIDS.get(name, "")):
        softmax, c = layer.self_attention, model.config
        layer.self_attention = LinearAttention(c.d_model, c.num_heads)
        layer.self_attention.load_state_dict(softmax.state_dict())
    if name == "mean first":  # softmax over scores of zero is the mean of all values so far
        for weight in model.decoder[0].self_attention.query.parameters():
            nn.init.zeros_(weight).requires_grad_(False)
    train(model.float(), steps, rate, seed)
    row: Row = {"model": name, "rate": rate, "seed": seed}
    row["val_perplexity"] = round(perplexity(model, task().examples("val")), 4)
    for split in ("test", "longer"):
        right = exactly_right(model, task().examples(split))
        row[split] = sum(right) / len(right)
    return row


def make_hybrids(tables: Tables) -> None:
    """Language models of two layers with softmax attention, linear attention, or one of each.

    What would refute "a cache in the last layer alone is better than two": the cache in the other
    layer (softmax first), and a training that is three times as long (`hybrids_longer`).
    """
    tune(tables, "hybrids", train_hybrid, HYBRIDS, RATES)


def make_hybrid_means(tables: Tables) -> None:
    """A language model of two layers whose first only takes the mean of all that it has read.

    It is the other method for "a state in the first layer is what helps": a layer without queries
    and keys, which can look for nothing.
    """
    tune(tables, "hybrid_means", train_hybrid, ["mean first"], RATES)


def make_hybrids_longer(tables: Tables) -> None:
    """The language models with two caches and with one in the last layer, three times as long.

    It is the other method for "one cache is better than two": a model that learns more slowly is
    behind after some steps, and need not be later.
    """
    longer = partial(train_hybrid, steps=3 * HYBRID_STEPS)
    tune(tables, "hybrids_longer", longer, ["softmax", "softmax last"], RATES)
