"""What scans conclude from the tasks that they find."""

from concwatch.portable.agent.counting import scan
from concwatch.portable.agent.counting.counted_group import CountedGroup


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
