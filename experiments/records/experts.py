"""The records of experts: small language models whose feed-forward networks they replace.

A model reads one stream of sentence pairs, English and then Korean, and predicts every token. Each
layer has eight experts, and a token uses one.
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
from records.tables import Row, Tables, with_seeds
from records.toy_training import task
from transformer_workbook.notebook import drawn_in_float64

WINDOW, BATCH, STEPS, WARMUP, RATE = 32, 16, 600, 50, 0.016
WIDTH, LOSS, LAST = 32, 0.01, 20  # of an expert; weight of its loss; batches whose loads are kept
MODELS = "loss", "no balance", "frozen"
CLASSES = {name: number for number, name in enumerate(("N", "ADJ", "VT", "VI", "VS", "VD"))}
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
    size = sum(map(len, task().vocabularies))
    with drawn_in_float64():
        torch.manual_seed(seed)
        model = LanguageModel(LanguageModelConfig(
            size, size, d_model=32, num_layers=2, num_heads=4, d_ff=WIDTH, dropout=0.0,
            norm_position="pre", max_length=WINDOW, has_source=False,
        ))  # fmt: skip
        for layer in cast(Any, model.decoder):
            experts = Experts(32, [FeedForward(32, WIDTH) for _ in range(8)], 1)
            experts.router.requires_grad_(name != "frozen")
            for parameter in experts.parameters():
                if parameter.dim() == 2:
                    nn.init.xavier_uniform_(parameter)
            layer.feed_forward = experts
    return model.float()


@torch.no_grad()
def loss_of(model: LanguageModel) -> float:
    """Compute the mean cross-entropy of held-out tokens, but the first of each window."""
    tokens = stream("val")[0]
    windows = tokens[: len(tokens) // (WINDOW + 1) * (WINDOW + 1)].view(-1, WINDOW + 1)
    return F.cross_entropy(model(windows[:, :-1]).mT, windows[:, 1:]).item()


def explained(experts: Tensor, groups: Tensor) -> float:
    """Compute the share of the entropy of the experts that the groups of their tokens explain."""
    joint = torch.zeros(int(groups.max()) + 1, int(experts.max()) + 1).double()
    joint.index_put_((groups, experts), torch.ones(len(experts)).double() / len(experts), True)
    by_group, by_expert = joint.sum(1), joint.sum(0)
    cells, groups, experts = (torch.special.entr(p).sum() for p in (joint, by_group, by_expert))
    return ((groups + experts - cells) / experts).item()


@torch.no_grad()
def specialised(model: LanguageModel, kept: dict[Router, Routing], end: str) -> Row:
    """Measure, in the last layer, how far a content word and its class determine the expert.

    The third number is of classes of the same sizes to which the words were dealt at random.
    """
    tokens, places, classes = stream("train")
    model(tokens[: 1000 * WINDOW].view(-1, WINDOW))
    places = places[places < 1000 * WINDOW]
    words, classes = tokens[places], classes[: len(places)]
    experts = kept[list(kept)[-1]].chosen[places, 0]
    kinds, generator = cast(Any, words).unique(), torch.Generator().manual_seed(0)
    usual = torch.zeros(int(words.max()) + 1, dtype=torch.long).index_put((words,), classes)
    chance = []
    for _ in range(20):
        dealt = kinds[torch.randperm(len(kinds), generator=generator)]
        chance.append(explained(experts, usual.index_put((kinds,), usual[dealt])[words]))
    shares = explained(experts, words), explained(experts, classes), sum(chance) / len(chance)
    names = (f"{of}{end}" for of in ("word", "class", "chance"))
    return {name: round(share, 4) for name, share in zip(names, shares, strict=True)}


def train_experts(name: str, seed: int) -> Row:
    """Train one model; its loss, the share of its least used expert, and what they depend on."""
    torch.set_num_threads(1)
    tokens, kept = stream("train")[0], dict[Router, Routing]()
    model, loads = build(name, seed), dict[Router, list[Tensor]]()
    for module in model.modules():
        if isinstance(module, Router):
            module.register_forward_hook(lambda router, _, routing: kept.update({router: routing}))

    def loss_at(step: int) -> Tensor:
        start = torch.randint(len(tokens) - WINDOW, (BATCH, 1))
        windows = tokens[start + torch.arange(WINDOW + 1)]
        loss = F.cross_entropy(model(windows[:, :-1]).mT, windows[:, 1:])
        for router, routing in kept.items():
            loads.setdefault(router, []).append(routing.load)
            if name == "loss":
                loss = loss + LOSS * routing.imbalance
        return loss

    loss_of(model)  # its routers are now in ``kept``
    before = specialised(model, kept, "_untrained")
    torch.manual_seed(seed)  # the same batches for every model
    fit(model, RATE, STEPS, WARMUP, loss_at)
    row: Row = {"model": name, "seed": seed, "val_loss": round(loss_of(model), 4)}
    means = [torch.stack(shares[-LAST:]).mean(dim=0).double() for shares in loads.values()]
    used = sum(torch.special.entr(mean).sum().exp().item() for mean in means) / len(means)
    row |= {"used": round(used, 3), "least": round(min(m.min().item() for m in means), 5)}
    return row | specialised(model, kept, "") | before


def make_experts(tables: Tables) -> None:
    """Language models with eight experts in each layer, of which a token uses one.

    What would refute "nobody is forgotten": the least used expert of a layer. And "a router learns
    to send each class of words to its experts": one that stays as it was drawn.
    """
    tables.extend("experts", train_experts, with_seeds(dict.fromkeys(MODELS, 5)), ["model", "seed"])
