"""The records of experts: small language models whose feed-forward networks they replace.

A model reads one stream of sentence pairs, English and then Korean, and predicts every token. Its
feed-forward networks are narrow, so that more parameters could help.
"""

from functools import cache
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.experts import Experts, Router, Routing
from annotated_transformer.language_model import LanguageModel, LanguageModelConfig
from annotated_transformer.layers import FeedForward
from annotated_transformer.tokens import EOS
from records.fitting import fit
from records.tables import Row, Tables
from records.toy_training import task
from records.trials import tune
from transformer_workbook.notebook import drawn_in_float64

WINDOW, BATCH, STEPS, WARMUP = 32, 16, 600, 50
LOSS, STEP = 0.01, 0.003  # the weight of the auxiliary loss; how far a bias moves in one step
RATES = (8e-3, 16e-3, 32e-3)
MODELS: dict[str, tuple[int, int, int, str]] = {  # d_ff, experts, k, how they are balanced
    "dense": (4, 1, 1, ""),
    "dense, as large": (32, 1, 1, ""),
    "4 experts": (4, 4, 1, "loss"),
    "8 experts": (4, 8, 1, "loss"),
    "16 halves": (2, 16, 2, "loss"),
    "no balance": (4, 8, 1, ""),
    "bias": (4, 8, 1, "bias"),
    "frozen": (4, 8, 1, "frozen"),
}
CLASSES = {"N": 0, "ADJ": 1, "VT": 2, "VI": 3, "VS": 4, "VD": 5}
"""Of content words: nouns, adjectives, and verbs with an object, none, a clause, two objects."""


@cache
def stream(split: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the tokens of a split in one row, the places of content words, and their classes."""
    tokens: list[int] = []
    found: list[tuple[int, int]] = []
    first = len(task().src_vocabulary)  # Korean ids follow the English ones
    for pair, (src, tgt) in zip(task().pairs[split], task().examples(split), strict=True):
        names = enumerate(pair.template.split(), start=len(tokens))
        found += [(place, CLASSES[name]) for place, name in names if name in CLASSES]
        tokens += [*src, EOS, *(first + token for token in tgt), EOS]
    places, classes = torch.tensor(found).unbind(1)
    return torch.tensor(tokens), places, classes


def build(name: str, seed: int) -> LanguageModel:
    """Build an untrained model, with experts in place of its feed-forward networks."""
    d_ff, number, k, how = MODELS[name]
    size = sum(map(len, task().vocabularies))
    with drawn_in_float64():
        torch.manual_seed(seed)
        model = LanguageModel(LanguageModelConfig(
            size, size, d_model=32, num_layers=2, num_heads=4, d_ff=d_ff, dropout=0.0,
            norm_position="pre", max_length=WINDOW, has_source=False,
        ))  # fmt: skip
        for layer in cast(Any, model.decoder) if number > 1 else ():
            experts = Experts(32, [FeedForward(32, d_ff) for _ in range(number)], k)
            experts.router.requires_grad_(how != "frozen")
            for parameter in experts.parameters():
                if parameter.dim() == 2:
                    nn.init.xavier_uniform_(parameter)
            layer.feed_forward = experts
    return model.float()


def explained(experts: Tensor, groups: Tensor) -> float:
    """Compute the share of the entropy of the experts that the groups of their tokens explain."""
    joint = torch.zeros(int(groups.max()) + 1, int(experts.max()) + 1, dtype=torch.float64)
    joint = joint.index_put((groups, experts), torch.tensor(1.0).double(), accumulate=True)
    cells, by_group, by_expert = (
        torch.special.entr(p / len(experts)).sum().item()
        for p in (joint, joint.sum(1), joint.sum(0))
    )
    return (by_group + by_expert - cells) / by_expert


def specialised(model: LanguageModel, kept: dict[Router, Routing], end: str) -> Row:
    """Measure, in the last layer, how far a content word and its class determine the expert.

    The third number is of classes of the same sizes to which the words were dealt at random.
    """
    tokens, places, classes = stream("train")
    windows = tokens[: 1000 * WINDOW].view(-1, WINDOW)
    with torch.no_grad():
        model(windows)
    number = int((places < windows.numel()).sum())
    words, classes = tokens[places[:number]], classes[:number]
    experts = kept[list(kept)[-1]].chosen[places[:number], 0]
    usual = torch.zeros(int(words.max()) + 1, dtype=torch.long).index_put((words,), classes)
    kinds, generator = words.unique(), torch.Generator().manual_seed(0)
    chance = []
    for _ in range(20):
        dealt = usual.index_put(
            (kinds,), usual[kinds[torch.randperm(len(kinds), generator=generator)]]
        )
        chance.append(explained(experts, dealt[words]))
    shares = explained(experts, words), explained(experts, classes), sum(chance) / len(chance)
    return {
        f"{of}{end}": round(share, 4)
        for of, share in zip(("word", "class", "chance"), shares, strict=True)
    }


@cache
def trained(name: str, rate: float, seed: int) -> tuple[LanguageModel, dict[Router, Routing], Row]:
    """Train one model; what its routers decided last, and what they decided before training."""
    torch.set_num_threads(1)
    how, tokens = MODELS[name][-1], stream("train")[0]
    model, kept = build(name, seed), dict[Router, Routing]()
    for module in model.modules():
        if isinstance(module, Router):
            module.register_forward_hook(lambda router, _, routing: kept.update({router: routing}))
    loss_of(model, "val")
    before = specialised(model, kept, "_untrained") if kept else {}

    def loss_at(step: int) -> Tensor:
        start = torch.randint(len(tokens) - WINDOW, (BATCH, 1))
        windows = tokens[start + torch.arange(WINDOW + 1)]
        loss = F.cross_entropy(model(windows[:, :-1]).mT, windows[:, 1:])
        for router, routing in kept.items():
            if how == "loss":
                loss = loss + LOSS * routing.imbalance
            elif how == "bias":
                router.balance(routing, STEP)
        return loss

    torch.manual_seed(seed)  # the same batches for every model
    fit(model, rate, STEPS, WARMUP, loss_at)
    return model, kept, before


@torch.no_grad()
def loss_of(model: LanguageModel, split: str) -> float:
    """Compute the mean cross-entropy of the tokens of a split, but the first of each window."""
    tokens = stream(split)[0]
    windows = tokens[: len(tokens) // (WINDOW + 1) * (WINDOW + 1)].view(-1, WINDOW + 1)
    return F.cross_entropy(model(windows[:, :-1]).mT, windows[:, 1:]).item()


def train_experts(name: str, rate: float, seed: int) -> Row:
    """Train one model; its loss, and how its experts share the tokens, the busiest first."""
    model, kept, before = trained(name, rate, seed)
    row: Row = {"model": name, "rate": rate, "seed": seed}
    row["parameters"] = sum(p.numel() for p in model.parameters())
    row["val_loss"] = round(loss_of(model, "val"), 4)
    columns = ["busiest", "used", "unused"]
    row |= dict.fromkeys([*columns, *(f"load_{n}" for n in range(1, 9))], "")
    if kept:
        loads = torch.stack([routing.load for routing in kept.values()]).double()  # (layer, expert)
        used = torch.special.entr(loads).sum(dim=-1).exp().mean().item()
        unused = (loads == 0).sum(dim=-1).double().mean().item()
        row |= dict(
            zip(
                columns,
                (round(loads.amax(-1).mean().item(), 4), round(used, 3), unused),
                strict=True,
            )
        )
        mean = loads.sort(descending=True).values.mean(dim=0)[:8].tolist()
        row |= {f"load_{n}": round(share, 4) for n, share in enumerate(mean, start=1)}
    ends = [f"{of}{end}" for end in ("", "_untrained") for of in ("word", "class", "chance")]
    return row | dict.fromkeys(ends, "") | (specialised(model, kept, "") | before if kept else {})


def make_experts(tables: Tables) -> None:
    """Language models with a feed-forward network, a large one, or experts in its place.

    What would refute "experts help because each learns a part": a dense network with as many
    parameters, and a router that stays as it was drawn. Both were run, tuned like the others.
    """
    tune(tables, "experts", train_experts, MODELS, RATES, "val_loss")
