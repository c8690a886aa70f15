"""The monitor that agents of these tests report to."""

import pytest

from tests.agent_driver import Monitor


@pytest.fixture
def monitor():
    """A monitor that kills the programs it has started at the end of the test."""
    with Monitor() as monitor:
        yield monitor
