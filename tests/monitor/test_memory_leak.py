"""Memory of a watched process: what is judged, what is asked, and what the report has."""

import re

from msgspec import structs

from concwatch.links.agent_messages import AgentTick, AgentWaiting, MallocFigures, MemoryParts
from concwatch.measure.watch_report import watch_report
from concwatch.monitor.processes.watched import UNCONNECTED
from concwatch.ui.widgets.lanes.process_list import details
from tests.watch_driver import WatchBench

MIB = 1 << 20


class MemoryBench(WatchBench):
    """A process with an agent that says what memory is made of, and its reader."""

    def __init__(self):
        super().__init__()
        self.agent_of_app = self.agent(40)
        (self.lane,) = self.watching.lanes
        self.lane.set(ready=structs.replace(self.lane.current.ready, can=("waits", "memory")))

    def read(self, anonymous, files=0, shared=0, shared_grown=0):
        """Set what the next readings are, in MiB."""
        reader = self.lane.readings.reader
        reader.rss = (anonymous + files + shared) * MIB
        sizes = {"anonymous": anonymous, "shared": shared, "shared_grown": shared_grown}
        reader.throttling = {name: int(size * MIB) for name, size in sizes.items()}

    def kinds(self):
        return [event.kind for event in self.watching.events.since(0) if event.kind != "agent"]

    def asked(self):
        return [fields for type_, fields in self.agent_of_app.sent if type_ == "memory"]

    def process(self):
        (process,) = watch_report(self.watching.snapshot(), ["app.py"], None)["processes"]
        return process


def run(seconds, **sizes):
    """Return a bench after so many seconds; each of the ``sizes`` is a function of the time in MiB."""
    bench = MemoryBench()
    for second in range(seconds):
        bench.read(**{name: round(size(second)) for name, size in sizes.items()})
        bench.agent_of_app.report(AgentTick(float(second), live=0, ended=0, since=0))
        bench.advance(1.0)
    return bench


def test_pages_of_files_are_shown_and_never_called_a_leak():
    bench = run(230, anonymous=lambda t: 8, files=lambda t: 10 + t)
    assert bench.kinds() == []
    rows = dict(details(bench.watching.snapshot().lanes[0]))
    assert (rows["anonymous"], rows["file pages"]) == ("8 MiB", "239 MiB")
    process = bench.process()
    assert (process["anonymous"], process["file_pages"], process["shared"]) == (8 * MIB, 239 * MIB, 0)


def test_a_leak_beside_pages_of_files_is_told_by_its_own_rate():
    bench = run(75, anonymous=lambda t: 20 + t, files=lambda t: 10 + 5 * t)
    (event,) = [event for event in bench.watching.events.since(0) if event.kind == "growth"]
    assert re.match(r"memory grows by (59|60)[\d.]* MiB a minute", event.text)
    assert "tasks" not in event.text


def test_shared_memory_that_is_only_read_is_no_growth():
    assert run(60, anonymous=lambda t: 20, shared=lambda t: 5 * t).kinds() == []
    bench = run(75, anonymous=lambda t: 20, shared=lambda t: 5 * t, shared_grown=lambda t: 5 * t)
    (event,) = [event for event in bench.watching.events.since(0) if event.kind == "growth"]
    assert re.match(r"shared memory grows by (299|30\d) MiB a minute", event.text)


ANSWER = MemoryParts(
    rss=195 * MIB, anonymous=185 * MIB, file_pages=10 * MIB, shared=0, heap=175 * MIB, other=10 * MIB,
    heap_size=180 * MIB, arenas=170 * MIB, malloc=MallocFigures(180 * MIB, 176 * MIB, arenas=9),
)  # fmt: skip


def test_malloc_is_asked_once_memory_has_stopped_growing_and_the_event_is_taken_back():
    bench = MemoryBench()
    for second in range(90):
        bench.read(min(20 + 20 * second, 185) if second < 70 else 20, files=10)
        before = len(bench.asked())
        bench.advance(1.0)
        if len(bench.asked()) > before:
            bench.agent_of_app.report(ANSWER)
    assert [kind for kind in bench.kinds() if "malloc" in kind] == ["malloc", "malloc_withdrawn"]
    assert all(fields["longest"] == 0.02 for fields in bench.asked()), "nobody has asked for this"
    assert bench.process()["memory"]["parts"]["c_heap_free"] == 171 * MIB
    counts = watch_report(bench.watching.snapshot(), [], None)["event_counts"]
    assert (counts["malloc"], counts["malloc_withdrawn"]) == (0, 1)


def test_memory_that_is_asked_for_has_no_limit_and_is_null_in_the_report_until_then():
    bench = MemoryBench()
    bench.read(20)
    bench.advance()
    assert bench.process()["memory"] is None
    bench.watching.request_memory()
    assert bench.asked() == [{"longest": None}]
    bench.agent_of_app.report(ANSWER)
    bench.advance()
    assert bench.process()["memory"]["rss"] == 195 * MIB


def test_without_a_connected_agent_the_reason_is_given():
    bench = MemoryBench()
    bench.read(20, files=5)
    bench.agent_of_app.report(AgentWaiting())
    bench.agent_of_app.disconnect()
    bench.advance()
    bench.watching.request_memory()
    memory = bench.process()["memory"]
    assert memory["unknown"] == UNCONNECTED
    assert memory["parts"] == {"anonymous": 20 * MIB, "file_pages": 5 * MIB, "shared": 0, "unexplained": 0}
