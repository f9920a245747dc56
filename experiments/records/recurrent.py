"""The records of recurrent translators, without attention and with it."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.bahdanau import Bahdanau
from annotated_transformer.batches import Batch
from annotated_transformer.evaluation import forced_attention
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.luong import DotAttention, GeneralAttention, Luong, LuongConfig
from annotated_transformer.recurrent import LSTMCell, RNNCell
from annotated_transformer.seq2seq import RecurrentConfig, Seq2Seq
from annotated_transformer.text.examples import Example
from annotated_transformer.training import Trainer, endless_batches
from records.costs import operations, times_in_turns
from records.tables import Row, Tables
from records.toy_training import RATES, STEPS, measure, task, train
from records.trials import SEEDS, tune, tuned_rate

WIDTH = 128
BUDGETS = (1000, 4000)  # steps; `recurrent` has 2000
WIDTHS = (256,)  # numbers in the state; `recurrent` has 128
AS_LARGE = {"seq2seq, RNN": 249, "seq2seq, GRU": 153}  # widths that give the LSTM's parameters

MODELS: dict[str, tuple[Any, Any, dict[str, str]]] = {
    "seq2seq, RNN": (Seq2Seq, RecurrentConfig, {"cell": "rnn"}),
    "seq2seq, LSTM": (Seq2Seq, RecurrentConfig, {"cell": "lstm"}),
    "seq2seq, GRU": (Seq2Seq, RecurrentConfig, {"cell": "gru"}),
    "Bahdanau": (Bahdanau, RecurrentConfig, {}),
    "Luong, dot": (Luong, LuongConfig, {"score": "dot"}),
    "Luong, general": (Luong, LuongConfig, {"score": "general"}),
    "Luong, concat": (Luong, LuongConfig, {"score": "concat"}),
}


class ScaledDot(DotAttention):
    """score(s, h) = sᵀ h / √d."""

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Those of the dot product, brought back to variance 1."""
        return super().scores(query, key) / math.sqrt(query.size(-1))


class ScaledGeneral(GeneralAttention, ScaledDot):
    """score(s, h) = sᵀ W_a h / √d."""


class ScaledLuong(Luong):
    """Luong's model with its score divided by √d."""

    def __init__(self, config: LuongConfig) -> None:
        super().__init__(config)
        hidden = config.hidden_dim
        self.attention = ScaledDot() if config.score == "dot" else ScaledGeneral(hidden, hidden)


SCALED: dict[str, tuple[Any, Any, dict[str, str]]] = {
    "Luong, dot / √d": (ScaledLuong, LuongConfig, {"score": "dot"}),
    "Luong, general / √d": (ScaledLuong, LuongConfig, {"score": "general"}),
}


def start_as_recommended(model: nn.Module) -> None:
    """Initialise all recurrent weights orthogonal, and a forget gate open.

    Source: Saxe et al. 2014; Bahdanau et al. 2015, appendix B.1; Jozefowicz et al. 2015.
    """
    for cell in (module for module in model.modules() if isinstance(module, RNNCell)):
        for block in cell.recur.weight.chunk(cell.gates):
            nn.init.orthogonal_(block)
        if isinstance(cell, LSTMCell):
            nn.init.ones_(cell.recur.bias.chunk(cell.gates)[1])


def build_recurrent(name: str, seed: int = 0, **sizes: int) -> Any:
    """Build an untrained recurrent translator, whose weights were drawn in float64."""
    kind, config, choices = (MODELS | SCALED)[name]
    model = task().build(kind, config, seed, **choices, **sizes)
    start_as_recommended(model)
    return model.float()


def train_recurrent(
    name: str, rate: float, seed: int, steps: int = STEPS, hidden_dim: int = WIDTH
) -> Row:
    """Train one model and measure all columns of its table."""
    model = build_recurrent(name, seed, hidden_dim=hidden_dim)
    tokens = torch.full((1, 12), 5)
    counted = operations(model, tokens, tokens)
    train(model, steps, rate, seed)
    measured = measure(model, "" if "seq2seq" in name else "attention")
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
    """Time a training step of a model against one of the GRU, in turns of that many steps."""
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


def turned(examples: list[Example], reads: str) -> list[Example]:
    """Return the examples in the encoder's reading direction; translations stay unchanged."""
    step = {"left to right": 1, "right to left": -1}[reads]
    return [(src[::step], tgt) for src, tgt in examples]


def train_looks(reads: str, rate: float, seed: int) -> Row:
    """Train Luong's model with dot, and count where its strongest weights are, relative to gold."""
    model = build_recurrent("Luong, dot", seed)
    train(model, STEPS, rate, seed, turned(task().examples("train"), reads))
    row = {"reads": reads, "rate": rate, "seed": seed}
    row |= dict.fromkeys(("on_gold", "left", "right", "eos"), 0)
    for example, pair in zip(
        turned(task().examples("test"), reads), task().pairs["test"], strict=True
    ):
        one, last = Batch.of([example]), len(pair.src) - 1
        [weights] = forced_attention(model, one.src, one.tgt_in)["attention"]
        for t, strongest in enumerate(weights[0, 0].argmax(-1).tolist()[:-1]):
            if gold := [source for source, target in pair.alignment if target == t]:
                place = last - strongest if reads == "right to left" else strongest
                away = min((place - source for source in gold), key=abs)
                side = "on_gold" if away == 0 else "right" if away > 0 else "left"
                row["eos" if strongest > last else side] += 1
    return row


def make_recurrent(tables: Tables) -> None:
    """Seven recurrent translators, each at its best rate, with five fresh seeds.

    What would refute "attention is what long sentences need": a wider state or a longer training
    that does as well without it. Run for the GRU (`recurrent_budgets`): neither does. Of the
    sentences of 16 to 18 morphemes it then has about one in twenty right, Bahdanau's model nine in
    ten. What would refute "the score alone makes Bahdanau's lead": Luong's model as good with
    "concat". Run: it is behind on those sentences.
    """
    tune(tables, "recurrent", train_recurrent, MODELS, RATES)


def make_recurrent_scaled(tables: Tables) -> None:
    """Luong's model with its dot products divided by √d, as attention of today divides them.

    It is the other method for "concat is ahead of general because it can express more": general,
    as expressive as before, with scores of another size.
    """
    tune(tables, "recurrent_scaled", train_recurrent, SCALED, RATES)


def train_as_large(name: str, rate: float, seed: int) -> Row:
    """Train one of the narrower cells at the width that gives it the parameters of the LSTM."""
    return train_recurrent(name, rate, seed, hidden_dim=AS_LARGE[name])


def make_recurrent_as_large(tables: Tables) -> None:
    """The plain cell and the GRU with as many parameters as the LSTM, each at its best rate.

    It is the other method for "the LSTM is ahead of the GRU, and both of the plain cell", which was
    seen at equal width: there the LSTM has most parameters.
    """
    tune(tables, "recurrent_as_large", train_as_large, AS_LARGE, RATES)


def make_recurrent_budgets(tables: Tables) -> None:
    """The GRU without attention at its best rate, with other steps and other widths.

    What would refute "one vector is the bottleneck": twice the width or twice the steps with as
    much as attention brings (`attention_by_length`). Run: on the longest sentences no gain is seen.
    """
    name = "seq2seq, GRU"
    rate = tuned_rate(tables, "recurrent", train_recurrent, name, RATES)
    budgets = [(steps, WIDTH) for steps in BUDGETS] + [(STEPS, width) for width in WIDTHS]
    gru = [(name, rate, seed, *budget) for budget in budgets for seed in SEEDS]
    keys = ["model", "rate", "seed", "steps", "hidden_dim"]
    tables.extend("recurrent_budgets", train_recurrent, gru, keys)


def make_recurrent_looks(tables: Tables) -> None:
    """Where the strongest weights of Luong's model are, if its encoder reads to the right or left.

    What would refute "it looks right because its encoder reads to the right": misses to the right
    with an encoder that reads to the left. Run: then all five models miss to the left.
    """
    name = "Luong, dot"
    rate = tuned_rate(tables, "recurrent", train_recurrent, name, RATES)
    runs = [(reads, rate, seed) for reads in ("left to right", "right to left") for seed in SEEDS]
    tables.extend("recurrent_looks", train_looks, runs, ["reads", "rate", "seed"])


def make_recurrent_times(tables: Tables) -> None:
    """The time of a training step of every recurrent translator, beside the GRU's."""
    # One at a time: nothing else may run beside what is timed.
    times = [(name,) for name in MODELS]
    tables.extend("recurrent_times", time_recurrent, times, ["model"], workers=1)
