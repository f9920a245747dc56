"""The record of lesson 13: German numbers turned into English ones, by moves of several kinds.

Whoever is not told which words belong to which number is right for about 1 of 1,111 held-out ones.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.batches import pad
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer, TransformerConfig
from records.aloud import share
from records.tables import Row, Tables, with_seeds
from transformer_workbook.notebook.aloud import aloud

# Set before the first run: the page's moves make a translator if they pass 60 % in at least 19 of
# 20 runs; any other arm does if it passes 10.1 %, 1 of 1,111 and ten points.
PEAKS = {"no warm-up, a third of the rate": 0.01 / 3, "plain": 0.3, "plain, loss summed": 0.3}
OTHERS = "coin", "wrong pairs", "no warm-up", *PEAKS
ONES = (
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn"
)
TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
TEST = range(4, 10_000, 9)


def german(n: int) -> list[str]:
    """Say a number of up to four digits in German words, each part of its own."""
    for size, word in (1000, "tausend"), (100, "hundert"):
        if n >= size:
            return [*german(n // size), word, *(german(n % size) if n % size else [])]
    if n < 20:
        return [ONES.split()[n]]
    one = [ONES.split()[n % 10], "und"] if n % 10 else []
    return [*one, TENS.split()[n // 10 - 2]]


ALL = [*range(100), 1100, 1101]
GERMAN, ENGLISH = (
    {w: i + 3 for i, w in enumerate(dict.fromkeys(w for n in ALL for w in say(n)))}
    for say in (german, aloud)
)


def batch(numbers: list[int]) -> tuple[Tensor, Tensor]:
    """German words, and English ones between BOS and EOS."""
    target = pad([[BOS, *(ENGLISH[w] for w in aloud(n)), EOS] for n in numbers])
    return pad([[GERMAN[w] for w in german(n)] for n in numbers]), target


def move_of(name: str, g: Tensor, m: Any, v: Any, t: int) -> tuple[Tensor, Any, Any]:
    """The move of one tensor and its running means: Adam's, or what the name says."""
    if name == "coin":
        return torch.randint_like(g, 2) * 2 - 1, m, v
    if name.startswith("plain"):
        return g * (250 if "summed" in name else 1), m, v
    m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
    return m / (1 - 0.9**t) / ((v / (1 - 0.98**t)).sqrt() + 1e-6), m, v


@torch.no_grad()
def measure_moves(name: str, seed: int) -> Row:
    """Train as on the page; the last loss, and the share of new numbers translated."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    config = TransformerConfig.tiny(len(GERMAN) + 3, len(ENGLISH) + 3, dropout=0.0, max_length=64)
    model = Transformer(config)
    parameters: list[Tensor] = list(model.parameters())
    means: list[Any] = [(0, 0)] * len(parameters)
    for t in range(1, 301):
        numbers = torch.randint(10**12, (64,)) % 10 ** torch.randint(1, 5, (64,))
        source, words = batch(numbers[numbers % 9 != 4].tolist())
        if name == "wrong pairs":
            words = words.roll(1, dims=0)
        with torch.enable_grad():
            logits = model(source, words[:, :-1])
            loss = F.cross_entropy(logits.mT, words[:, 1:], ignore_index=PAD)
        rising = 1 if "no warm-up" in name else t / 25
        rate = PEAKS.get(name, 0.01) * min(rising, (25 / t) ** 0.5)
        for i, g in enumerate(torch.autograd.grad(loss, parameters)):
            move, *means[i] = move_of(name, g, means[i][0], means[i][1], t)
            parameters[i].sub_(rate * move)
    source, words = batch([*TEST])
    said = words[:, :1]
    for _ in range(words.size(1) - 1):
        said = torch.cat([said, model(source, said)[:, -1:].argmax(-1)], dim=1)
    right = ((said == words) | (words == PAD)).all(1).tolist()
    return {"moves": name, "seed": seed, "loss": f"{loss.item():.3f}", "right": share(right)}


def make_moves(tables: Tables) -> None:
    """German numbers turned into English ones by a Transformer, trained by moves of seven kinds.

    It is the refuter of lesson 13: which other moves, or pairs, make a translator as well.
    """
    runs = {"yours": 20} | dict.fromkeys(OTHERS, 5)
    tables.extend("moves", measure_moves, with_seeds(runs), ["moves", "seed"])
