"""Why attention: what an experiment shows, and what a record supports."""

import csv
from functools import cache
from itertools import pairwise
from pathlib import Path

import torch
from torch.nn import functional

from transformer_workbook.old_exercises.old_question import Question, by_letters, by_number


def _reach(gaps: list[int], kernel_size: int = 3) -> int:
    """How long the stretch is on which the last output of a stack of convolutions can depend."""
    news = torch.ones(1, 1, 1)
    for gap in gaps:
        padded = functional.pad(news, [gap * (kernel_size - 1)] * 2)
        news = functional.conv1d(padded, torch.ones(1, 1, kernel_size), dilation=gap)
    read = (news > 0).flatten().nonzero()
    return int(read.max() - read.min()) + 1


@Question
def doubling_reach(answer: object) -> str:
    """Up to which length can four convolutions with gaps 1, 2, 4 and 8 learn the task?"""
    right = _reach([1, 2, 4, 8])
    return by_number(
        answer,
        right,
        {
            right - 1: "so many places the news travels; n counts both ends.",
            right - 2: "so many symbols lie between the two ends; n counts both.",
            right + 1: "this is the first length that it cannot learn.",
            _reach([1, 1, 1, 1]): "so far reach neighbours, without gaps.",
            _reach([1, 3, 9, 27]): "so far reach gaps that grow threefold.",
            sum([1, 2, 4, 8]): "this is the sum of the gaps; each layer reaches two gaps further.",
            3 * sum([1, 2, 4, 8]): "this is three times the sum of the gaps; the end counts once.",
            _reach([8]): "so far reaches the last layer; the others reach further, too.",
            4 * 3: "these are the words of four kernels; with gaps they reach further.",
            _reach([1, 2, 4, 8], 2): "so far reach kernels of two; these read three words.",
            _reach([1, 2, 4, 8], 4): "each layer reaches two gaps further, not three.",
            _reach([1, 2, 4, 8], 5): "each layer reaches two gaps further, not four.",
            _reach([2, 3, 5, 9]): "a gap of 1 is the neighbour; no word lies between.",
            _reach([1, 2, 4, 8, 16]): "so far reach five layers, the last with a gap of 16.",
            _reach([2, 4, 8]): "so far reach the last three layers; the first one reaches, too.",
            _reach([1, 2]): "so far reach the first two layers; there are four.",
            _reach([8, 8, 8, 8]): "so far reach gaps of 8 in every layer.",
            3 * 8: "this is three times the last gap; all layers reach further.",
            8: "this is the last gap; all layers reach further.",
            1 * 2 * 4 * 8: "this is the product of the gaps; what the layers reach adds up.",
            4 * 3 + 1: "these are four kernels and one; with gaps they reach further.",
            27: "this is 3³; gaps that double do not multiply the reach by three.",
        },
    )


PLACES = (Path("records"), Path(__file__).parents[4] / "book" / "records")


@cache
def _milliseconds() -> dict[tuple[str, int], float]:
    """The times of layers_times.csv, by the layer and the length; of nothing if it is missing."""
    for place in PLACES:
        if (place / "layers_times.csv").exists():
            with (place / "layers_times.csv").open(encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            return {(row["layer"], int(row["length"])): float(row["milliseconds"]) for row in rows}
    return {}


def _supported(times: dict[tuple[str, int], float]) -> str:
    """The letters of the sentences that hold for these times, and say no more than they do."""
    lengths = sorted({length for _, length in times})
    attention = [times["self-attention", n] for n in lengths]
    holds = {
        "A": 2 * times["self-attention", 256] < times["recurrent", 256],
        "B": all(2 * a <= b for a, b in pairwise(attention)),
        "C": times["self-attention", 1024]
        < times["recurrent", 1024]
        < times["self-attention, written out", 1024],
        "D": False,  # nothing longer was measured
        "E": False,  # a time does not tell its cause
    }
    return "".join(letter for letter, true in holds.items() if true)


@Question
def record_of_times(answer: object) -> str:
    """Which of five sentences does the record of times support?"""
    times = _milliseconds()
    if not times:
        return "the record is not here; run this notebook in the folder book, beside records."
    return by_letters(
        answer,
        _supported(times),
        {
            "A": "compare the two times at 256.",
            "B": "divide each time by the one before: twice the words need less than twice, "
            "and later more than twice the time.",
            "C": "compare the three times at 1,024.",
            "D": "nothing longer than 1,024 was timed, and the advantage shrinks there.",
            "E": "times do not tell their cause; another record, with larger portions, tests it.",
        },
    )
