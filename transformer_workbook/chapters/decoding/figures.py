from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_workbook.notebook import COLOURS, ToyTask, box, table

MEANING = {
    "울 는 새 들 은 빠르 지 않 다": (
        "cry ADNOMINAL bird PLURAL TOPIC fast NEGATED not PLAIN",
        "the birds that cry are not fast",
    ),
    "빠르 ㄴ 새 들 은 빠르 지 않 다": (
        "fast ADNOMINAL bird PLURAL TOPIC fast NEGATED not PLAIN",
        "the fast birds are not fast",
    ),
    "달리 는 새 들 은 빠르 지 않 다": (
        "run ADNOMINAL bird PLURAL TOPIC fast NEGATED not PLAIN",
        "the birds that run are not fast",
    ),
    "빠르 ㄴ 새 들 이 만나 는 새 들 은 빠르 지 않 다": (
        "fast ADNOMINAL bird PLURAL SUBJECT meet ADNOMINAL bird PLURAL TOPIC fast NEGATED not "
        "PLAIN",
        "the birds that the fast birds meet are not fast",
    ),
    "모든 여자 가 보 는 나무 옆 의 고양이 는 그것 을 먹 어야 하 ㄴ다": (
        "every woman SUBJECT see ADNOMINAL tree side OF cat TOPIC it OBJECT eat MUST do PLAIN",
        "the cat beside the tree that every woman sees must eat it",
    ),
    "모든 여자 가 보 는 고양이 는 그것 을 먹 어야 하 ㄴ다": (
        "every woman SUBJECT see ADNOMINAL cat TOPIC it OBJECT eat MUST do PLAIN",
        "the cat that every woman sees must eat it",
    ),
}
"""Of what the model writes, word by word and in English."""

WORDS = {"빠르": "fast", "울": "cry", "달리": "run", "작": "small"}

TEXTS = {
    "once upon a …": {
        "time": 0.82, "hill": 0.06, "star": 0.05, "day": 0.03,
        "tree": 0.02, "sand": 0.01, "fog": 0.01,
    },
    "a cup of …": {
        "tea": 0.28, "coffee": 0.24, "water": 0.18, "milk": 0.14,
        "soup": 0.1, "sand": 0.04, "fog": 0.02,
    },
}  # fmt: skip


def tree(
    words: Sequence[str],
    vocabulary: Sequence[str],
    first: Float[Tensor, "words"],
    second: Float[Tensor, "words vocab"],
) -> None:
    """The answers that begin with these words: the best of each, greedy's and the beam's."""
    import matplotlib.pyplot as plt

    answers = first[:, None] * second
    places = {(i, int(j)) for i, row in enumerate(answers) for j in row.topk(5).indices}
    shown = sorted((i, -answers[i, j].item(), j) for i, j in places if answers[i, j] > 0.005)
    marks = {int(first.argmax()): (COLOURS[0], "greedy")}
    marks |= {int(answers.amax(1).argmax()): (COLOURS[1], "beam of 2")}
    _, ax = plt.subplots(figsize=(6.4, 3.6))
    for i, word in enumerate(words):
        heights = [-n for n, (k, *_) in enumerate(shown) if k == i]
        middle = sum(heights) / len(heights)
        colour, name = marks.get(i, ("grey", ""))
        ax.plot([0.3, 1], [-len(shown) / 2, middle], color=colour, lw=1 + 10 * first[i].item())
        for height, (_, p, j) in zip(heights, (s for s in shown if s[0] == i), strict=True):
            best = height == heights[0]
            style: dict[str, Any] = {"color": colour if best else "grey", "lw": 1 - 10 * p}
            ax.plot([1.4, 2.2], [middle, height], **style)
            ax.text(2.3, height, f"{word} {vocabulary[j]} {-p:.2f}", va="center")
            ax.text(3.6, height, name if best else "", va="center", color=colour)
        box(ax, 1.2, middle, f"{word}\n{first[i]:.2f}", "white", size=11)
    ax.set(xlim=(0, 4.2), ylim=(0.6 - len(shown), 0.6))
    ax.axis("off")
    plt.show()


def in_words(
    task: ToyTask,
    sentences: Iterable[Sequence[int]],
    rows: Sequence[str] | None = None,
    **numbers: Sequence[float],
) -> Any:
    """What sentences of tokens say, in Korean, word by word and in English."""
    found = []
    for i, tokens in enumerate(sentences):
        text = task.tgt_vocabulary.decode(tokens)
        gloss, english = MEANING[text]
        said = {"in Korean": text, "gloss": gloss, "in English": english}
        found.append(said | {name: column[i] for name, column in numbers.items()})
    return table(found, rows)


def first_words(task: ToyTask, token: Int[Tensor, "n"], p: Float[Tensor, "n"]) -> Any:
    """The most probable first words, and their probabilities."""
    words = task.tgt_vocabulary.tokens(token.tolist())
    return table(p[:, None], [f"{word} ({WORDS[word]})" for word in words], ["p"])


def gains_of_a_beam(
    more_probable: Sequence[bool], before: Sequence[bool], after: Sequence[bool]
) -> Any:
    """How many translations a beam makes more probable, and how many right; the text says both."""
    from myst_nb import glue

    counts = {
        "more probable": f"{sum(more_probable) / len(more_probable):.0%}",
        "wrong before": before.count(False),
        "corrected": sum(b and not a for a, b in zip(before, after, strict=True)),
        "spoilt": sum(a and not b for a, b in zip(before, after, strict=True)),
    }
    names = {"more-probable": "more probable", "fixed": "corrected", "spoilt": "spoilt"}
    for name, column in names.items():
        glue(name, counts[column], display=False)
    return table([counts], ["beam of 4"])


def errors(rows: Sequence[Mapping[str, int]]) -> Any:
    """The mistakes of both searches, and how often the right sentence is more probable."""
    from myst_nb import glue

    glue("missed-beam", rows[1]["right is more probable"], display=False)
    glue("wrong-beam", rows[1]["wrong"], display=False)
    return table(rows, ["greedy", "beam of 4"])


def ways_of_drawing(candidates: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """What is left to draw from after two texts, in four ways."""
    import matplotlib.pyplot as plt

    ways: dict[str, dict[str, float]] = {
        "as it is": {},
        "T = 0.5": {"temperature": 0.5},
        "top-k, k = 3": {"top_k": 3},
        "top-p, p = 0.8": {"top_p": 0.8},
    }
    _, axes = plt.subplots(2, 4, figsize=(7.4, 4.6), sharex=True)
    for ax, way in zip(axes[0], ways, strict=True):
        ax.set_title(way, fontsize=12)
    for row, (text, chances) in zip(axes, TEXTS.items(), strict=True):
        logits = torch.tensor(list(chances.values())).log()
        for ax, choices, colour in zip(row, ways.values(), COLOURS, strict=False):
            p = candidates(logits, **choices)[0].tolist()
            places = range(len(p))
            ax.barh(places, [round(x, 3) for x in p], color=colour)
            ax.set_yticks(places, chances if ax is row[0] else [""] * len(p))
            ax.set(xlim=(0, 1), ylim=(len(p) - 0.5, -0.5))
            for place in places:
                if not p[place]:  # it cannot be drawn
                    ax.text(0.04, place, "×", va="center", color="grey")
        row[0].set_ylabel(text)
    plt.show()
