"""The record of the factor in the scores: the party of chapter 5, trained with three factors.

Eight children each draw a name, and answer which gift the child of that name has. One head of
self-attention learns it, its scores multiplied by 1, 1/√d_k or 1/d_k. Every model has the same
rates to choose from; the seeds that choose are not those that are reported. Two models test which
part of the factor matters, the initialisation or the step; the others, the matrices of query and
key.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.layers import FeedForward
from records.tables import Row, Tables

KINDS, CHILDREN, D_MODEL, D_V, SIZE = 16, 8, 32, 16, 32
EPS = 1e-8
STEPS, CARRIED = (100, 300, 1000), 300
WIDTHS = (16, 64, 256)
RATES = tuple(0.0005 * 2**k for k in range(8))
CHOOSING = (0, 1, 2)
FRESH = (10, 11, 12, 13, 14)
VALIDATION, TEST = 100, 200  # seeds of parties that no model is trained on
KEYS = ["model", "d_k", "rate", "seed"]


@dataclass(frozen=True)
class Kind:
    """How a model changes its scores; powers are those of √d_k."""

    factor: int = 0  # the scores are divided by this power
    start: int = 0  # so is W_Q, before training
    step: int = 0  # so is every step of W_Q
    matrices: str = "trained"  # or fixed: W_Q and W_K stay; shared: W_K is W_Q; none: X itself
    signs: bool = False  # half of the products count negative: symmetric scores, any on itself
    hidden: bool = False  # nobody sees their own card
    layers: int = 1  # with two, each is attention and a feed-forward network with shortcuts
    embeddings: float = 1.0  # their standard deviation at the start


FACTORS = {"1": Kind(), "1/√d_k": Kind(factor=1), "1/d_k": Kind(factor=2)}
PARTS = {"small start": Kind(start=1), "small step": Kind(step=1)}
MATRICES = {
    "fixed": Kind(factor=1, matrices="fixed"),
    "shared": Kind(factor=1, matrices="shared"),
}
SYMMETRIC = {
    "shared, own key hidden": Kind(factor=1, matrices="shared", hidden=True),
    "shared, with signs": Kind(factor=1, matrices="shared", signs=True),
    "shared, two layers": Kind(factor=1, matrices="shared", layers=2),
    "shared, two layers, own key hidden": Kind(factor=1, matrices="shared", hidden=True, layers=2),
}
ITSELF = {
    "itself": Kind(factor=1, matrices="none"),
    "itself, small": Kind(factor=1, matrices="none", embeddings=D_MODEL**-0.5),
}
MODELS = FACTORS | PARTS | MATRICES | SYMMETRIC | ITSELF


def shuffled(number: int, size: int, generator: torch.Generator) -> Tensor:
    """Draw eight different numbers below size, for each of that many parties."""
    return torch.rand(number, size, generator=generator).argsort(dim=-1)[:, :CHILDREN]


def parties(number: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw cards (number, 8, 3) with name, drawn name and gift, and the answers (number, 8)."""
    generator = torch.Generator().manual_seed(seed)
    name = shuffled(number, KINDS, generator)
    gift = shuffled(number, KINDS, generator)
    drawn, answer = name.roll(1, dims=1), gift.roll(1, dims=1)
    order = shuffled(number, CHILDREN, generator)
    rows = torch.arange(number)[:, None]
    return torch.stack([name, drawn, gift], dim=-1)[rows, order], answer[rows, order]


class Head(nn.Module):
    """One head of self-attention: what each child hears."""

    def __init__(self, kind: Kind, d_k: int) -> None:
        super().__init__()
        self.query: nn.Module = nn.Linear(D_MODEL, d_k, bias=False)
        self.key: nn.Module = nn.Linear(D_MODEL, d_k, bias=False)
        self.value: nn.Module = nn.Linear(D_MODEL, D_V, bias=False)
        self.scale = d_k ** (-kind.factor / 2)
        self.hidden = kind.hidden
        if kind.matrices == "none":
            self.query, self.key, self.value = nn.Identity(), nn.Identity(), nn.Identity()
            self.scale = D_MODEL**-0.5
        elif kind.matrices == "shared":
            self.key = self.query
        signs = torch.ones(d_k)
        signs[d_k // 2 if kind.signs else d_k :] = -1
        self.register_buffer("signs", signs)

    def roles(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the queries, keys and values of all children."""
        key = self.key(x)
        return self.query(x), key * self.signs if self.key is self.query else key, self.value(x)

    def forward(self, x: Tensor) -> Tensor:
        """Average the values by the weights of each child."""
        others = ~torch.eye(x.size(1), dtype=torch.bool) if self.hidden else None
        return F.scaled_dot_product_attention(*self.roles(x), attn_mask=others, scale=self.scale)


class Party(nn.Module):
    """One head of self-attention over the cards, and a matrix that makes logits for the gifts."""

    def __init__(self, kind: Kind, d_k: int) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(KINDS, D_MODEL) for _ in range(3))
        self.head = Head(kind, d_k)
        self.output = nn.Linear(D_MODEL if kind.matrices == "none" else D_V, KINDS)
        with torch.no_grad():
            for weight in self.embeddings.parameters():
                weight.mul_(kind.embeddings)
            for weight in self.head.query.parameters():
                weight.div_(d_k ** (kind.start / 2))

    def embedded(self, cards: Tensor) -> Tensor:
        """Sum the embeddings of name, drawn name and gift."""
        return torch.stack([e(cards[..., i]) for i, e in enumerate(self.embeddings)]).sum(0)

    def forward(self, cards: Tensor) -> Tensor:
        """Compute the logits of the gifts, for every child."""
        logits: Tensor = self.output(self.head(self.embedded(cards)))
        return logits

    @torch.no_grad()
    def on_itself(self, cards: Tensor) -> float:
        """Compute the mean weight that a child gives to itself, in the first layer."""
        query, key, _ = self.head.roles(self.embedded(cards))
        scores = query @ key.mT * self.head.scale
        if self.head.hidden:
            scores = scores.masked_fill(torch.eye(CHILDREN, dtype=torch.bool), -torch.inf)
        return float(scores.softmax(dim=-1).diagonal(dim1=-2, dim2=-1).mean())


class DeepParty(Party):
    """Several layers, each a head and a feed-forward network, normalised before both (pre-norm)."""

    def __init__(self, kind: Kind, d_k: int) -> None:
        super().__init__(kind, d_k)
        self.heads = nn.ModuleList([self.head, *(Head(kind, d_k) for _ in range(1, kind.layers))])
        self.joins = nn.ModuleList(nn.Linear(D_V, D_MODEL) for _ in self.heads)
        self.networks = nn.ModuleList(FeedForward(D_MODEL, 4 * D_MODEL) for _ in self.heads)
        self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL) for _ in range(2 * kind.layers + 1))
        self.output = nn.Linear(D_MODEL, KINDS)

    def forward(self, cards: Tensor) -> Tensor:
        """Compute the logits of the gifts, for every child."""
        x = self.embedded(cards)
        layers = zip(self.heads, self.joins, self.networks, strict=True)
        for number, (head, join, network) in enumerate(layers):
            before_head, before_network = self.norms[2 * number], self.norms[2 * number + 1]
            x = x + join(head(before_head(x)))
            x = x + network(before_network(x))
        logits: Tensor = self.output(self.norms[-1](x))
        return logits


def optimizer(model: Party, kind: Kind, d_k: int, rate: float) -> torch.optim.Adam:
    """Make Adam with one rate; W_Q takes smaller steps if the kind says so."""
    if kind.matrices == "fixed":
        for matrix in (model.head.query, model.head.key):
            matrix.requires_grad_(False)
    turned = [p for p in model.head.query.parameters() if p.requires_grad]
    others = [p for p in model.parameters() if p.requires_grad and all(p is not t for t in turned)]
    # A step of Adam is rate · mean / (root of the mean square + eps). Where W_Q is s times smaller,
    # its gradient is s times larger: with s · eps the quotient stays what it was.
    by = d_k ** (kind.step / 2)
    return torch.optim.Adam(
        [{"params": others}, {"params": turned, "lr": rate / by, "eps": EPS * by}],
        lr=rate, eps=EPS,
    )  # fmt: skip


def train_party(name: str, d_k: int, rate: float, seed: int) -> Row:
    """Train one model, and measure it at several steps on parties that it has not seen."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    kind = MODELS[name]
    torch.set_default_dtype(torch.float64)
    model = (DeepParty if kind.layers > 1 else Party)(
        kind, d_k
    ).float()  # drawn in float64, so that machines draw the same
    torch.set_default_dtype(torch.float32)
    adam = optimizer(model, kind, d_k, rate)
    cards, answers = parties(max(STEPS) * SIZE, seed)
    row: Row = dict(zip(KEYS, (name, d_k, rate, seed), strict=True))
    for step, part in enumerate(torch.arange(len(cards)).view(-1, SIZE), start=1):
        loss = F.cross_entropy(model(cards[part]).flatten(0, 1), answers[part].flatten())
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        if step in STEPS:
            row |= measure(model, step)
    row["on_itself"] = round(model.on_itself(parties(500, TEST)[0]), 3)
    return row


@torch.no_grad()
def measure(model: Party, step: int) -> Row:
    """Compute the loss at 500 parties, to choose a rate, and the share right at 500 others."""
    cards, answers = parties(500, VALIDATION)
    loss = F.cross_entropy(model(cards).flatten(0, 1), answers.flatten())
    cards, answers = parties(500, TEST)
    right = (model(cards).argmax(-1) == answers).float().mean()
    return {f"loss_{step}": round(float(loss), 4), f"right_{step}": round(float(right), 4)}


def best_rate(rows: list[Row], name: str, d_k: int, step: int) -> float:
    """Return the rate with the lowest mean loss after some steps, over the seeds that choose."""
    losses: dict[float, float] = {}
    for row in rows:
        if (row["model"], int(row["d_k"])) == (name, d_k) and int(row["seed"]) in CHOOSING:
            rate = float(row["rate"])
            losses[rate] = losses.get(rate, 0.0) + float(row[f"loss_{step}"])
    return min(losses, key=lambda rate: losses[rate])


def rates_of(name: str) -> tuple[float, ...]:
    """Return the rates that are tried; every second one tells what can be learned."""
    if name in SYMMETRIC:
        return RATES[:6]
    return RATES if name in FACTORS | PARTS else RATES[1::2]


def fresh_rates(rows: list[Row], name: str, d_k: int) -> list[float]:
    """Return the rates at which the fresh seeds train: the best one after each number of steps.

    With a factor also the best one of the narrowest head after 300 steps, transferred to this one.
    """
    found = {best_rate(rows, name, d_k, step) for step in STEPS}
    if name in FACTORS:
        found.add(best_rate(rows, name, min(WIDTHS), CARRIED))
    return sorted(found)


def make_scaling(tables: Tables) -> None:
    """Three factors at three widths, the parts of the factor, and the role of the matrices.

    What would refute "the factor saves time": that the head without one is worse by two percentage
    points after 1,000 steps, each at its best rate. It is worse by 0.2 at d_k = 256, and by less
    at 16 and 64. What would refute "a smaller W_Q and smaller steps make the same run": a loss that
    differs. None of 300 does. "W_Q and W_K have learned who belongs together" was refuted: with
    both fixed at their random initialisation, the questions are answered as well.
    """
    models = [(name, d_k) for d_k in WIDTHS for name in FACTORS]
    models += [(name, max(WIDTHS)) for name in (*PARTS, *MATRICES)]
    models += [(name, D_MODEL) for name in ("shared", *SYMMETRIC, *ITSELF)]
    runs = [
        (*model, rate, seed) for model in models for rate in rates_of(model[0])
        for seed in CHOOSING
    ]  # fmt: skip
    rows = tables.extend("scaling", train_party, runs, KEYS, workers=1)
    runs += [
        (*model, rate, seed) for model in models for rate in fresh_rates(rows, *model)
        for seed in FRESH
    ]  # fmt: skip
    tables.extend("scaling", train_party, runs, KEYS, workers=1)
