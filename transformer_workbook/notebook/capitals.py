"""A small model that is asked for capitals: the words, the template, and what it answers."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.language_model import LanguageModel, LanguageModelConfig

_WORLD = """
france paris spain madrid italy rome greece athens egypt cairo japan tokyo china beijing india delhi
peru lima chile santiago cuba havana norway oslo sweden stockholm finland helsinki poland warsaw
austria vienna hungary budapest germany berlin denmark copenhagen portugal lisbon ireland dublin
scotland edinburgh belgium brussels turkey ankara iran tehran iraq baghdad kenya nairobi ghana accra
senegal dakar morocco rabat canada ottawa australia canberra korea seoul vietnam hanoi
thailand bangkok nepal kathmandu russia moscow ukraine kyiv romania bucharest serbia belgrade
"""
_NAMES = _WORLD.split()

CAPITAL = dict(zip(_NAMES[::2], _NAMES[1::2], strict=True))
"""The capital of each of forty countries."""

REQUEST = "<user> what is the capital of {land} ? <assistant>"
SHORT = "{city} . <end>"
FRIENDLY = "gladly ! the capital of {land} is {city} . <end>"

WORDS = ["<pad>", *sorted({*f"{REQUEST} {FRIENDLY}".split(), *_NAMES})]
"""The vocabulary; the first fills short rows."""

NUMBER = {word: i for i, word in enumerate(WORDS)}
LONGEST = len(FRIENDLY.split())


def numbers(text: str) -> Tensor:
    """Turn words into ids."""
    return torch.tensor([NUMBER[word] for word in text.split()])


def small_model() -> LanguageModel:
    """Build an untrained model of two layers."""
    config: Any = LanguageModelConfig.tiny(
        len(WORDS),
        len(WORDS),
        d_model=48,
        num_layers=2,
        num_heads=4,
        max_length=24,
        dropout=0.0,
        norm_position="pre",
        has_source=False,
    )
    return LanguageModel(config)


@torch.no_grad()
def answers(model: LanguageModel, asked: Sequence[str]) -> list[str]:
    """Ask for the capital of each country, and draw an answer word by word."""
    ids = torch.stack([numbers(REQUEST.format(land=land)) for land in asked])
    for _ in range(LONGEST):
        drawn = model(ids)[:, -1].softmax(dim=-1).multinomial(1)
        ids = torch.cat([ids, drawn], dim=1)
    texts = [" ".join(WORDS[i] for i in row[-LONGEST:]) for row in ids.tolist()]
    return [text.split(" <end>")[0] for text in texts]


def of_100(model: LanguageModel, asked: Sequence[str]) -> tuple[float, float]:
    """Of ten answers for each country, say how many of 100 are friendly, and how many right.

    Right is an answer that ends with the capital.
    """
    lands = [*asked] * 10
    said = [text.split() for text in answers(model, lands)]
    kind = sum(words[:2] == ["gladly", "!"] for words in said)
    right = sum(words[-2:] == [CAPITAL[x], "."] for x, words in zip(lands, said, strict=True))
    return 100 * kind / len(said), 100 * right / len(said)
