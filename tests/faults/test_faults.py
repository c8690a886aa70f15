"""A short version of each fault; ``python -m tests.faults --all`` has all of them, as often as they say."""

import pytest

from tests.faults.fault import Fault, Impossible
from tests.faults.rows import FAULTS


@pytest.mark.real
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.short], ids=lambda fault: fault.name)
def test_survives(fault: Fault) -> None:
    try:
        fault.inject()
    except Impossible as reason:
        pytest.skip(str(reason))


def test_each_fault_has_a_name_of_its_own() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names)
