"""The record of windows and sinks: language models that read on when their cache is cut."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.capture import capture_attention
from annotated_transformer.language_model import LanguageModel
from annotated_transformer.tokens import BOS
from records.lengths import STRIDE, build_reader, text, trained
from records.tables import Row, Tables
from records.trials import SEEDS, TRIAL, best_rate, tune

LENGTH, STEPS, SCORED, ORDERS, RATES = 128, 250, 32, 2, (4e-3, 8e-3, 16e-3)
FIRST: dict[str, Any] = {"any": None, "bos": BOS, "bos, logit": BOS}
"""What texts begin with, by model; the last one has a learned sink logit in each head."""
KEPT: dict[str, list[int]] = {"none": [], "first": [0], "second": [1]}
WINDOWS = (8, 16)
REPORTED = range(11, 16)
MORE = range(16, 21)
"""For the models with a sink, which differ by much: their first five left the answer open, and all
seeds up to 10 were looked at before window and number of seeds were chosen. They report nothing."""


class CutAttention(ScaledDotProductAttention):
    """Attention to the last tokens, and to some that are kept; the logit is that of no token."""

    def __init__(self, logit: Tensor) -> None:
        super().__init__()
        self.logit, self.window = logit, LENGTH
        self.kept: list[int] = []

    def weights(self, query: Tensor, key: Tensor, mask: Any = None) -> Tensor:
        """Compute the weights of tokens, which sum to less than 1 if the logit has some."""
        at = torch.arange(key.size(2))
        near = at[:, None] - at < self.window
        near[:, self.kept] = True
        scores = self.scores(query, key).masked_fill(~(near & mask), -torch.inf)
        logit = self.logit.expand(*scores.shape[:-1], 1)
        return torch.cat([scores, logit], dim=-1).softmax(dim=-1)[..., :-1]

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Tensor:
        """Compute the weighted sum of the values for every query."""
        return self.weights(query, key, mask) @ value


@torch.no_grad()
def loss_of(model: LanguageModel, windows: Tensor) -> float:
    """The loss of the last tokens of texts, in nats."""
    logits = model(windows[:, :-1])[:, -SCORED:]
    return F.cross_entropy(logits.mT, windows[:, -SCORED:]).item()


def train_cut(name: str, rate: float, seed: int) -> Row:
    """Train with all tokens in sight; the loss that each window adds, by the tokens kept."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    model, cuts = build_reader("rotary", seed), []
    for layer in model.decoder:
        logit = torch.full((model.config.num_heads, 1, 1), -torch.inf)
        cuts.append(CutAttention(nn.Parameter(0 * logit.exp()) if "logit" in name else logit))
        layer.self_attention.attention = cuts[-1]  # type: ignore[union-attr]
    trained(model, LENGTH, STEPS, rate, seed, FIRST[name])
    row: Row = {"model": name, "rate": rate, "seed": seed}
    for split in ("val", "test"):
        windows = torch.cat([text(split, o).unfold(0, LENGTH + 1, STRIDE) for o in range(ORDERS)])
        if FIRST[name] is not None:
            windows[:, 0] = FIRST[name]
        row[f"{split}_loss"] = round(loss_of(model, windows), 4)
    with capture_attention(model) as captured, torch.no_grad():
        model(windows[:, :-1])
    on_first = [calls[0][:, :, -SCORED:, 0].mean(dim=(0, 2)) for calls in captured.values()]
    row["on_first"] = round(torch.cat(on_first).max().item(), 4)  # of the head with the largest
    for window in WINDOWS:
        for kept, positions in KEPT.items():
            for cut in cuts:
                cut.window, cut.kept = window, positions
            added = "" if seed == TRIAL else round(loss_of(model, windows) - row["test_loss"], 4)
            row[f"{kept}_{window}"] = added  # trials choose a rate, and nothing else
    return row


def make_sinks(tables: Tables) -> None:
    """Language models of English text whose cache is cut to a window, with and without sinks.

    What would refute "where texts begin with BOS, a window does harm because BOS leaves": another
    early token that helps as much (columns of `second`), or texts without such a token that suffer
    alike (`any`). Run: neither. The other method are models with a learned logit for no token
    (`bos, logit`), which need no sink if weight only has to go somewhere; whether they have one,
    five runs do not tell.
    """
    trials = tune(tables, "sinks", train_cut, ["bos"], RATES, "val_loss")
    rate = best_rate(trials, "bos", "val_loss")
    runs = [(name, rate, seed) for name in FIRST for seed in [*SEEDS, *REPORTED]]
    runs += [("bos", rate, seed) for seed in [*range(6, 11), *MORE]]
    tables.extend("sinks", train_cut, runs, ["model", "rate", "seed"])
