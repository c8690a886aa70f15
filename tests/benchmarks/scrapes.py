"""What a scrape of the metrics of a large program takes: CPU time, from the snapshot to the answer."""

import gzip
import random
import time
from collections.abc import Mapping

from concwatch.exporters.collection import Collection
from concwatch.exporters.exposition import exposition
from concwatch.exporters.openmetrics import COMPRESSION
from concwatch.links.agent_messages import AgentTick, GroupReport, Groups
from concwatch.links.messages import Block, StackFrame
from tests.benchmarks.figures import Quantity, RowValues, benchmark, quiet
from tests.watch_driver import WatchBench

PROCESSES, FUNCTIONS, BLOCKING = 50, 200, 20
"""Processes, coroutine functions of each, and lines of each that block its loop."""

INTERVAL = 5.0
"""Seconds between two scrapes."""


class LargeProgram:
    """A program whose figures all change between two scrapes; ``timing`` is whether its tasks are timed."""

    def __init__(self, timing: bool) -> None:
        self._bench, self._timing, self._chance = WatchBench(), timing, random.Random(5)
        self._agents = [self._bench.agent(number) for number in range(1, PROCESSES + 1)]
        self._collection = Collection()
        self._collection.observe(self._bench.watching)
        self._time = 0

    def change(self) -> None:
        """Change all figures."""
        self._time += 1
        for agent in self._agents:
            rows = []
            for number in range(FUNCTIONS):
                live, created = self._chance.randrange(100), 1000 * self._time + number
                durations = ((self._chance.uniform(1e-3, 10.0), 3),) * 7 if self._timing else ()
                counts = {"created": created, "live": live, "ended": created - live, "durations": durations}
                rows.append(GroupReport(number, f"handle_{number}", "/srv/app/views.py", number, **counts))
            live, created = sum(row.live for row in rows), sum(row.created for row in rows)
            now = float(self._time)
            tick = {"created": created, "live": live, "ended": created - live, "scan_time": now, "lag": 0.003}
            agent.report(AgentTick(now, gc=now, queued=3, **tick), Groups(now, tuple(rows)))
            for number in range(BLOCKING):
                stack = (StackFrame(f"load_{number}", f"/srv/app/models.py:{number}"),)
                agent.report(Block(self._time * BLOCKING + number, "loop", 0.2, stack=stack, own=(0,)))
        self._bench.advance()
        self._snapshot = self._bench.watching.snapshot()

    def scrape(self) -> bytes:
        """Return the answer to a request for the metrics."""
        text = exposition(self._collection.at(self._snapshot), openmetrics=True)
        return gzip.compress(text.encode(), COMPRESSION)


SIZE = f"{PROCESSES} processes of {FUNCTIONS} functions, every {INTERVAL:.0f} s"


@benchmark(
    "scrapes",
    Quantity("plain", f"a scrape of {SIZE}", "% of a core", "≤ 2 %"),
    Quantity("timing", "the same with --timing", "% of a core", "≤ 2 %"),
)
def measure_scrapes(quick: bool) -> Mapping[str, RowValues]:
    """Measure the CPU time of scrapes."""
    found = {}
    for name, timing in (("plain", False), ("timing", True)):
        program, values = LargeProgram(timing), []
        quiet.wait()
        for _ in range(3 if quick else 20):
            program.change()
            before = time.process_time()
            answer = program.scrape()
            values.append((time.process_time() - before) / INTERVAL * 100)
        detail = {"highest, %": max(values), "bytes, compressed": len(answer)}
        found[name] = RowValues(values[1:], detail=detail)  # the first one creates what the others change
    return found
