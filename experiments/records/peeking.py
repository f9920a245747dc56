"""The record of the numbers that lesson 8 reads aloud, trained as on its page: with other masks.

Who does not use the digits says the same for every number, and is right for one of 200 at most.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import SelfAttention
from annotated_transformer.batches import pad
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.tokens import PAD
from records.tables import Row, Tables, with_seeds
from transformer_workbook.notebook.aloud import ONES, TENS, aloud

SAID = [*ONES.split()[1:], *TENS.split(), "hundred", "thousand", "and", "."]
TOKENS = ["<pad>", *"0123456789", ":", *SAID]
STOP, NEW, STEPS, LAYERS = TOKENS.index("."), 200, 1000, 2
PADDING = "padding mask alone"  # a rival is right if it passes 10.5 %: one of 200, and ten points
TRAINED: dict[str, dict[str, Any]] = {  # by what differs from the page
    "both masks": {},
    PADDING: {},
    f"{PADDING}, width 128": {"width": 128},
    f"{PADDING}, 2,000 steps": {"steps": 2000},
    f"{PADDING}, half of the words hidden": {"hidden": 0.5},
    f"{PADDING}, lines cut anywhere": {"cut": True},
    "one word too many": {"last": 1},
    "all words for every second word": {"every": 2},
    "both masks, after the softmax": {"late": True},
    "a word hidden from itself": {"last": -1},
    "both masks, four digits": {"digits": 4, "steps": 1500},
    f"{PADDING}, four digits": {"digits": 4, "steps": 1500},
}


class Reader(nn.Module):
    """Two layers of self-attention, and what each word may attend to."""

    def __init__(self, arm: str, width: int = 64, late: bool = False, **mask: int) -> None:
        super().__init__()
        self.words, self.output = nn.Embedding(len(TOKENS), width), nn.Linear(width, len(TOKENS))
        self.layers = nn.ModuleList(SelfAttention(width, width, width) for _ in range(LAYERS))
        self.register_buffer("places", sinusoidal_encoding(24, width).float())
        self.last = 24 if arm.startswith(PADDING) else mask.get("last", 0)
        self.every, self.late = mask.get("every", 0), late

    def forward(self, ids: Tensor) -> Tensor:
        """Give logits (batch, time, token) of the word after each."""
        x, time = self.words(ids) + self.places[: ids.size(1)], ids.size(1)  # type: ignore[index]
        seen = torch.ones(time, time, dtype=torch.bool).tril(self.last)
        if self.every:
            seen[:: self.every] = True
        mask = seen & (ids != PAD)[:, None]
        for layer in self.layers:
            look: Any = layer
            q, k, v = look.query(x), look.key(x), look.value(x)
            late = (q @ k.mT / k.size(-1) ** 0.5).softmax(-1) * mask
            x = x + (late @ v if self.late else look.attention(q, k, v, mask))
        return self.output(x)


def train_peeking(arm: str, seed: int) -> Row:
    """Train one reader; its loss on numbers that it never saw, and how many it reads right."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    ways = {"steps": STEPS, "digits": 3, "hidden": 0.0, "cut": False} | TRAINED[arm]
    steps, digits, hidden, cut = (ways.pop(k) for k in ("steps", "digits", "hidden", "cut"))
    said = [[*str(n), ":", *aloud(n), "."] for n in range(10 ** (digits - 1), 10**digits)]
    lines = F.pad(pad([[TOKENS.index(word) for word in line] for line in said]), (0, 1))
    new, old = lines[torch.randperm(len(lines))].tensor_split([NEW])
    model = Reader(arm, **ways)
    adam = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(steps):
        line = old[torch.randint(len(old), (64,))]
        reads, says = line[:, :-1], line[:, 1:]
        if cut:
            kept = torch.arange(reads.size(1)) < torch.randint(1, reads.size(1) + 1, (64, 1))
            reads, says = reads * kept, says * kept
        seen = (torch.rand(reads.shape) >= hidden) | (reads == PAD)
        loss: Any = F.cross_entropy(model(reads * seen + ~seen * STOP).mT, says, ignore_index=PAD)
        adam.zero_grad()
        loss.backward()
        adam.step()
    with torch.no_grad():
        loss = F.cross_entropy(model(new[:, :-1]).mT, new[:, 1:], ignore_index=PAD)
        ids = new[:, : digits + 1]
        while ids.size(1) < new.size(1) - 1:
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], dim=1)
    spoken = (new[:, : ids.size(1)] != PAD).int()
    right = ((ids == new[:, : ids.size(1)]) | (spoken == 0)).all(1)
    return {
        "model": arm, "seed": seed, "loss": round(loss.item(), 3),
        "right": round(right.double().mean().item(), 3),
    }  # fmt: skip


def make_peeking(tables: Tables) -> None:
    """Numbers read aloud by two layers of attention, with ten masks and ways to train.

    It is the refuter of lesson 8: what a reader without the causal mask says, and longer numbers.
    """
    seeds = dict.fromkeys(TRAINED, 5) | {"both masks": 20, PADDING: 10}
    tables.extend("peeking", train_peeking, with_seeds(seeds), ["model", "seed"])
