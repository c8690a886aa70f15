"""What scans conclude from the tasks that they find."""

import time

from concwatch.portable.agent.basics.part import Part
from concwatch.portable.agent.counting import scan
from concwatch.portable.agent.counting.counted_group import CountedGroup
from concwatch.portable.agent.sending.scans import TimeSlices


def test_a_task_that_is_about_to_be_counted_is_no_uncounted_one(monkeypatch):
    observed = []
    monkeypatch.setattr(scan.STARTS, "observe", lambda group, code: observed.append(group))
    group = CountedGroup(1, "asyncio", "job")

    def scanned(counted, found):
        while group.counted() < counted:
            group.count()
        scan.Scan._update_group(group, group.key, {group.key: counted}, {group.key: found}, {})
        return group.created(), group.live, group.ended

    assert scanned(50, 51) == (50, 50, 0)  # one more was created, and counted just afterwards
    assert scanned(51, 51) == (51, 51, 0)
    assert observed == []
    assert scanned(51, 53) == (51, 51, 0)
    assert scanned(51, 53) == (53, 53, 0)  # these were never counted
    assert observed == [group]


class Burning(Part):
    """A part whose slices take a millisecond of CPU time."""

    is_urgent, due = False, 0.0

    def step(self, now):
        ends = time.thread_time() + 0.001
        while time.thread_time() < ends:
            pass


def test_what_the_rest_of_the_agent_takes_makes_slices_rarer_but_leaves_them_some_time():
    slices = TimeSlices(Burning(), Part())
    slices.connect(0)
    slices.step(time.monotonic())
    slices.charge(0.001)
    after_a_slice = slices.due
    slices.charge(0.0002)
    assert slices.due > after_a_slice
    for _ in range(100):
        slices.charge(0.01)  # of ticks, twice as much as is the agent's share
    assert slices.due < after_a_slice + 5.0
