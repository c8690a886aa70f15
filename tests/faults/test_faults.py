"""A few faults that no other test injects; ``python -m tests.faults`` runs the others."""

import pytest

from tests.faults.all_faults import FAULTS
from tests.faults.fault import Impossible

SAMPLE = (
    "wire-types",
    "workload-raises",
    "end-screen-kill",
    "fork-refused",
    "uvloop-crashing",
)


@pytest.mark.real
@pytest.mark.parametrize("name", SAMPLE)
def test_survives(name: str) -> None:
    try:
        FAULTS[name].inject()
    except Impossible as reason:
        pytest.skip(str(reason))
