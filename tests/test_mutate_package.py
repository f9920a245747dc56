"""The mutants of the package: what is broken, what is not, and the list of those that live."""

import csv

import pytest

from mutate_package import ROOT, SURVIVING, TESTS, mutants, without_types

pytestmark = pytest.mark.nightly  # those of the mutants


def test_what_does_not_run_is_not_mutated():
    code = 'def f(x: int = 3) -> "y":\n    """Say."""\n    z: int = x | 1\n    return z'
    other = code.replace("int = 3", "str = 3").replace("Say", "Said").replace('"y"', '"n"')
    assert other != code
    assert without_types(other) == without_types(code)
    assert without_types(code.replace("x | 1", "x & 1")) != without_types(code)
    assert without_types(code.replace("= 3", "= 4")) != without_types(code)


def test_every_module_of_the_list_has_its_tests():
    for module, tests in TESTS.items():
        assert (ROOT / "annotated_transformer" / f"{module}.py").exists()
        assert all((ROOT / "tests" / f"test_{name}.py").exists() for name in tests)


@pytest.mark.slow
def test_a_mutant_that_lives_has_a_reason_and_is_one_that_is_made():
    with SURVIVING.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert all(len(row["reason"]) > 10 for row in rows)
    for module in {row["module"] for row in rows}:
        listed = {row["change"] for row in rows if row["module"] == module}
        assert listed <= {mutant.change for mutant in mutants(module)}
