"""What lasts: told after a second, updated, ended; blocks of a loop, and what is known of a whole process."""

import json
import re

import pytest
from msgspec import structs

from concwatch.exporters.event_lines import JsonEvents
from concwatch.links.agent_messages import AgentTick, Lasting, LoopLag, WaitPlace, decode_report
from concwatch.links.messages import Block, StackFrame
from concwatch.measure.watch_report import watch_report
from concwatch.monitor.verdicts.events import latest
from tests.watch_driver import WatchBench

STACK = (StackFrame("get", "/lib/queue.py:171"), StackFrame("sync_queue", "/srv/app.py:68"))

TICK = AgentTick(1.0, created=1, live=1, ended=0, loops=(LoopLag("loop 1"),))


def block(seconds, number=1, ended=False, **fields):
    return Block(number, "loop 1", seconds, ended=ended, **{"stack": STACK, "own": (1,), **fields})


def reported(bench):
    """Return the events but those about agents: kind, text, and how many events earlier the first one was."""
    return [
        (event.kind, event.text, event.updates and event.number - event.updates)
        for event in bench.watching.events.since(0)
        if event.kind != "agent"
    ]


def report_of(bench):
    return watch_report(bench.watching.snapshot(), [], None)


@pytest.fixture
def bench():
    return WatchBench()


@pytest.fixture
def agent(bench):
    return bench.agent(40)


def last_for(bench, agent, seconds, **fields):
    """Let a block last so long, as an agent reports it."""
    for second in range(1, seconds + 1):
        agent.report(TICK, block(float(second), **fields))
        bench.advance(1)


def test_a_block_is_told_while_it_lasts_and_updated_and_its_end_is_told(bench, agent):
    last_for(bench, agent, 700)
    agent.report(block(700.5, ended=True))
    bench.advance()
    where = "in sync_queue (srv/app.py:68)"
    assert reported(bench) == [
        ("block", f"loop 1 blocked for 1 s so far {where}", 0),
        ("block", f"loop 1 blocked for 10 s so far {where}", 1),
        ("block", f"loop 1 blocked for 60 s so far {where}", 2),
        ("block", f"loop 1 blocked for 10 min 00 s so far {where}", 3),
        ("block_ended", f"loop 1 blocked for 11 min 40 s {where}", 4),
    ]
    assert report_of(bench)["event_counts"]["block"] == 1


def test_an_update_says_which_event_it_updates_as_json(bench, agent):
    lines = JsonEvents(bench.watching)
    last_for(bench, agent, 11)
    agent.report(block(11.5, ended=True))
    bench.advance()
    _, first, update, end = [json.loads(line) for _, line in lines.events()]
    assert (first["number"], first["updates"]) == (2, None)
    assert [one["updates"] for one in (update, end)] == [2, 2]
    for one in (first, update, end):
        assert (one["function"], one["where"]) == ("sync_queue", "/srv/app.py:68")
    assert [one["severity"] for one in (first, update, end)] == ["warning", "warning", "info"]


def test_on_the_screen_what_lasts_is_one_line(bench, agent):
    last_for(bench, agent, 11)
    agent.report(block(11.5, ended=True))
    bench.advance()
    events = bench.watching.events.since(0)
    watched, line = latest(events)
    assert watched == events[0]
    assert (line.time, line.text, line.severity) == (events[1].time, events[-1].text, "info")


def test_what_lasts_now_is_in_the_report_and_the_status_of_the_process(bench, agent):
    last_for(bench, agent, 3)
    (lane,) = bench.watching.snapshot().lanes
    assert [one.brief for one in lane.status.ongoing] == ["blocked for 3 s in sync_queue (srv/app.py:68)"]
    (process,) = report_of(bench)["processes"]
    assert process["ongoing"] == [
        {
            "kind": "block",
            "seconds": 3.0,
            "text": "loop 1 blocked for 3 s so far in sync_queue (srv/app.py:68)",
            "function": "sync_queue",
            "where": "/srv/app.py:68",
        }
    ]
    agent.report(block(3.2, ended=True))
    bench.advance()
    (process,) = report_of(bench)["processes"]
    assert process["ongoing"] == []


def test_blocks_of_seconds_that_come_again_and_again_are_told_at_decades_or_once_they_last(bench, agent):
    for number in range(1, 12):
        agent.report(block(1.0, number))
        bench.advance()
        agent.report(block(1.5, number, ended=True))
        bench.advance()
    assert [kind for kind, _, _ in reported(bench)] == ["block", "block_ended"] * 2
    agent.report(block(10.0, 12))
    bench.advance()
    assert reported(bench)[-1][:2] == (
        "block",
        "loop 1 blocked for 10 s so far in sync_queue (srv/app.py:68)",
    )


def test_a_block_that_the_process_does_not_survive_ends_with_it(bench, agent):
    last_for(bench, agent, 2)
    agent.disconnect()
    bench.advance()
    bench.running.clear()
    bench.advance(1)
    kinds = [kind for kind, _, _ in reported(bench)]
    assert kinds == ["block", "block_ended", "ended"]
    assert reported(bench)[1][1].endswith("(srv/app.py:68); then the process ended")
    (process,) = report_of(bench)["processes"]
    assert [(place["function"], place["count"], place["seconds"]) for place in process["blocks"]] == [
        ("sync_queue", 1, 2.0)
    ]


def set_state(bench, state, **fields):
    bench.watching.lanes[0].readings.reader.throttling = {"state": state, **fields}


def test_a_process_that_is_stopped_is_told_and_its_loops_are_not_called_blocked_too(bench, agent):
    agent.report(TICK)
    bench.advance()
    set_state(bench, "T")
    bench.advance(12)
    set_state(bench, "S")
    agent.report(TICK, block(12.0, cause="stopped", stack=(), own=()))
    bench.advance()
    agent.report(TICK, block(12.1, cause="stopped", stack=(), own=(), ended=True))
    bench.advance(0.5)
    why = "by a signal, such as SIGSTOP; SIGCONT continues it"
    assert [(kind, back) for kind, _, back in reported(bench)] == [
        ("stopped", 0),
        ("stopped", 1),
        ("stopped_ended", 2),
    ]
    assert re.fullmatch(rf"process stopped for 10(\.1)? s so far {why}", reported(bench)[1][1])
    (process,) = report_of(bench)["processes"]
    assert process["blocks"][0]["cause"] == "stopped"


def listen(bench, agent, seconds):
    """Let the agent report for some seconds."""
    for _ in range(round(seconds * 10)):
        agent.report(TICK)
        bench.advance()


class BusyReader:
    """Reads a process that uses a share of a core."""

    def __init__(self, bench, share):
        self._bench, self._share, self._reader = bench, share, bench.watching.lanes[0].readings.reader

    def read(self):
        self._reader.throttling = {"state": "R" if self._share else "S"}
        reading = self._reader.read()
        return type(reading)(
            reading.rss,
            self._share,
            reading.threads,
            cpu_seconds=self._share * self._bench.now,
            state=reading.state,
        )


def test_code_that_holds_the_lock_is_told_and_named_once_the_agent_can_run_again(bench, agent):
    bench.watching.lanes[0].readings.reader = BusyReader(bench, 1.0)
    agent.report(TICK)
    bench.advance(12)
    assert [kind for kind, _, _ in reported(bench)] == ["block", "block"]
    rest = "so far by code that holds the interpreter's lock and uses 100 % of a core, such as .*"
    assert re.fullmatch(rf"process blocked for 10(\.1)? s {rest}", reported(bench)[1][1])
    agent.report(TICK, block(12.0, ended=True, exact=False))
    listen(bench, agent, 2)
    assert reported(bench)[2] == (
        "block_ended",
        "loop 1 blocked for 12 s at or before sync_queue (srv/app.py:68)",
        2,
    )
    assert len(reported(bench)) == 3


def test_the_line_of_code_that_holds_the_lock_is_asked_for_outside_the_agent(bench):
    bench.host.request_stack = lambda *asked: requests.append(asked)
    requests = []
    agent = bench.agent(40)
    bench.watching.lanes[0].readings.reader = BusyReader(bench, 1.0)
    agent.report(structs.replace(TICK, stack_signal=58))
    bench.advance(0.9)
    assert requests == [(40, 58)]
    for line in (
        "Current thread 0x00007f (most recent call first):",
        '  File "/opt/lib/python3.11/re/__init__.py", line 166 in match',
        '  File "/srv/app.py", line 7 in validate',
        '  File "/srv/app.py", line 12 in login',
        '  File "/opt/lib/python3.11/asyncio/events.py", line 80 in _run',
        '  File "/srv/app.py", line 99 in <module>',
    ):
        report = decode_report(line.encode())
        agent.report(*([report] if report else []))
    bench.advance(0.5)
    ((_, text, _),) = reported(bench)
    assert re.fullmatch(
        r"process blocked for 1(.1)? s so far in validate \(srv/app.py:7\), called by login "
        r"\(srv/app.py:12\) by code that holds the interpreter's lock and uses 100 % of a core",
        text,
    )
    bench.advance(9)
    assert len(requests) == 2


def test_code_that_holds_the_lock_and_waits_is_told_after_ten_seconds(bench, agent):
    bench.watching.lanes[0].readings.reader = BusyReader(bench, 0.0)
    agent.report(TICK)
    bench.advance(9)
    assert reported(bench) == []
    bench.advance(3)
    ((kind, text, _),) = reported(bench)
    assert kind == "block"
    assert text.endswith(
        "so far without using CPU time: it is frozen, or code that holds the interpreter's lock waits"
    )
    agent.report(TICK, block(12.0, ended=True, cause="stopped", stack=(), own=()))
    listen(bench, agent, 2)
    assert [kind for kind, _, _ in reported(bench)] == ["block", "block_ended"]


def test_a_process_that_only_waits_for_a_processor_is_not_called_blocked(bench, agent):
    bench.watching.lanes[0].readings.reader = BusyReader(bench, 0.01)
    agent.report(TICK)
    bench.advance(30)
    assert reported(bench) == []


PLACES = (WaitPlace("/srv/app.py:12", 1, "left", "lock_b"), WaitPlace("/srv/app.py:19", 1, "right", "lock_a"))


def test_a_deadlock_of_threads_and_a_shutdown_are_told_by_the_same_rule(bench, agent):
    agent.report(Lasting(1, "deadlock", 2.0, places=PLACES))
    agent.report(Lasting(2, "shutdown", 3.0, places=(WaitPlace("/srv/app.py:30", 2, "worker", "Event"),)))
    bench.advance()
    agent.report(Lasting(2, "shutdown", 4.0, ended=True, places=(WaitPlace("/srv/app.py:30", 2, "worker"),)))
    bench.advance()
    assert reported(bench) == [
        (
            "deadlock",
            "2 threads deadlocked for 2 s so far, each waits for the next: left at srv/app.py:12 for lock_b, "
            "right at srv/app.py:19 for lock_a",
            0,
        ),
        (
            "shutdown",
            "shutdown waiting for 3 s so far for 2 cancelled tasks: worker at srv/app.py:30 for Event",
            0,
        ),
        ("shutdown_ended", "shutdown waiting for 4 s for 2 cancelled tasks: worker at srv/app.py:30", 1),
    ]
