"""The record of lesson 24's experts, trained as on its page: they read eight secret alphabets.

Before these runs, but after trials of weight, rate and width with a few seeds (1 to 5), in other
code: the page's arm (eight of 8) counts if 95 of 100 letters are right in 19 of 20 runs. A rival
fails if it stays below 85 of 100 or, where experts read letters alone, if what is possible by
counting does.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer import toy
from annotated_transformer.experts import Router, Routing
from annotated_transformer.layers import FeedForward
from records.fitting import fit_one_cycle
from records.tables import Row, Tables, with_seeds

LETTERS = " abcdefghijklmnopqrstuvwxyz"
MODELS: dict[str, tuple[int, int, int, float, float]] = {  # experts, width, k, loss, bias
    "loss": (8, 16, 1, 1.0, 0.0),
    "alone": (8, 16, 1, 0.0, 0.0),
    "frozen": (8, 16, 1, 1.0, 0.0),
    "frozen, bias": (8, 16, 1, 0.0, 0.0005),
    "bias": (8, 16, 1, 0.0, 0.01),
    "loss × 0.1": (8, 16, 1, 0.1, 0.0),
    "loss × 0.01": (8, 16, 1, 0.01, 0.0),
    "loss, 16 experts": (16, 16, 1, 1.0, 0.0),
    "loss, lines of 128": (8, 16, 1, 1.0, 0.0),
    "alone, twice the steps": (8, 16, 1, 0.0, 0.0),
    "one network": (1, 16, 1, 0.0, 0.0),
    "one, eight times as wide": (1, 128, 1, 0.0, 0.0),
    "reads both, one network": (1, 16, 1, 0.0, 0.0),
    "reads both, eight times as wide": (1, 128, 1, 0.0, 0.0),
    "reads both, loss": (8, 16, 1, 1.0, 0.0),
    "one of 8": (1, 8, 1, 0.0, 0.0),
    "one of 64": (1, 64, 1, 0.0, 0.0),
    "eight of 8": (8, 8, 1, 1.0, 0.0),
    "eight of 8, alone": (8, 8, 1, 0.0, 0.0),
    "eight of 8, frozen": (8, 8, 1, 0.0, 0.0),
    "eight of 8, frozen, bias": (8, 8, 1, 0.0, 0.0005),
}


class Layer(nn.Module):
    """Experts that read letters, or both, and a router that reads how often each is in the line."""

    def __init__(self, model: str) -> None:
        super().__init__()
        number, width, k, self.loss, self.step = MODELS[model]
        self.page = model.startswith(("one of ", "eight of "))  # the router reads 27 zeros as well
        self.both = self.page or model.startswith("reads both")
        self.router = Router(54 if self.page else 27, number, k, None)
        self.router.requires_grad_("frozen" not in model)
        d = 54 if self.both else 27
        self.experts = nn.ModuleList(FeedForward(d, width) for _ in range(number))

    def forward(self, secret: Tensor) -> tuple[Tensor, Routing]:
        """(line, time) to logits (line · time, letter), and what the router chose."""
        x = F.one_hot(secret, 27).float()
        seen = x.mean(dim=1, keepdim=True).expand_as(x).flatten(0, 1)
        x = torch.cat([x.flatten(0, 1), seen], -1) if self.both else x.flatten(0, 1)
        routing: Routing = self.router(F.pad(seen, (27, 0)) if self.page else seen)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, place = (routing.chosen == i).nonzero(as_tuple=True)
            y = y.index_add(
                0, token, routing.weights[token, place, None] * expert(x[None, token])[0]
            )
        return y[:, :27], routing


def train_ciphers(model: str, seed: int) -> Row:
    """Train one layer; what it gets right on new lines, what is possible, and the shares."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(seed)
    text, length = " ".join(toy.toy_stories(3000)), 128 if model.endswith("128") else 64
    ids = [LETTERS.index(c) for c in text.replace(" .", "").replace(" ?", "") if c in LETTERS]
    lines = torch.tensor(ids[: len(ids) // length * length]).view(-1, length)
    alphabets = torch.stack([torch.randperm(27) for _ in range(8)])

    def encipher(lines: Tensor) -> Tensor:
        return alphabets[torch.randint(8, (len(lines), 1)), lines]

    layer, steps = Layer(model), 800 if model.endswith("steps") else 400

    def loss_at(_: int) -> Tensor:
        plain = lines[torch.randint(len(lines) - 500, (32,))]
        y, routing = layer(encipher(plain))
        if layer.step:
            layer.router.balance(routing, layer.step)
        loss: Tensor = F.cross_entropy(y, plain.flatten()) + layer.loss * routing.imbalance
        return loss

    fit_one_cycle(layer, 0.02, steps, loss_at)
    new = lines[-500:]
    secret = encipher(new)
    with torch.no_grad():
        y, routing = layer(secret)
    counts = torch.zeros(len(routing.load), 27, 27)
    where = routing.chosen[:, 0], secret.flatten(), new.flatten()
    counts.index_put_(where, torch.ones(new.numel()), accumulate=True)
    right, most = (y.argmax(-1) == new.flatten()).float().mean(), counts.amax(-1).sum()
    return {
        "model": model,
        "seed": seed,
        "right": round(right.item(), 4),
        "possible": "" if layer.both else round(most.item() / new.numel(), 4),
        "least": round(routing.load.min().item(), 4),
        "most": round(routing.load.max().item(), 4),
    }


def make_ciphers(tables: Tables) -> None:
    """Layers of eight experts that read eight secret alphabets, with routers of several kinds.

    It is the refuter of lesson 24: frozen routers, with and without balance, weaker losses, a bias
    in place of the loss, longer training, longer lines, and one network that reads everything,
    which refuted "one network cannot know who writes".
    """
    seeds = dict.fromkeys(MODELS, 5)
    arms = ("", ", alone", ", frozen")
    seeds |= dict.fromkeys(("loss", "alone", "frozen", "frozen, bias"), 20)
    seeds |= dict.fromkeys((f"eight of 8{arm}" for arm in arms), 20)
    tables.extend("ciphers", train_ciphers, with_seeds(seeds), ["model", "seed"])
