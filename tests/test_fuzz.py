"""The fuzzer, `make fuzz`, has faults to find."""

import pytest

from fuzz.planted import FAULTS, ROOT, plant

pytestmark = pytest.mark.nightly  # the fuzzer's own


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.careless or fault.careful)
def test_a_fault_is_planted_where_the_care_is(fault, tmp_path):
    plant(fault, tmp_path)
    changed = [
        path.relative_to(tmp_path)
        for path in tmp_path.rglob("*.py")
        if path.read_bytes() != (ROOT / path.relative_to(tmp_path)).read_bytes()
    ]
    assert [path.as_posix() for path in changed] == [fault.module]
