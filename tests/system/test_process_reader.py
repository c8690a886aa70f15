"""Figures from ``/proc``: how often the PSS of a process is read, and what of RSS is memory that is held."""

from unittest.mock import Mock

import pytest

from concwatch.portable.machine.process_reader import LINUX, PssReader, SharedGrowth, memory_figures
from concwatch.system.process import Reading

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


STATUS = """\
Name:\tpython3
VmSize:\t  900000 kB
VmHWM:\t  400000 kB
VmRSS:\t  330000 kB
RssAnon:\t   20000 kB
RssFile:\t  300000 kB
RssShmem:\t   10000 kB
VmPTE:\t     700 kB
Threads:\t3
"""


def test_pages_of_files_are_told_from_memory_that_is_held():
    figures = memory_figures(STATUS)
    assert (figures["anonymous"], figures["shared"]) == (20_000 << 10, 10_000 << 10)
    reading = Reading(cpu=0.0, shared_grown=4_000 << 10, **figures)
    assert (reading.file_pages, reading.held) == (300_000 << 10, 24_000 << 10)
    old = memory_figures("".join(line for line in STATUS.splitlines(True) if not line.startswith("Rss")))
    assert (old["anonymous"], old["shared"]) == (None, None)
    reading = Reading(cpu=0.0, **old)
    assert (reading.file_pages, reading.held) == (None, 330_000 << 10)


def test_shared_memory_counts_as_far_as_the_machine_has_more_of_it():
    machine = [500]
    shared = SharedGrowth(lambda: machine[0])

    def read(of_process, of_machine):
        machine[0] = of_machine
        return shared.fields({"shared": of_process})["shared_grown"]

    assert read(100, 500) == 0, "what it had at first"
    assert read(300, 500) == 0, "it reads what exists: a file in a tmpfs"
    assert read(400, 600) == 100, "it has allocated"
    assert read(400, 900) == 100, "another program has"
    assert read(500, 550) == 100, "another one has freed more than it has allocated"
    assert read(450, 500) == 50, "it has freed"
    assert read(0, 300) == 0
    assert shared.fields({"shared": None}) == {}
