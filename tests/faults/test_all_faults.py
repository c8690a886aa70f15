"""Each fault, in a process of its own. All but a few run apart, one after another: see README.md."""

import pytest

from tests.faults.all_faults import FAULTS
from tests.faults.fault import THOROUGH, Impossible, thorough
from tests.runner import in_process

LONG = 1_000.0
"""Seconds that only a thorough run may take for one fault."""

DAILY = {"wire-types", "workload-raises", "end-screen-kill", "fork-refused", "uvloop-crashing"}
"""The faults that no other test injects and that take little time."""


def marked(name: str) -> object:
    """Return a fault as a parameter with its marks."""
    fault = FAULTS[name]
    marks = [pytest.mark.timeout((fault.seconds + 30) * (fault.times if thorough() else 1))]
    return pytest.param(fault, id=name, marks=[*marks, *([] if name in DAILY else [pytest.mark.apart])])


@pytest.mark.real
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("fault", [marked(name) for name in FAULTS])
def test_survives(fault, record_property):
    if fault.seconds > LONG and not thorough():
        pytest.skip(f"takes up to {fault.seconds:,.0f} s: expected {THOROUGH} to be set")
    lost = []
    for _ in range(fault.times if thorough() else 1):
        try:
            lost.append(in_process(fault.inject, seconds=fault.seconds))
        except Impossible as reason:
            pytest.skip(str(reason))
    record_property("row", (fault.what, len(lost), [text for text in lost if text]))
