"""Figures from ``/proc``: how often the PSS of a process is read."""

from unittest.mock import Mock

import pytest

from concwatch.system.proc import LINUX, PssReader

pytestmark = pytest.mark.skipif(not LINUX, reason="only Linux has it")

MIB = 1 << 20


def test_pss_is_read_seldom_and_more_often_while_rss_changes():
    read = Mock(side_effect=[7 * MIB, 8 * MIB, 9 * MIB, None])
    reader = PssReader(40, read)
    found = [reader.at(second, 40 * MIB) for second in (0.0, 4.0, 5.5)]
    assert found == [7 * MIB, 7 * MIB, 8 * MIB]
    assert [reader.at(second, 80 * MIB) for second in (6.0, 7.0)] == [8 * MIB, 9 * MIB]
    assert reader.at(13.0, 80 * MIB) == 9 * MIB  # it cannot be read any more
    assert read.call_count == 4
