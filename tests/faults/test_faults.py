"""A short version of each fault; ``python -m tests.faults --all`` has all of them, as often as they say.

The ordinary suite has one of each sort, and ``-m apart`` the others.
"""

import pytest

from tests.faults.fault import Fault, Impossible
from tests.faults.rows import FAULTS

SAMPLE = (
    "worker-killed",
    "words-types",
    "workload-raises",
    "end-screen-kill",
    "end-run-sigterm",
    "fork-refused",
)

MARKED = [
    pytest.param(fault, id=fault.name, marks=() if fault.name in SAMPLE else pytest.mark.apart)
    for fault in FAULTS
    if fault.short
]


@pytest.mark.real
@pytest.mark.parametrize("fault", MARKED)
def test_survives(fault: Fault) -> None:
    try:
        fault.inject()
    except Impossible as reason:
        pytest.skip(str(reason))


def test_each_fault_has_a_name_of_its_own() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names)
