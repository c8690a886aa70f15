"""A short fault of each sort; ``python -m tests.faults`` has more of them, with ``--all`` all."""

import pytest

from tests.faults.all_faults import FAULTS
from tests.faults.fault import Impossible

SAMPLE = (
    "worker-killed",
    "words-types",
    "workload-raises",
    "end-screen-kill",
    "end-run-sigterm",
    "fork-refused",
    "budget-small",
    "uvloop-crashing",
    "terminal-1x1",
)


@pytest.mark.real
@pytest.mark.parametrize("name", SAMPLE)
def test_survives(name: str) -> None:
    try:
        FAULTS[name].inject()
    except Impossible as reason:
        pytest.skip(str(reason))
