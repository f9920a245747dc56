"""The records of growth: one size is varied at a time, counts follow formulas, exponents fit."""

from dataclasses import replace

import pytest

from records import growth
from records.growth import BASE, CURVES
from records.tables import RECORDS, read
from transformer_workbook.notebook.intervals import Interval

SMALL = replace(BASE, length=5, batch=2, layers=1, width=8, vocabulary=12)
TIMES, FITS = (read(RECORDS / f"{name}.csv") for name in ("growth_times", "growth"))


def test_the_record_has_the_exponents_of_its_times():
    assert [growth.fit(TIMES, *curve) for curve in CURVES] == [
        {k: float(v) if k not in ("work", "varied", "time_is") else v for k, v in row.items()}
        for row in FITS
    ]


def test_parts_have_more_calls_and_no_more_operations():
    own = [row for row in TIMES if row["varied"] == "parts" and row["round"] == "1"]
    assert len({row["operations"] for row in own}) == 1
    calls = [int(row["calls"]) for row in own]
    assert calls == sorted(set(calls))


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_an_exponent_is_the_slope_between_logarithms(power):
    rows = [{"value": v, "calls": 3 * v**power} for v in (2, 4, 8, 16)]
    assert growth.exponent(rows, "calls") == pytest.approx(power)


@pytest.mark.parametrize(
    ("low", "high", "where"),
    [(0.5, 0.6, "between"), (-0.3, -0.2, "below"), (1.2, 1.3, "above"), (1.05, 1.3, "between")],
)
def test_where_an_exponent_lies(low, high, where):
    assert growth.place(Interval((low + high) / 2, low, high), calls=0.0, products=1.0) == where


def test_the_operations_are_those_of_the_formula():
    n, d, v, batch = SMALL.length, SMALL.width, SMALL.vocabulary, SMALL.batch
    linear = 2 * n * d * d * (4 + 8) + 2 * n * d * d * (8 + 8)  # encoder; decoder
    attention = 3 * 2 * 2 * n * n * d  # two in the decoder
    forward = linear + attention + 2 * n * d * v
    assert growth.counted("training", SMALL)["operations"] == 3 * batch * forward


@pytest.mark.parametrize("layers", [1, 3])
def test_of_what_is_kept_only_the_masks_of_the_decoder_grow_like_the_square(layers):
    def kept(length):
        sizes = replace(SMALL, layers=layers, length=length)
        model = growth.build(sizes)
        return growth.kept_for_backward(model, growth.training(model, sizes))

    one, two, three = (kept(n) for n in (8, 16, 24))
    assert three - 2 * two + one == 2 * 8**2 * layers * SMALL.batch


def test_the_page_says_of_decoding_what_the_fits_say() -> None:
    rows = {row["varied"]: row for row in FITS if row["work"] == "decoding"}
    assert float(rows["length"]["low"]) > float(rows["length"]["operations"])
    assert float(rows["layers, all the same"]["high"]) < float(rows["layers"]["low"])
