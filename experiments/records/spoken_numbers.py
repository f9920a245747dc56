"""The record of the numbers of lesson 1, said by a table of next words, and by its rivals.

Whoever repeats a word writes no name of a number. A rival fails if at most one text in ten is one.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.tokens import BOS, EOS, PAD
from records.tables import Row, Tables
from transformer_workbook.chapters.tokens_and_batches import exercises as lesson
from transformer_workbook.notebook.aloud import ONES, TENS, aloud

SAID = [*ONES.split()[1:], *TENS.split(), "hundred", "thousand", "and"]
WORDS = ["<pad>", "<bos>", "<eos>", *SAID]
SPLITS: dict[str, Any] = {  # what is read of a batch (sentence, position), and what is predicted
    "next word": lambda ids: (ids[:, :-1], ids[:, 1:]),
    "reads nothing": lambda ids: (torch.full_like(ids[:, 1:], BOS), ids[:, 1:]),
    "no shift": lambda ids: (ids, ids),
    "word before": lambda ids: (ids[:, 1:], ids[:, :-1]),
}
RIVALS = ["untrained", "reads nothing", "no shift", "word before", "padding counts",
          "larger network", "pairs counted"]  # fmt: skip


def say(n: int) -> str:
    """The name of a number."""
    return " ".join(aloud(n))


def build(model: str, training: Tensor) -> nn.Module:
    """A table of zeros, one of the logarithms of how often a word follows, or a network."""
    if model == "larger network":
        layers = nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, len(WORDS))
        return nn.Sequential(nn.Embedding(len(WORDS), 64), *layers)
    follows = torch.ones(len(WORDS), len(WORDS))
    if model == "pairs counted":
        pairs = training[:, :-1].flatten(), training[:, 1:].flatten()
        follows.fill_(1e-3).index_put_(pairs, torch.ones(len(pairs[0])), accumulate=True)
    return nn.Embedding.from_pretrained(follows.log(), freeze=False)


def written(follows: Float[Tensor, "word next"]) -> str:
    """Draw words until the end, or until there are 15."""
    ids = [BOS]
    while ids[-1] != EOS and len(ids) < 16:
        ids.append(int(torch.multinomial(follows[ids[-1]], 1)))
    return " ".join(WORDS[i] for i in ids[1:] if i != EOS)


def train_numbers(model: str, below: int, seed: int) -> Row:
    """Train one model as on the page; its perplexity of new names, and its texts that are names."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    names = [say(int(n) + 1) for n in torch.randperm(below - 1)[:9999]]
    numbers = {word: i for i, word in enumerate(WORDS)}
    ids = lesson.batch_of_sentences.reference(names, numbers)
    training, held_out = ids[:9000], ids[9000:]
    built: Any = build(model, training)
    rate, split = 1e-3 if model == "larger network" else 0.1, SPLITS.get(model, SPLITS["next word"])
    adam = torch.optim.Adam(built.parameters(), rate)
    for _ in range(0 if model in ("untrained", "pairs counted") else 301):
        read, target = split(training[torch.randint(9000, (256,))])
        kept = (target != PAD) | (model == "padding counts")
        loss = F.cross_entropy(built(read)[kept], target[kept])
        adam.zero_grad()
        loss.backward()
        adam.step()
    with torch.no_grad():
        if model == "reads nothing":  # one row, whatever is read
            built.weight.copy_(built.weight[BOS].expand_as(built.weight))
        surprisal = lesson.loss_of_real_words.reference(built, held_out).item()
        follows = built(torch.arange(len(WORDS))).softmax(-1)
    every = {say(n) for n in range(1, below)}
    right = sum(written(follows) in every for _ in range(1000)) / 1000
    perplexity = round(math.exp(surprisal), 2)
    return {
        "model": model, "below": below, "seed": seed, "names": right, "perplexity": perplexity
    }  # fmt: skip


def make_spoken_numbers(tables: Tables) -> None:
    """A table of next words that says numbers, and seven models that know less or as much.

    It is the refuter of lesson 1: what a cheaper model writes, and longer numbers.
    """
    seeds = {"next word": 20} | dict.fromkeys(RIVALS, 5)
    tasks = [
        (model, below, seed)
        for below in (10_000, 100_000)
        for model, number in seeds.items()
        for seed in range(1, number + 1)
    ]
    tables.extend("spoken_numbers", train_numbers, tasks, ["model", "below", "seed"], workers=1)
