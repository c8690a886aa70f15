"""Recordings of watched programs, loaded and replayed."""

import pytest

from concwatch.links.agent_messages import WaitPlace, Waits
from concwatch.links.messages import Block, StackFrame
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import FileWriter
from concwatch.ui.apps.replay_app import ReplayApp
from concwatch.ui.widgets.lanes.process_list import ProcessList, details
from concwatch.ui.widgets.tables.group_table import GroupTable
from tests.watch_driver import WatchBench


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a recording of two processes; the second one runs from second 4 to second 8."""
    path = tmp_path_factory.mktemp("recorded") / "watched.jsonl"
    bench = WatchBench()
    recorder = Recorder(path, FileWriter(path), "concwatch watch -- app.py", ())
    recorder.observe(bench.watching)
    first, second = bench.agent(40), None
    bench.watching.lanes[0].readings.reader.pss = 30 << 20
    for at in range(10):
        first.report_groups(at, fetch_page=(3, 10 * at), parse=1)
        if at == 4:
            second = bench.agent(41, "worker.py")
        if 4 <= at < 8:
            second.report_groups(at, fetch_page=(at, at))
        if at == 8:
            second.disconnect()
            bench.running.discard(41)
        if at == 5:
            first.report(Waits(1, 3, 3, (WaitPlace("/srv/app.py:12", 3, "fetch_page"),)))
            first.report(Block(1, "loop 1", 0.3, stack=(StackFrame("hash", "/srv/app.py:3"),), own=(0,)))
        if at == 7:
            first.report(Block(2, "loop 1", 0.2, cause="gc"))
        bench.advance(1.0)
    first.disconnect()  # its process runs on
    bench.advance(2.0)
    recorder.stop("done")
    return load(path)


def test_pss_is_recorded_and_shown(recorded):
    snapshot = recorded.snapshot(3.0)
    assert snapshot.total_pss == 30 << 20
    assert ("PSS", "30 MiB") in details(snapshot.lanes[0])


def test_lanes_groups_and_waits_appear_at_the_time_they_were_reported(recorded):
    assert recorded.watched
    lanes = recorded.snapshot(8.1).lanes
    assert [(lane.name, lane.live) for lane in lanes] == [("app.py 40", 4), ("worker.py 41", 7)]
    assert recorded.groups(1, 2.0) == ()
    (group,) = recorded.groups(1, 8.1)
    assert (group.name, group.live) == ("fetch_page", 7)
    (ended,) = recorded.groups(1, 11.5)  # without its last report
    assert (ended.live, ended.created, "created" in ended.at_least) == (None, 7, True)
    assert (len(recorded.groups(0, 9.9)), recorded.groups(0, 11.5)) == (2, ())
    assert recorded.groups(0, 4.0)[0].waits == ()
    assert recorded.groups(0, 8.0)[0].waits[0].where == "/srv/app.py:12"


def test_what_lasts_is_recorded_with_the_event_that_is_updated(tmp_path):
    path, bench = tmp_path / "lasting.cwr", WatchBench()
    bench.watching.log("", "before the recording")
    first = bench.agent(40)
    recorder = Recorder(path, FileWriter(path), "concwatch watch -- app.py", ())
    recorder.observe(bench.watching)
    for second in (1, 10, 11):
        first.report(
            Block(1, "loop 1", float(second), ended=False, stack=(StackFrame("get", "/srv/app.py:3"),))
        )
        bench.advance(1.0)
    first.report(Block(1, "loop 1", 11.5, stack=(StackFrame("get", "/srv/app.py:3"),)))
    bench.advance(1.0)
    recorder.stop("done")
    recorded = load(path)
    assert [one.brief for one in recorded.snapshot(2.5).lanes[0].status.ongoing] == [
        "blocked for 11 s in get (srv/app.py:3)"
    ]
    assert recorded.snapshot(4.0).lanes[0].status.ongoing == ()
    assert [
        (event.number, event.kind, event.updates) for event in recorded.snapshot(4.0).events.since(0)
    ] == [
        (1, "block", 0),
        (2, "block", 1),
        (3, "block_ended", 1),
    ]


def test_blocks_appear_at_the_time_they_were_reported(recorded):
    assert recorded.snapshot(5.0).lanes[0].blocks == ()
    (place,) = recorded.snapshot(7.0).lanes[0].blocks
    assert (place.function, place.count, place.longest) == ("hash", 1, 0.3)
    assert place.stack == (StackFrame("hash", "/srv/app.py:3"),)
    assert [one.cause for one in recorded.snapshot(9.0).lanes[0].blocks] == ["code", "gc"]
    first, second = recorded.snapshot(9.0).blocks.since(0)
    assert (first.lane, first.text) == ("app.py 40", "300 ms in hash (srv/app.py:3)")
    assert first.time < second.time
    assert recorded.snapshot(9.0).marks.count == 0


async def test_the_replay_shows_the_processes_and_the_filtered_table_of_groups(recorded, tmp_path):
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
        assert [line.plain.strip("▌ ").split()[:1] for line in table.rows(112)[1:3]] == [["parse"], []]
