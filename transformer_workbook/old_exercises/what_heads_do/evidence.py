"""What heads do: how much is enough to say that a head does something?"""

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.errors import InputError
from transformer_workbook.judge.comparing import is_number
from transformer_workbook.old_exercises.old_question import Question, by_letters, by_number

NUMBERS = (1, 3, 10, 30, 100, 300, 1000)
HEADS, WORDS, DRAWS = 24, 5, 50


@cache
def times_chance(sentences: int) -> float:
    """The score of the best of 24 heads with random weights, in units of chance."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(DRAWS, HEADS, sentences, WORDS, generator=generator).softmax(-1)
    return WORDS * scores[..., -1].mean(-1).amax(-1).mean().item()


@Question
def enough_sentences(answer: Any) -> str:
    """From how many sentences on is the best of 24 random heads less than a fifth above chance?"""
    right = next(n for n in NUMBERS if times_chance(n) < 1.2)
    replies: dict[int | float, str] = {
        n: f"with n = {n} the best of them still scores {times_chance(n):.1f} times chance."
        if n < right
        else "fewer are enough."
        for n in NUMBERS
    }
    if is_number(answer) and answer not in NUMBERS:
        tried = ", ".join(map(str, NUMBERS))
        return f"this is none of the numbers to try, {tried}; give the first that is enough."
    return by_number(answer, right, replies)


def _record(name: str) -> Path:
    """A file of the book's records, beside the notebook or in the repository."""
    folders = [Path("records"), *(up / "book" / "records" for up in Path(__file__).parents)]
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise InputError(f"records/{name} is not here; start the notebook in the folder `book`.")


@Question
def said_by_the_record(answer: Any) -> str:
    """Which of six sentences about trained models does the record of the heads support?"""
    rows = list(csv.DictReader(_record("heads.csv").read_text(encoding="utf-8").splitlines()))
    longer = json.loads(_record("heads.json").read_text(encoding="utf-8"))["refuter"]
    ours, theirs = (
        [row for row in rows if row["model"] == model and int(row["seed"])]
        for model in ("Transformer", "Bahdanau")
    )
    missed = [row["most_missed"] for row in ours]
    ahead = sum(float(row["object_low"]) > 0 for row in ours)
    costs = [float(row["object_damage"]) for row in ours]
    least, most = min(float(r["exact"]) for r in theirs), max(float(r["exact"]) for r in ours)
    support = {
        "A": all(head.startswith("decoder.0.self_attention") for head in missed),
        "B": len(set(missed)) == 1,
        "C": least > most,
        "D": least > most and "no lead is left" not in longer,
        "E": ahead == len(ours),
        "F": max(costs) < 0.02,
    }
    replies = {
        "A": "`most_missed` names that attention in all five rows.",
        "B": f"`most_missed` ends in {len(set(missed))} different numbers.",
        "C": f"his worst model has {least:.1%} `exact`, the best Transformer {most:.1%}.",
        "D": "heads.json says that after four times as many steps no lead is left.",
        "E": f"only in {ahead} of {len(ours)} rows the whole interval lies above 0.",
        "F": f"the largest `object_damage` of the five is {max(costs):.3f}.",
    }
    return by_letters(answer, (letter for letter, true in support.items() if true), replies)
