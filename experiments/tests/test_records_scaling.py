"""The record of the factor in the scores: its models, and how its rates were chosen."""

from collections import defaultdict

import pytest
import torch

from records import scaling, tables
from records.scaling import FACTORS, FRESH, MODELS, RATES, Party
from records.tables import RECORDS

ROWS = tables.read(RECORDS / "scaling.csv")


def test_the_models_differ_in_what_their_names_say() -> None:
    def weights(name: str) -> torch.Tensor:
        torch.manual_seed(0)
        (weight,) = Party(MODELS[name], 16).head.query.parameters()
        return weight.detach()

    plain = weights("1")
    assert all(torch.equal(weights(name), plain) for name in (*FACTORS, "small step", "fixed"))
    torch.testing.assert_close(weights("small start"), plain / 4)
    assert [Party(kind, 16).head.scale for kind in FACTORS.values()] == [1, 1 / 4, 1 / 16]
    shared = Party(MODELS["shared"], 16).head
    assert shared.key is shared.query


def test_every_model_had_the_same_trials_and_no_fresh_seed_chose() -> None:
    assert not set(scaling.CHOOSING) & set(FRESH)
    runs = defaultdict(lambda: defaultdict(list))
    for row in ROWS:
        runs[row["model"], int(row["d_k"])][float(row["rate"])].append(int(row["seed"]))
    assert {name for name, _ in runs} == set(MODELS)
    for (name, d_k), rates in runs.items():
        assert set(rates) == set(scaling.rates_of(name))
        fresh = scaling.fresh_rates(ROWS, name, d_k)
        for rate, seeds in rates.items():
            assert seeds == [*scaling.CHOOSING, *(FRESH if rate in fresh else ())]


@pytest.mark.parametrize("step", scaling.STEPS)
@pytest.mark.parametrize("d_k", scaling.WIDTHS)
@pytest.mark.parametrize("name", FACTORS)
def test_the_best_rate_of_a_factor_is_none_of_the_ends(name: str, d_k: int, step: int) -> None:
    assert min(RATES) < scaling.best_rate(ROWS, name, d_k, step) < max(RATES)
