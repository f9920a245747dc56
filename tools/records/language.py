"""The records of language models that translate by continuing, beside the encoder–decoder."""

from typing import Any

from annotated_transformer.evaluation import alignment_errors
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from records.tables import Row, Tables
from records.toy_training import RATES, STEPS, measure, task, train
from records.trials import SEEDS, tune, tuned_rate

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
