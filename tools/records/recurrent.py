"""The records of recurrent translators, without attention and with it."""

from collections.abc import Callable
from typing import Any

import torch

from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.bitext import Example
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.luong import Luong, LuongConfig
from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from annotated_transformer.training import Trainer, endless_batches
from records.costs import operations, times_in_turns
from records.tables import Row, Tables
from records.toy_training import RATES, STEPS, task, train_and_measure, tune
from records.trials import SEEDS

BUDGETS = ((500, 128), (1000, 128), (2000, 128), (4000, 128), (8000, 128))  # steps, hidden_dim
WIDTHS = ((2000, 32), (2000, 64), (2000, 256))

MODELS: dict[str, tuple[Any, Any, dict[str, str]]] = {
    "seq2seq, RNN": (Seq2Seq, RecurrentConfig, {"cell": "rnn"}),
    "seq2seq, LSTM": (Seq2Seq, RecurrentConfig, {"cell": "lstm"}),
    "seq2seq, GRU": (Seq2Seq, RecurrentConfig, {"cell": "gru"}),
    "Bahdanau": (Bahdanau, RecurrentConfig, {}),
    "Luong, dot": (Luong, LuongConfig, {"score": "dot"}),
    "Luong, general": (Luong, LuongConfig, {"score": "general"}),
    "Luong, concat": (Luong, LuongConfig, {"score": "concat"}),
}


def build_recurrent(name: str, seed: int = 0, **sizes: int) -> Any:
    """An untrained recurrent translator, in float64."""
    model, config, choices = MODELS[name]
    return task().build(model, config, seed, **choices, **sizes)


def train_recurrent(
    name: str, rate: float, seed: int, steps: int = STEPS, hidden_dim: int = 128
) -> Row:
    """Train one model and measure everything that its table tells."""
    torch.set_num_threads(1)
    model = build_recurrent(name, seed, hidden_dim=hidden_dim)
    tokens = torch.full((1, 12), 5)
    counted = operations(model, tokens, tokens)
    attention = "" if "seq2seq" in name else "attention"
    measured = train_and_measure(model, attention, rate, seed, steps)
    return {
        "model": name,
        "rate": rate,
        "seed": seed,
        "steps": steps,
        "hidden_dim": hidden_dim,
        "parameters": measured["parameters"],
        "operations": counted,
        **measured,
    }


def time_against_gru(
    build: Callable[[str], Any], name: str, examples: list[Example], repeats: int, steps: int
) -> Row:
    """Time a training step of a model against one of the GRU, in turns of so many steps."""
    torch.set_num_threads(1)
    batches = endless_batches(examples, max_tokens=512, seed=0)
    rounds = [[[next(batches)] for _ in range(steps)] for _ in range(repeats)]

    def turns_of(other: str) -> Callable[[], None]:
        trainer = Trainer(build(other), smoothed_cross_entropy, lambda step: 1e-6)
        mine = iter(rounds)

        def turn() -> None:
            for part in next(mine):
                trainer.update(part)

        return turn

    ours, gru = times_in_turns(turns_of(name), turns_of("seq2seq, GRU"), repeats=repeats)
    return {"milliseconds": round(1000 * ours / steps, 1), "ratio_to_gru": round(ours / gru, 2)}


def time_recurrent(name: str, repeats: int = 20) -> Row:
    """Time one training step of a model against one of the GRU, in turns."""
    examples = task().examples("train")
    return {"model": name, **time_against_gru(build_recurrent, name, examples, repeats, steps=5)}


def make_recurrent(tables: Tables) -> None:
    """Seven recurrent translators, each at the best of three rates, with three seeds."""
    tune(tables, "part1", train_recurrent, MODELS)


def make_recurrent_budgets(tables: Tables) -> None:
    """The GRU without attention with more steps, and with other widths."""
    gru = [("seq2seq, GRU", RATES[1], SEEDS[0], *budget) for budget in BUDGETS + WIDTHS]
    keys = ["model", "rate", "seed", "steps", "hidden_dim"]
    tables.extend("seq2seq_budgets", train_recurrent, gru, keys)


def make_recurrent_times(tables: Tables) -> None:
    """The time of a training step of every recurrent translator, beside the GRU's."""
    # One at a time: nothing else may run beside what is timed.
    times = [(name,) for name in MODELS]
    tables.extend("part1_times", time_recurrent, times, ["model"], workers=1)
