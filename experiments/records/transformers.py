"""The records of Transformers that differ in one thing, and of what heads cost."""

from typing import Any

import torch
from torch import nn

from annotated_transformer.luong import DotAttention
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.transformer import Transformer, TransformerConfig
from records.costs import operations, times_in_turns
from records.tables import Row, Tables
from records.toy_training import RATES, STEPS, measure, task, train
from records.trials import SEEDS, TRIAL, best_rate, tune
from transformer_workbook.notebook import exactly_right

MODELS: dict[str, dict[str, Any]] = {
    "sinusoidal": {},
    "learned": {"positions": "learned"},
    "learned, small start": {"positions": "learned"},
    "none": {"positions": "learned"},
    "unscaled": {},
    "1 head": {"num_heads": 1},
    "2 heads": {"num_heads": 2},
    "8 heads": {"num_heads": 8},
}
SECOND = ("sinusoidal", "learned", "learned, small start")
MORE_TRIALS = (101, 102, 103)  # their seeds
HEADS = (1, 2, 4, 8, 16)
D_MODEL, SENTENCES, POSITIONS = 512, 10, 32


def unscale(model: nn.Module) -> None:
    """Let every attention of the model use plain dot products, not divided by √d_k."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.attention = DotAttention()


def build_transformer(name: str, seed: int = 0) -> Transformer:
    """Build an untrained Transformer: 4 heads and sinusoids, except for one change.

    Its weights are drawn in float64. Learned positions begin as long as words do, √d_model; with a
    small start their norm is 1.
    """
    model = task().build(
        Transformer, TransformerConfig.tiny, seed, norm_position="pre", dropout=0.0, max_length=128,
        **MODELS[name],
    )  # fmt: skip
    if name == "unscaled":
        unscale(model)
    for embedding in (model.src_embedding, model.tgt_embedding):
        table = embedding.positions.table
        if name == "none":
            nn.init.zeros_(table.requires_grad_(False))
        elif table.requires_grad:
            small = name == "learned, small start"
            nn.init.normal_(table, std=model.config.d_model**-0.5 if small else 1.0)
    return model.float()


def train_transformer(name: str, rate: float, seed: int, steps: int = STEPS) -> Row:
    """Train one Transformer; its alignment is that of the last layer, the mean of the heads."""
    model = build_transformer(name, seed)
    last = f"decoder.{model.config.num_layers - 1}.cross_attention"
    train(model, steps, rate, seed)
    return {"model": name, "rate": rate, "seed": seed, "steps": steps, **measure(model, last)}


def time_heads(num_heads: int, repeats: int = 40) -> Row:
    """Time a layer with this number of heads, forward and backward, in turns with a single head."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.randn(SENTENCES, POSITIONS, D_MODEL)
    layers = [MultiHeadAttention(D_MODEL, heads) for heads in (num_heads, 1)]
    works = [lambda layer=layer: layer(x, x, x).sum().backward() for layer in layers]
    ours, one = times_in_turns(*works, repeats=repeats)
    layer = layers[0]
    unscale(layer)  # written out: the fused attention hides its products from the counter
    return {
        "num_heads": num_heads,
        "d_k": D_MODEL // num_heads,
        "parameters": sum(p.numel() for p in layer.parameters()),
        "operations": operations(layer, x, x, x),
        "milliseconds": round(1000 * ours, 1),
        "ratio_to_one": round(ours / one, 2),
    }


def make_transformers(tables: Tables) -> None:
    """Eight Transformers that differ in one thing, each at its best rate, with five fresh seeds.

    What would refute "learned positions are behind sinusoids": a table that is initialised as
    large as the embeddings, or another learning rate (`transformers_second`). Run: with both,
    learned positions are ahead, and a small initialisation stays behind. One trial had chosen a
    rate that costs ten percentage points.
    """
    tune(tables, "transformers", train_transformer, MODELS, RATES)


def make_transformers_second(tables: Tables) -> None:
    """Positions at the two rates that were best in one trial: more trials, and the second's runs.

    It is the other method for what `transformers` says of positions: one trial for each rate may
    prefer the wrong one, which here decided which encoding was ahead.
    """
    rows = tune(tables, "transformers", train_transformer, MODELS, RATES)
    runs = []
    for name in SECOND:
        best = best_rate(rows, name)
        others = [row for row in rows if float(row["rate"]) != best and int(row["seed"]) == TRIAL]
        second = best_rate(others, name)
        runs += [(name, rate, seed) for rate in (best, second) for seed in MORE_TRIALS]
        runs += [(name, second, seed) for seed in SEEDS]
    tables.extend("transformers_second", train_transformer, runs, ["model", "rate", "seed"])


def which_are_right(name: str, rate: float, seed: int) -> Row:
    """Train a Transformer and tell of each test sentence whether it is right, as 0 or 1."""
    model = build_transformer(name, seed)
    train(model, STEPS, rate, seed)
    right = exactly_right(model, task().examples("test"))
    return {"model": name, "rate": rate, "seed": seed, "right": "".join(map(str, map(int, right)))}


def make_test_sentences(tables: Tables) -> None:
    """Which of 500 test sentences two Transformers get right, at the best rate of each.

    What would refute "an interval over seeds holds for other test sentences": a difference that
    depends on the sentences as much as on the seed. Run: drawn anew, sentences have half the
    standard error of seeds, and an interval over both is a seventh wider.
    """
    runs = [(name, 8e-3, seed) for seed in SEEDS for name in SECOND[:2]]
    tables.extend("test_sentences", which_are_right, runs, ["model", "rate", "seed"])


def make_heads_cost(tables: Tables) -> None:
    """Operations and time of a layer of 1 to 16 heads."""
    # One at a time: nothing else may run beside what is timed.
    heads = [(number,) for number in HEADS]
    tables.extend("heads_cost", time_heads, heads, ["num_heads"], workers=1)
