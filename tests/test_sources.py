"""What the lecture notes print that the course grew from, computed by our code."""

import csv
from pathlib import Path

import pytest
import torch

from annotated_transformer.masking import causal_mask
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.soft_lookup import masked_softmax
from oracles import assert_close

RECORDS = Path(__file__).parent.parent / "book" / "records"


def rows_of(name):
    return list(csv.reader((RECORDS / name).read_text().splitlines()))[1:]


def printed(matrix):
    """One matrix of the example of masked attention, as the note prints it."""
    return [numbers for kind, _, *numbers in rows_of("note_masked_softmax.csv") if kind == matrix]


def weights_when_divided_by(divisor):
    scores = torch.tensor([[float(number) for number in row] for row in printed("scores")])
    weights = masked_softmax(scores.double()[None, None] / divisor, causal_mask(4))[0, 0]
    # The note prints two decimals, and no decimals for what is exactly 0 or 1.
    return [
        [f"{w:.2f}" if 0 < w < 1 else f"{w:.0f}" for w in row] for row in weights.tolist()
    ]  # fmt: skip


def test_the_masked_scores_divided_by_four_give_the_printed_weights():
    assert weights_when_divided_by(4) == printed("weights")


@pytest.mark.parametrize("divisor", [1, 2, 8])
def test_no_other_likely_divisor_gives_them(divisor):
    assert weights_when_divided_by(divisor) != printed("weights")


def distances(encoding):
    return torch.cdist(encoding, encoding, compute_mode="donot_use_mm_for_euclid_dist")


def as_printed(matrix):
    return [[f"{distance:.3f}" for distance in row] for row in matrix.tolist()]


PRINTED_DISTANCES = [numbers for _, *numbers in rows_of("note_distances.csv")]


def test_the_printed_distances_are_not_those_of_the_formula_of_the_paper():
    computed = as_printed(distances(sinusoidal_encoding(10, 10)))
    assert [row[i] for i, row in enumerate(computed)] == ["0.000"] * 10
    same = sum(a == b for ours, note in zip(computed, PRINTED_DISTANCES, strict=True)
               for a, b in zip(ours, note, strict=True))  # fmt: skip
    assert same == 10  # the zeros from each position to itself


def test_the_printed_distances_are_those_of_a_frequency_for_every_column():
    position = torch.arange(10, dtype=torch.float64)[:, None]
    column = torch.arange(10, dtype=torch.float64)
    angle = position * 10000 ** (-column / 50)
    encoding = torch.where(column % 2 == 0, angle.sin(), angle.cos())
    assert as_printed(distances(encoding)) == PRINTED_DISTANCES


def test_in_ten_dimensions_distance_does_not_grow_with_the_offset():
    encoding = sinusoidal_encoding(10, 10)
    assert_close(encoding.norm(dim=1), torch.full((10,), 5**0.5, dtype=torch.float64))
    for start in range(4):
        near, far = encoding[start + 3], encoding[start + 6]
        assert (far - encoding[start]).norm() < (near - encoding[start]).norm()


def test_in_512_dimensions_distance_grows_up_to_an_offset_of_43():
    from_the_first = distances(sinusoidal_encoding(60, 512))[0]
    grows = from_the_first.diff() > 0
    assert grows[:43].all()
    assert not grows[43]
