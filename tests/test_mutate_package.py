"""The mutants of the package: what is broken, what is not, and the list of those that live."""

import csv

import pytest

from mutate_package import SURVIVING, mutants

pytestmark = pytest.mark.nightly  # those of the mutants


@pytest.mark.slow
def test_a_mutant_that_lives_has_a_reason_and_is_one_that_is_made():
    with SURVIVING.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert all(len(row["reason"]) > 10 for row in rows)
    for module in {row["module"] for row in rows}:
        listed = {row["change"] for row in rows if row["module"] == module}
        assert listed <= {mutant.change for mutant in mutants(module)}
