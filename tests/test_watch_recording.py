"""Recordings of watched programs: what is written while one runs is what its replay shows."""

import pytest

from concwatch.links.agent_messages import WaitPlace, Waits
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import FileWriter
from concwatch.ui.replay_app import ReplayApp
from concwatch.ui.widgets.group_table import GroupTable
from concwatch.ui.widgets.process_list import ProcessList
from tests.watch_driver import WatchBench


@pytest.fixture
def recorded(tmp_path):
    """Return a recording of two processes, of which the second lives from the fourth second to the eighth."""
    path = tmp_path / "watched.jsonl"
    bench = WatchBench()
    recorder = Recorder(path, FileWriter(path), "concwatch watch -- app.py", ())
    recorder.observe(bench.watching)
    one, other = bench.agent(40), None
    for at in range(10):
        one.holds(at, fetch_page=(3, 10 * at), parse=1)
        if at == 4:
            other = bench.agent(41, "worker.py")
        if 4 <= at < 8:
            other.holds(at, fetch_page=(at, at))
        if at == 8:
            other.ends()
            bench.there.discard(41)
        if at == 5:
            one.say(Waits(1, 3, 3, (WaitPlace("/srv/app.py:12", 3, "fetch_page"),)))
        bench.pass_(1.0)
    recorder.stop("done")
    return load(path)


def names(recording):
    return [lane.name for lane in recording.snapshot(recording.duration).lanes]


def test_a_process_that_comes_later_has_a_lane_from_then_on(recorded):
    assert names(recorded) == ["app.py 40", "worker.py 41"]
    assert recorded.watched
    assert recorded.groups(1, 2.0) == ()
    (group,) = recorded.groups(1, 8.1)
    assert (group.name, group.live) == ("fetch_page", 7)
    live = [lane.live for lane in recorded.snapshot(8.1).lanes]
    assert live == [4, 7]


def test_where_tasks_wait_is_recorded_with_their_group(recorded):
    assert recorded.groups(0, 4.0)[0].waits == ()
    assert recorded.groups(0, 8.0)[0].waits[0].where == "/srv/app.py:12"


async def test_a_replay_has_the_processes_and_the_table_as_they_were(recorded, tmp_path):
    app = ReplayApp(recorded, "watched.jsonl", pictures=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "end")
        await pilot.pause()
        processes = app.screen.query_one(ProcessList)
        assert any("worker.py" in line.plain for line in processes.rows(36))
        await pilot.press("home")
        for _ in range(6):
            await pilot.press("right")
        await pilot.pause()
        table = app.screen.query_one(GroupTable)
        assert table.rows(112)[1].plain.split()[:3] == ["▌fetch_page", "srv/app.py:10", "8"]
        await pilot.press("slash", *"pars", "enter")
        await pilot.pause()
        assert [line.plain.strip("▌ ").split()[0] for line in table.rows(112)[1:]] == ["parse"]
