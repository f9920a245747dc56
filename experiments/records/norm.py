"""The record of post-norm and pre-norm, with and without warm-up, at two depths.

What was fixed before the runs: a run has *learned* when 95 % of the symbols were right in twenty
steps in a row; then it ends. One that has not learned after 800 steps counts as 800. The score
of a run is the share of symbols right over the 800 steps; those after the end count as right. A
first trial has all rates; the two with the best scores get a second trial with another seed, and
the better mean score wins. What is reported of it comes from five other seeds. (The second trial
was added later: a single one had chosen, for pre-norm with 6 layers and warm-up, a rate at which
four of five other seeds then failed.)

The initial weights are Xavier's, as in the Transformer of the package and in Xiong et al. 2020.
What would refute "it is the order of the norms": that other initial weights change the outcome as
much. So the deeper post-norm stack without warm-up also runs with PyTorch's own, smaller weights.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import SinusoidalPositionalEncoding
from records.tables import Row, Tables

SYMBOLS, LENGTH, D_MODEL, D_FF, HEADS = 16, 8, 32, 64, 4
STEPS, EVERY, SENTENCES, WARMUP = 800, 20, 32, 100
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
TRIAL_SEEDS, SEEDS = (0, 1), (10, 11, 12, 13, 14)
"""The seeds that choose a rate, and those that are reported."""
LEARNED = 0.95
"""A run has learned when this share of the symbols was right in 20 steps in a row."""
PLATEAU = (0.22, 0.28)
"""A run is on a plateau at about a quarter while between these shares of 20 steps are right."""
NORM_POSITIONS, DEPTHS = ("post", "pre"), (6, 12)
KINDS = [
    (position, depth, warmup, "xavier")
    for depth in DEPTHS for position in NORM_POSITIONS for warmup in (0, WARMUP)
] + [("post", 12, 0, "pytorch")]  # fmt: skip
KEYS = ["norm", "layers", "warmup", "init", "rate", "seed"]
Kind = tuple[str, int, int, str]
"""Norm, layers, steps of warm-up, initialisation."""


class Reverser(nn.Module):
    """An encoder that predicts a row of symbols in reverse order."""

    def __init__(self, norm_position: str, num_layers: int, init: str = "xavier") -> None:
        super().__init__()
        self.symbols = nn.Embedding(SYMBOLS, D_MODEL)
        self.positions = SinusoidalPositionalEncoding(LENGTH, D_MODEL)
        self.layers = nn.ModuleList(
            EncoderLayer(
                MultiHeadAttention(D_MODEL, HEADS),
                FeedForward(D_MODEL, D_FF),
                lambda: Residual(D_MODEL, 0.0, norm_position),
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(D_MODEL) if norm_position == "pre" else nn.Identity()
        self.output = nn.Linear(D_MODEL, SYMBOLS)
        self.mask = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool)
        for parameter in self.layers.parameters():
            if init == "xavier" and parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def vectors(self, ids: Tensor) -> Tensor:
        """Compute the vectors after the last layer, not yet normalised in pre-norm."""
        x: Tensor = self.positions(self.symbols(ids))
        for layer in self.layers:
            x = layer(x, self.mask)
        return x

    def forward(self, ids: Tensor) -> Tensor:
        """Compute the logits of the symbol to predict at each position."""
        logits: Tensor = self.output(self.norm(self.vectors(ids)))
        return logits


def new_rows() -> Tensor:
    """Draw rows of symbols that were never seen."""
    return torch.randint(SYMBOLS, (SENTENCES, LENGTH))


def are_most_frequent(ids: Tensor, said: Tensor) -> Tensor:
    """Tell whether no symbol of the row occurs more often than the predicted one."""
    counts = F.one_hot(ids, SYMBOLS).sum(1)
    return counts.gather(1, said) == counts.amax(1, keepdim=True)


def apart(vectors: Tensor) -> float:
    """Measure the distance of the vectors from their mean, relative to their length."""
    x = vectors.flatten(0, 1)
    return ((x - x.mean(0)).norm() / x.norm()).item()


def train_reverser(
    norm_position: str, num_layers: int, warmup: int, init: str, rate: float, seed: int
) -> Row:
    """Train one encoder until it has learned; every 20 steps, record the share that was right."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    model = Reverser(norm_position, num_layers, init)
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-6, fused=True)
    settings = (norm_position, num_layers, warmup, init, rate, seed)
    shares: list[float] = []
    waiting: list[float] = []  # the share of most frequent symbols, while about a quarter is right
    right = frequent = 0
    for step in range(1, STEPS + 1):
        ids = new_rows()
        logits, target = model(ids), ids.flip(1)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.param_groups[0]["lr"] = rate * min(1.0, step / max(1, warmup))
        adam.step()
        said = logits.argmax(-1)
        right += int((said == target).sum())
        frequent += int(are_most_frequent(ids, said).sum())
        if step % EVERY == 0:
            shares.append(right / (EVERY * SENTENCES * LENGTH))
            if PLATEAU[0] <= shares[-1] <= PLATEAU[1]:
                waiting.append(frequent / (EVERY * SENTENCES * LENGTH))
            right = frequent = 0
            if shares[-1] >= LEARNED:
                break
    windows = STEPS // EVERY
    row: Row = dict(zip(KEYS, settings, strict=True))
    row["learned_at"] = step if shares[-1] >= LEARNED else ""
    row["score"] = round((sum(shares) + windows - len(shares)) / windows, 4)
    with torch.no_grad():
        row["apart"] = f"{apart(model.vectors(new_rows())):.1e}"
    row["waits"] = EVERY * len(waiting)
    row["most_frequent"] = round(sum(waiting) / len(waiting), 3) if waiting else ""
    shares += [float("nan")] * (windows - len(shares))
    for window, share in enumerate(shares, 1):
        row[f"step_{EVERY * window}"] = "" if share != share else round(share, 3)
    return row


def rates_of(kind: Kind) -> tuple[float, ...]:
    """Return the rates that are tried; one more, where the best of the others was the lowest."""
    return (1e-4, *RATES) if kind == ("post", 12, 0, "xavier") else RATES


def best_rates(rows: list[Row], kind: Kind, seeds: tuple[int, ...]) -> list[float]:
    """Return the rates that all these seeds tried, the one with the best mean score first."""
    scores: dict[float, list[float]] = {}
    for row in rows:
        same = [str(row[key]) for key in KEYS[:4]] == [str(value) for value in kind]
        if same and int(row["seed"]) in seeds:
            scores.setdefault(float(row["rate"]), []).append(float(row["score"]))
    tried = [rate for rate, found in scores.items() if len(found) == len(seeds)]
    return sorted(tried, key=lambda rate: -sum(scores[rate]))


def make_norms(tables: Tables) -> None:
    """How soon post-norm and pre-norm learn, with and without warm-up, at two depths.

    Refuted if other initial weights made as large a difference as the order of the norms. Run: the
    deeper post-norm stack without warm-up, with PyTorch's smaller weights. It learned with each of
    the five seeds; with Xavier's weights it learned with none, with warm-up or without. So the book
    states its result on the two orders only together with the initialisation.
    """
    first, second = TRIAL_SEEDS
    tasks = [(*kind, rate, first) for kind in KINDS for rate in rates_of(kind)]
    rows = tables.extend("norms", train_reverser, tasks, KEYS, workers=1)
    for kind in KINDS:
        tasks += [(*kind, rate, second) for rate in best_rates(rows, kind, (first,))[:2]]
    rows = tables.extend("norms", train_reverser, tasks, KEYS, workers=1)
    for kind in KINDS:
        best, *_ = best_rates(rows, kind, TRIAL_SEEDS)
        tasks += [(*kind, best, seed) for seed in SEEDS]
    tables.extend("norms", train_reverser, tasks, KEYS, workers=1)
