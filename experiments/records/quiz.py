"""The record of the two quizzes of lesson 14, trained and searched as on its page, and rivals.

Greedy search begins with the most probable first word, and no most probable answer of the first
quiz does: it finds 0 of 24, by counting. A rival of the beam is right if it finds over a tenth.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from records.tables import Row, Tables, with_seeds

CAPITAL = {f"land {i}": f"city {i}" for i in range(24)}
VERBS = [f"verb {i}" for i in range(8)]
OTHERS = ["surely", "maybe", "perhaps", "pass", "i", *VERBS, "it", "is", "well"]
VOCABULARY = ["<pad>", "<eos>", *CAPITAL, *CAPITAL.values(), *OTHERS]

Text = list[str]


def said(quiz: str, city: str) -> list[Text]:
    """What a hundred people answer, ``<eos>`` included."""
    more = ["well"] * 3 * quiz.endswith("longer")
    wrong = [other for other in CAPITAL.values() if other != city] * 3
    first = ["maybe", "perhaps"] if quiz == "two first words" else ["maybe", "maybe"]
    answers = [[first[i % 2], *more, other] for i, other in enumerate(wrong)]
    answers += [["surely", *more, city]] * 31
    if quiz.startswith("second"):
        answers = [["i", verb, *more, "it", "is", city] for verb in VERBS] * 9 + [["pass"]] * 28
    return [[*answer, "<eos>"] for answer in answers]


def ids(texts: Sequence[Text]) -> Tensor:
    """The numbers of the words (texts, longest)."""
    rows = [torch.tensor([VOCABULARY.index(word) for word in text]) for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


class Network(nn.Module):
    """The page's GRU."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.table, self.output = nn.Embedding(len(VOCABULARY), d), nn.Linear(d, len(VOCABULARY))
        self.gru = nn.GRU(d, d, batch_first=True)

    def forward(self, texts: Tensor) -> Tensor:
        """The logits after each word."""
        logits: Tensor = self.output(self.gru(self.table(texts))[0])
        return logits


@cache
def trained(quiz: str, seed: int, d: int = 128, steps: int = 300) -> Network:
    """A network that has learned what people say."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    texts = ids([[land, *text] for land, city in CAPITAL.items() for text in said(quiz, city)])
    network = Network(d)
    adam = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(steps):
        some = texts[torch.randint(len(texts), (256,))]
        loss: Any = F.cross_entropy(network(some[:, :-1]).mT, some[:, 1:], ignore_index=0)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return network


@torch.no_grad()
def search(
    network: Network, land: str, size: int, mean: bool = False, forgets: bool = False
) -> Text:
    """The page's beam: a finished answer waits. It may forget all but the last word."""
    texts, log_p = [[land]], torch.zeros(1)
    for _ in range(10):
        after = network(ids(texts))[:, -1].log_softmax(-1)
        for row, text in zip(after, texts, strict=True):
            if text[-1] == "<eos>":
                row.fill_(-torch.inf)[1] = 0
        totals = (0 if forgets else log_p[:, None]) + after
        log_p, place = totals.flatten().topk(size)
        pairs = [divmod(i, len(VOCABULARY)) for i in place.tolist()]
        texts = [[*texts[r], VOCABULARY[w]] for r, w in pairs]
    lengths = [text.index("<eos>") if mean and "<eos>" in text else 1 for text in texts]
    return texts[int((log_p / torch.tensor(lengths)).argmax())]


@torch.no_grad()
def drawn(network: Network, land: str, number: int, temperature: float = 1.0) -> Text:
    """The commonest of so many answers drawn."""
    texts = ids([[land]] * number)
    for _ in range(10):
        p = (network(texts)[:, -1] / temperature).softmax(-1)
        texts = torch.cat([texts, torch.multinomial(p, 1)], dim=1)
    rows = [[*(VOCABULARY[i] for i in row), "<eos>"] for row in texts.tolist()]
    rows = [row[: row.index("<eos>")] for row in rows]
    ((commonest, _),) = Counter(map(tuple, rows)).most_common(1)
    return list(commonest)


BEAM = "beam of two, by the mean"
WAYS: dict[str, Callable[[Network, str], Text]] = {
    BEAM: lambda network, land: search(network, land, 2, mean=True),
    "beam of two, by the sum": lambda network, land: search(network, land, 2),
    "beam of three, by the mean": lambda network, land: search(network, land, 3, mean=True),
    "greedy search": lambda network, land: search(network, land, 1),
    "the last word's log p alone": lambda network, land: search(network, land, 2, forgets=True),
    "one draw": lambda network, land: drawn(network, land, 1),
    "one draw, temperature 0.3": lambda network, land: drawn(network, land, 1, 0.3),
    "the commonest of 100 draws": lambda network, land: drawn(network, land, 100),
}


def answer(way: str, quiz: str, d: int, seed: int) -> Row:
    """The share of 24 countries whose most probable answer it finds, and of right ones."""
    network = trained(quiz, seed, d, 300 * d // 128)
    found = [WAYS[way](network, land)[1:] for land in CAPITAL]
    found = [[word for word in text if word != "<eos>"] for text in found]
    right = [text[-1:] == [city] for text, city in zip(found, CAPITAL.values(), strict=True)]
    counts = [Counter(map(tuple, said(quiz, city))) for city in CAPITAL.values()]
    most = [list(count.most_common(1)[0][0])[:-1] for count in counts]
    same = sum(a == b for a, b in zip(found, most, strict=True))
    row: Row = {"way": way, "quiz": quiz, "d": d, "seed": seed}
    return row | {"likeliest": round(same / 24, 3), "right": round(sum(right) / 24, 3)}


def make_quiz(tables: Tables) -> None:
    """Two quizzes answered by the beam of the page and by other ways.

    It is the refuter of lesson 14: what a cheaper way finds, and longer answers.
    """
    seeds = dict.fromkeys(WAYS, 5) | {BEAM: 20}
    tasks = [(w, quiz, 128, n) for quiz in ("first", "second") for w, n in with_seeds(seeds)]
    others = [("greedy search", "first", 256)]
    others += [(way, "two first words", 128) for way in (BEAM, "beam of three, by the mean")]
    tasks += [(*other, seed) for other in others for seed in range(1, 6)]
    longer = "first, longer", "second, longer"
    tasks += [(BEAM, quiz, 128, seed) for quiz in longer for seed in range(1, 6)]
    keys = ["way", "quiz", "d", "seed"]
    tables.extend("quiz", answer, tasks, keys, workers=1)
