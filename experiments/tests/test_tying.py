"""The records of tied output weights are fair, and say what the start of the logits changes."""

from itertools import groupby, pairwise
from math import log

import pytest

from records import tying
from test_records import remade, rows_of
from transformer_workbook.notebook import Interval, paired_difference

START, TIED = rows_of("tied_start"), rows_of("tied")


def probabilities(start: str) -> list[list[float]]:
    """How probable the last token is, by width, for each model and position of its norms."""
    rows = [row for row in START if row["start"] == start]
    kinds = groupby(rows, lambda row: (row["model"], row["norm_position"]))
    return [[float(row["p_last_token"]) for row in group] for _, group in kinds]


def test_untrained_a_tied_model_repeats_its_last_token_the_more_the_wider_it_is() -> None:
    for by_width in probabilities("today"):
        assert all(narrow <= wide for narrow, wide in pairwise(by_width))
    assert [by_width[-1] > 0.99 for by_width in probabilities("today")] == [True, False, True, True]


def test_with_a_small_gain_it_does_so_alike_at_every_width_and_with_small_embeddings_less() -> None:
    for gain, small in zip(probabilities("small gain"), probabilities("std 0.02"), strict=True):
        assert max(gain) - min(gain) < 0.04
        assert max(gain) < 0.2
        assert small[0] < 1.5 / tying.VOCAB
        assert small == sorted(small)


def test_an_untrained_model_is_measured_again_as_it_stands_in_the_record() -> None:
    again = remade("tying.measure_start('language', 'pre', 128, 'today')")
    (stored,) = (row for row in START if all(row[key] == str(again[key]) for key in tying.KEYS))
    assert float(again["p_last_token"]) == pytest.approx(float(stored["p_last_token"]), abs=0.01)


def gain_of(task: str, start: str) -> Interval:
    """By how many nats a token a start is above that of today, in pairs of the same seed."""
    ours, today = (
        [log(float(row["val_perplexity"])) for row in TIED
         if row["model"] == f"{task}: {name}" and int(row["seed"])]
        for name in (start, "today")
    )  # fmt: skip
    return paired_difference(ours, today)


@pytest.mark.parametrize(
    ("task", "start", "sign"),
    [
        ("toy", "small gain", 0), ("captions", "small gain", 1), ("Multi30k", "small gain", 1),
        ("captions", "std 0.02", 1), ("trigrams", "small gain", -1),
    ],
)  # fmt: skip
def test_a_smaller_start_is_no_better_on_text_and_better_on_trigrams(
    task: str, start: str, sign: int
) -> None:
    assert gain_of(task, start).sign == sign
