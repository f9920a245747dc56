"""The records of the numbers of lesson 2, read and written as on its page, and rivals.

Whoever ignores the order of the digits is right for 110 of the 1,111 held-out numbers at most.
"""

from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.batches import pad
from annotated_transformer.tokens import BOS, PAD
from records.tables import Row, Tables, with_seeds
from transformer_workbook.notebook.aloud import SIZES, aloud

# A rival is right if it passes 19.9 %: 110 of 1,111, and ten points.
WORDS = [*(word for n in range(100) for word in aloud(n)), "and", *SIZES]
TOKENS = ["<pad>", "<bos>", "<eos>", *"0123456789", *dict.fromkeys(WORDS)]
NUMBER_OF = {token: number for number, token in enumerate(TOKENS)}
RIVALS = (
    "bag of digits", "no vector", "frozen reader", "four places", "reads padding", "nn.RNN",
    "nn.RNN, rate 0.001",
)  # fmt: skip
LONGER = {
    "64 numbers": (64, 1000),
    "64 numbers, 4,000 steps": (64, 4000),
    "128 numbers": (128, 1000),
    "128 numbers, 4,000 steps": (128, 4000),
}


class Reader(nn.Module):
    """The class of the page, whose vector is made as the name says."""

    def __init__(self, name: str, d: int) -> None:
        super().__init__()
        self.name, cell = name, nn.RNN if "RNN" in name else nn.GRU
        self.source, self.target = nn.Embedding(len(TOKENS), d), nn.Embedding(len(TOKENS), d)
        self.reader, self.writer = cell(d, d, batch_first=True), cell(d, d, batch_first=True)
        self.output, self.places = nn.Linear(d, len(TOKENS)), nn.Linear(4 * d, d)
        for module in (self.source, self.reader) if name == "frozen reader" else ():
            module.requires_grad_(False)

    def read(self, source: Tensor) -> Tensor:
        """A vector for each number."""
        x, is_digit = self.source(source), source != PAD
        if self.name == "four places":
            four = F.pad(source, (0, 4))[:, :4]
            return self.places(self.source(four).flatten(1)).tanh()
        if self.name in ("bag of digits", "no vector"):
            return (x * is_digit[..., None]).sum(1) * (self.name == "bag of digits")
        last = -1 if self.name == "reads padding" else is_digit.sum(1) - 1
        return self.reader(x)[0][torch.arange(len(x)), last]

    def write(self, state: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """The logits after each word, and the last state."""
        states, last = self.writer(self.target(words), state[None])
        return self.output(states), last[0]


def batch(numbers: list[int]) -> tuple[Tensor, Tensor]:
    """Digits and words of numbers."""
    source = pad([[NUMBER_OF[digit] for digit in str(n)] for n in numbers])
    target = pad([[NUMBER_OF[t] for t in ["<bos>", *aloud(n), "<eos>"]] for n in numbers])
    return source, target


@torch.no_grad()
def right(model: Reader, numbers: list[int]) -> list[bool]:
    """Which numbers of a batch are written word for word, greedily."""
    source, target = batch(numbers)
    state, word, said = model.read(source), torch.full((len(source), 1), BOS), []
    for _ in range(target.size(1) - 1):
        logits, state = model.write(state, word)
        word = logits.argmax(-1)
        said.append(word)
    return ((torch.cat(said, 1) == target[:, 1:]) | (target[:, 1:] == PAD)).all(1).tolist()


def train_aloud(name: str, d: int, digits: int, steps: int, seed: int) -> Reader:
    """Train as on the page: numbers that leave the remainder 4 by nine are held out."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = Reader(name, d)
    rate = 0.001 if name.endswith("0.001") else 0.005
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=rate)
    for _ in range(steps):
        top = 10 ** torch.randint(1, digits + 1, (64,))
        numbers = torch.randint(10**12, (64,)) % top
        source, words = batch(numbers[numbers % 9 != 4].tolist())
        logits, _ = model.write(model.read(source), words[:, :-1])
        loss: Any = F.cross_entropy(logits.mT, words[:, 1:], ignore_index=PAD)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model


def held_out(digits: int) -> list[int]:
    """A hundred held-out numbers of so many digits: every ninth from 4, 13, 103, 1003, …"""
    low = 10 ** (digits - 1)
    return (low + 3 + 9 * torch.randint(low, (100,))).tolist()


def share(found: list[bool]) -> float:
    """The share of what is right."""
    return round(sum(found) / len(found), 3)


def measure_short(name: str, seed: int) -> Row:
    """Numbers of up to four digits: each alone, all in one padded batch, and five digits."""
    model = train_aloud(name, 128, 4, 500, seed)
    test = [*range(4, 10_000, 9)]
    alone = [right(model, [n for n in test if len(str(n)) == digits]) for digits in (1, 2, 3, 4)]
    row: Row = {"model": name, "seed": seed, "right": share([*chain(*alone)])}
    row["in_a_batch"] = share(right(model, test))
    return row | {"five_digits": share(right(model, held_out(5)))}


def measure_long(name: str, seed: int) -> Row:
    """Numbers of up to twelve digits in one vector, and twelve digits in four vectors."""
    d, steps = LONGER[name]
    model = train_aloud("a vector", d, 12, steps, seed)
    row: Row = {"model": name, "seed": seed}
    row |= {f"right_{digits}": share(right(model, held_out(digits))) for digits in (3, 6, 9, 12)}
    numbers = held_out(12)
    pieces = [[n // 1000**place % 1000 for n in numbers] for place in range(4)]
    found = zip(*(right(model, piece) for piece in pieces), strict=True)
    return row | {"in_pieces": share([all(four) for four in found])}


def make_aloud(tables: Tables) -> None:
    """Numbers read aloud by one recurrent model, and by seven other models.

    It is the refuter of lesson 2: what a cheaper model gets right, and a longer number.
    """
    seeds = {"a vector": 20} | dict.fromkeys(RIVALS, 5)
    tables.extend("aloud", measure_short, with_seeds(seeds), ["model", "seed"])


def make_aloud_longer(tables: Tables) -> None:
    """Numbers of up to twelve digits through vectors of two sizes, and four times the steps.

    It is the refuter of lesson 2: whether the length at which a vector breaks moves.
    """
    seeds = dict.fromkeys(LONGER, 5) | {"128 numbers": 10}
    tables.extend("aloud_longer", measure_long, with_seeds(seeds), ["model", "seed"])
