"""The components in which Bahdanau's and Luong's models differ, exchanged one by one.

With the additive score on both sides, three components are left, and each is more than one change.
The encoder reads in both directions and initialises the decoder by a separate layer, so that its
memory is twice as wide, or it reads only to the right and passes its last state on. The decoder
attends before the step, so that the query is the previous state and the context enters the
recurrence, or after it. The previous word enters the readout, or not. All eight combinations are
trained, on captions, and Bahdanau's and Luong's models with an encoder of two halves: both
directions, with a memory no wider than that of one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.bahdanau import (
    AdditiveAttention,
    AttentionState,
    Bahdanau,
    BidirectionalEncoder,
)
from annotated_transformer.masking import padding_mask
from annotated_transformer.recurrent import RecurrentLayer, make_cell
from annotated_transformer.seq2seq import RecurrentConfig
from annotated_transformer.tokens import PAD
from records import captions, race
from records.recurrent import start_as_recommended
from records.tables import Row, Tables
from records.trials import TRIAL, tune

MINUTES = 1  # of one core for each training
RATES = (4e-3, 8e-3, 1.6e-2)
WARMUP, DROPOUT = 200, 0.0
"""Not tuned: with these, both models came near their best in the race for one minute."""
PARTS = {
    "encoder": ("both directions", "one direction"),
    "context": ("before the step", "after the step"),
    "readout": ("with the word", "without the word"),
}
"""For each component first Bahdanau's choice, then Luong's."""
HALVES = "two halves"
COMBINATIONS = [", ".join(chosen) for chosen in product(*PARTS.values())]
"""All combinations: Bahdanau's model is the first, Luong's the last."""
MODELS = [
    *COMBINATIONS,
    *(", ".join([HALVES, *name.split(", ")[1:]]) for name in (COMBINATIONS[0], COMBINATIONS[-1])),
]


@dataclass(frozen=True)
class PartsConfig(RecurrentConfig):
    """The sizes of a model, and which of the components are as in Bahdanau's."""

    encoder: str = PARTS["encoder"][0]
    attends_first: bool = True
    word_in_readout: bool = True


class Readout(nn.Linear):
    """A linear layer that reads as many of the first numbers as it has weights for."""

    def forward(self, x: Float[Tensor, "*batch all"]) -> Float[Tensor, "*batch d_model"]:
        """Compute W x + b of the first numbers; the last, the previous word, may be left out."""
        return super().forward(x[..., : self.in_features])


class Parts(Bahdanau):
    """Bahdanau's model, of which a component may be Luong's instead."""

    def __init__(self, config: PartsConfig) -> None:
        super().__init__(config)
        self.parts, cell = config, config.cell
        d_model, hidden = config.d_model, config.hidden_dim
        both, one = PARTS["encoder"]
        memory = hidden * (2 if config.encoder == both else 1)
        if config.encoder == HALVES:
            self.encoder = BidirectionalEncoder(cell, d_model, hidden // 2)
            self.bridge = nn.Linear(hidden // 2, hidden)
        if config.encoder == one:
            self.encoder = RecurrentLayer(cell, d_model, hidden)
            del self.bridge
        if config.attends_first:
            self.decoder = make_cell(cell, d_model + memory, hidden)
        else:
            self.decoder = RecurrentLayer(cell, d_model, hidden)
        self.attention = AdditiveAttention(hidden, memory, hidden)
        word = d_model if config.word_in_readout else 0
        self.readout = Readout(hidden + memory + word, d_model)

    def start(self, src: Int[Tensor, "batch src"]) -> AttentionState:
        """Read the source sentences; return the state before the first target token."""
        if self.parts.encoder != PARTS["encoder"][1]:
            return super().start(src)
        memory, last = self.encoder(self.dropout(self.src_embedding(src)), src != PAD)
        return AttentionState(memory, self.attention.keys(memory), padding_mask(src)[:, 0], last)

    def extend(
        self, state: AttentionState, tokens: Int[Tensor, "batch tgt"]
    ) -> tuple[Float[Tensor, "batch tgt vocab"], AttentionState]:
        """Read ``tokens``; return the logits of the token after each, and the new state."""
        if self.parts.attends_first:
            return super().extend(state, tokens)
        embedded = self.dropout(self.tgt_embedding(tokens))
        hidden, last = self.decoder(embedded, tokens != PAD, state.decoder)
        context = self.attention(hidden, state.keys, state.memory, state.mask)
        readout = torch.tanh(self.readout(torch.cat([hidden, context, embedded], dim=-1)))
        return self.output(self.dropout(readout)), replace(state, decoder=last)


def config_of(name: str, **sizes: Any) -> PartsConfig:
    """Make the configuration of a combination, with these sizes."""
    encoder, context, readout = name.split(", ")
    return PartsConfig(
        encoder=encoder,
        attends_first=context == PARTS["context"][0],
        word_in_readout=readout == PARTS["readout"][0],
        **sizes,
    )


def build(name: str, seed: int) -> Parts:
    """Build a new model with the sizes of the race."""
    torch.manual_seed(seed)
    vocabularies = dict(zip(("src_vocab", "tgt_vocab"), map(len, race.vocabularies()), strict=True))
    sizes = captions.caption_recipe("bahdanau").sizes | {"dropout": DROPOUT}
    model = Parts(config_of(name, **vocabularies, **sizes))
    start_as_recommended(model)
    return model


def time_parts(name: str, turn: int) -> Row:
    """Time one step of a combination, in one of the rounds."""
    torch.set_num_threads(1)
    seconds = race.seconds_of_step(build(name, TRIAL), race.TIMED_STEPS)
    return {"model": name, "round": turn, "seconds_per_step": round(seconds, 4)}


def train_parts(steps: dict[str, int], name: str, rate: float, seed: int) -> Row:
    """Train one combination; measure it after as many steps as all have, and after its own."""
    torch.set_num_threads(1)
    model, goals = build(name, seed), (min(steps.values()), steps[name])
    passing = race.stages(model, rate, WARMUP, seed, goals)
    after_equal, after_own = (race.perplexity_on("val", average) for average, _ in passing)
    return {
        "model": name,
        **dict(zip(PARTS, name.split(", "), strict=True)),
        "rate": rate,
        "seed": seed,
        "steps": steps[name],
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "val_perplexity": after_own,
        "equal_steps": goals[0],
        "val_perplexity_equal_steps": after_equal,
    }


def make_speeds(tables: Tables) -> dict[str, int]:
    """The time of a training step of each combination, in seven rounds of all ten."""
    tasks = [(name, turn) for turn in range(race.ROUNDS) for name in MODELS]
    rows = tables.extend("race_parts_speed", time_parts, tasks, ["model", "round"])
    return steps_in(rows)


def steps_in(rows: Iterable[Row]) -> dict[str, int]:
    """Compute how many steps of each combination fit into the minute, by its median time."""
    found = captions.median_seconds(rows, "model")
    return {name: race.steps_within(MINUTES, seconds) for (name,), seconds in found.items()}


def make_parts(tables: Tables) -> list[Row]:
    """Bahdanau's and Luong's models and all between them: three components, exchanged one by one.

    What would refute that a component is worth its time: a lower perplexity without it after the
    same minute. That the model learns more from each step: a lower one after the same steps. The
    learning rate is tuned for either question. Run: the word in the readout is worth its time, the
    other two of Bahdanau's components are not; after the same 185 steps his model and Luong's no
    longer differ. That a step's cost decides would be refuted by a difference after more steps: in
    the race, after 1,157 and 960 of them, their perplexities are 7.9 and 7.8.
    """
    train = partial(train_parts, make_speeds(tables))
    for criterion in ("val_perplexity", "val_perplexity_equal_steps"):
        rows = tune(tables, "race_parts", train, MODELS, RATES, criterion)
    return rows
