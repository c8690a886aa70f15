"""A real worker for tests, driven over its pipes."""

import asyncio
import contextlib
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import cache
from typing import Any

import psutil

from concwatch.commands.basics.lab import open_process
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import parts
from concwatch.monitor.workers.catalog import Engine, find_engines
from concwatch.portable.agent.sending.json_lines import LONGEST_LINE, encode
from concwatch.runtimes.building import build
from concwatch.system.child import ROOT

NEWEST = 20
"""A minor version of Python 3 newer than any that exists."""

PATIENCE = 30.0
"""The time limit of one condition in seconds; long, since the machine may be busy."""

EARLY = 0.002
"""Seconds by which a timer may fire early: libuv and libev count milliseconds from their last iteration."""

COUNTERS = ("created", "completed", "failed", "cancelled")
"""The cumulative counters of a tick."""

Report = dict[str, Any]


@cache
def row_of(name: str) -> Engine:
    """Return the row of an engine, on a newer Python if this one is too old."""
    (row,) = find_engines([name])
    if sys.version_info < row.oldest_python:
        for minor in range(row.oldest_python[1], NEWEST):
            with contextlib.suppress(ValueError):  # this version is not installed
                return find_engines([f"{name}@3.{minor}"])[0]
    return row


@cache
def start_command(engine: Engine) -> list[str]:
    """Return the command of an engine, built first if necessary. Raises `BuildError` if that fails."""
    if not engine.ways:
        return engine.command()
    return asyncio.run(build(engine.ways, engine.name, lambda line: None)).command


def _always(_: Report) -> bool:
    return True


class Worker:
    """A worker process, which has sent ``ready``.

    Leaving its ``with`` block ends the process and checks that each line was a report, and that the counters
    added up in every tick and never decreased.

    Args:
        engine: its row in the catalog, or its name.
        python: another interpreter, which runs ``-m concwatch.portable.worker``.
        command: the whole command instead.
        cwd: its working directory, with the functions of the user.
        patience: the time limit of one condition in seconds.
    """

    def __init__(
        self,
        engine: str | Engine,
        *,
        python: str | None = None,
        command: Sequence[str] | None = None,
        cwd: os.PathLike[str] | str | None = None,
        patience: float = PATIENCE,
    ) -> None:
        if command is None:
            row = row_of(engine) if isinstance(engine, str) else engine
            command = [python, "-m", "concwatch.portable.worker", row.name] if python else start_command(row)
        self.reports: list[Report] = []
        self._patience = patience
        self._clock_offset = math.inf  # of this process's clock from the worker's, in seconds
        self.garbage: list[bytes] = []
        self._before = dict.fromkeys(COUNTERS, 0)  # the counters at the last reset
        self._stderr = bytearray()
        self._arrived = threading.Condition()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": ROOT} if python else None,
            bufsize=0,
        )
        self._readers = [threading.Thread(target=read) for read in (self._read_reports, self._read_stderr)]
        for reader in self._readers:
            reader.start()
        try:
            self.ready = self.wait("ready")
            self._defaults = defaults(self.ready)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close()
        if kind is None:
            self.check()

    def check(self) -> None:
        """Check the lines and counters received so far."""
        assert self.garbage == []
        check_ticks(self.ticks)

    def reset(self) -> None:
        """Restore the state after its start: no task, counters of 0, only the report ``ready``."""
        self.check()
        # Before refill is turned on, which would start tasks of the last test's workload again.
        self.do("workload", spec="hold")
        self.target(0)
        for command, fields in self._defaults.items():
            self.do(command, **fields)
        self.do("refill", on=True)
        self.tick(lambda tick: tick["live"] == 0)
        with self._arrived:  # the next tick has the same counters
            last = self.ticks[-1]
            for key in COUNTERS:
                self._before[key] += last[key]
            self.reports[:] = [self.ready]
            self._stderr.clear()

    def _read_reports(self) -> None:
        with open(self.process.stdout.fileno(), "rb", closefd=False) as lines:
            for line in lines:
                try:
                    report = json.loads(line)
                except ValueError:
                    report = None
                with self._arrived:
                    if isinstance(report, dict) and len(line) <= LONGEST_LINE:
                        if report["type"] == "tick":
                            # The fastest tick took hardly any time.
                            self._clock_offset = min(self._clock_offset, time.monotonic() - report["time"])
                            for key in COUNTERS:
                                report[key] -= self._before[key]
                        self.reports.append(report)
                    else:
                        self.garbage.append(line)
                    self._arrived.notify_all()

    def _read_stderr(self) -> None:
        while piece := self.process.stderr.read(1 << 16):
            with self._arrived:
                self._stderr += piece
                self._arrived.notify_all()

    @property
    def noise(self) -> str:
        """The text on its standard error so far."""
        return self._stderr.decode(errors="replace")

    @property
    def ticks(self) -> list[Report]:
        """All ticks so far."""
        return self.all("tick")

    def all(self, type_: str) -> list[Report]:
        """All reports of one type so far."""
        return [report for report in list(self.reports) if report["type"] == type_]

    def until(self, condition: Callable[[], Any], what: str = "") -> Any:
        """Wait until ``condition`` returns a true value, and return it."""
        end = time.monotonic() + self._patience
        with self._arrived:
            while not (found := condition()):
                if time.monotonic() > end:
                    raise AssertionError(
                        f"no {what} within {self._patience:.0f} s; last reports: {self.reports[-3:]}; "
                        f"exit status: {self.process.poll()}; standard error: {self.noise[-2000:]}"
                    )
                self._arrived.wait(0.1)
        return found

    def wait(self, type_: str, where: Callable[[Report], Any] = _always, since: int = 0) -> Report:
        """Wait for a report of that type for which ``where`` holds, after the first ``since`` reports."""
        position = since

        def find() -> Report | None:
            nonlocal position
            while position < len(self.reports):
                position += 1
                if self.reports[position - 1]["type"] == type_ and where(self.reports[position - 1]):
                    return self.reports[position - 1]
            return None

        found: Report = self.until(find, f"{type_} as expected")
        return found

    def tick(self, where: Callable[[Report], Any] = _always) -> Report:
        """Wait for a tick made after this call for which ``where`` holds."""
        now = time.monotonic()
        return self.wait("tick", lambda tick: self.moment(tick) > now and where(tick), len(self.reports))

    def moment(self, tick: Report) -> float:
        """Return the time of a tick on this process's clock."""
        return tick["time"] + self._clock_offset

    def next_ticks(self, count: int = 3) -> list[Report]:
        """Wait for ``count`` ticks made after this call."""
        self.tick()  # its counters may be older than this call
        return [self.tick() for _ in range(count)]

    def write(self, data: bytes) -> int:
        """Send bytes; return the number of reports received before."""
        before = len(self.reports)
        self.process.stdin.write(data)
        return before

    def send(self, type_: str, **fields: object) -> int:
        """Send a command; return the number of reports received before."""
        if type_ == "workload":
            with contextlib.suppress(ValueError):  # an invalid one has no parts
                fields = {**parts(str(fields["spec"])), **fields}
        return self.write(encode(type_, **fields))

    def do(self, type_: str, **fields: object) -> Report:
        """Send a command and wait until it is applied."""
        since = self.send(type_, **fields)
        answer = self.until(
            lambda: [
                report
                for report in self.reports[since:]
                if report["type"] in ("applied", "error") and report["command"] == type_
            ],
            f"answer to {type_}",
        )[0]
        assert answer["type"] == "applied", answer
        return answer

    def refuse(self, type_: str, **fields: object) -> str:
        """Send a command that must be rejected; return the message."""
        since = self.send(type_, **fields)
        message: str = self.wait("error", lambda report: report["command"] == type_, since)["message"]
        return message

    def target(self, tasks: int) -> Report:
        """Set the target and wait until it is reached."""
        since = self.send("target", tasks=tasks)
        return self.wait("reached", since=since)

    def check_idle(self) -> None:
        """Wait for a second in which the worker, without tasks, uses at most 2 % of a core."""
        process = psutil.Process(self.ready["pid"])

        def used() -> float:
            times = process.cpu_times()
            return float(times.user + times.system)

        shares: list[float] = []

        def is_idle() -> bool:
            before, began = used(), time.monotonic()
            time.sleep(1)
            shares.append((used() - before) / (time.monotonic() - began))
            return shares[-1] <= 0.02

        self.until(is_idle, f"idle second; shares of a core: {shares}")

    def ended(self) -> int:
        """Wait for the process to end; return its exit status."""
        status = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return status

    def close(self) -> None:
        """Close its input; kill it if that does not end it."""
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the end of its input did not end the worker") from None
        finally:
            for reader in self._readers:
                reader.join(PATIENCE)
            self.process.stdout.close()
            self.process.stderr.close()


@contextlib.asynccontextmanager
async def running_lab(engines: Sequence[Engine], **arguments: Any) -> AsyncIterator[Lab]:
    """Run a lab until the end of the block, and close it."""
    lab = Lab(engines, **{"open_link": open_process, **arguments})
    clock = asyncio.create_task(lab.run())
    try:
        yield lab
    finally:
        clock.cancel()
        await lab.close()


async def until(condition: Callable[[], Any], what: str) -> None:
    """Wait until ``condition()`` is true; fail with ``what`` after the time limit."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.02)


def defaults(ready: Report) -> dict[str, dict[str, object]]:
    """Return the optional commands that restore the initial settings of a worker."""
    commands: dict[str, dict[str, object]] = {"trace": {"on": False}, "gc": {"mode": "default"}}
    for flag in ready["flags"]:
        if flag.endswith(" threads"):
            commands["threads"] = {"count": int(flag.split()[0])}
    return {command: fields for command, fields in commands.items() if command in ready["can"]}


def check_ticks(ticks: Iterable[Report]) -> None:
    """Check that the counters of each tick add up, and that none decreases."""
    cumulative = ("time", "created", "completed", "failed", "cancelled", "gc", "switches")
    before: Report = dict.fromkeys(cumulative, 0)
    for tick in ticks:
        ended = tick["completed"] + tick["failed"] + tick["cancelled"]
        assert tick["created"] == tick["live"] + ended, tick
        assert 0 <= tick["queued"] <= tick["live"], tick
        assert tick["lag"] >= 0, tick
        assert tick.get("heap", 0) >= 0, tick
        assert ("traced" in tick) == ("tracer" in tick), tick
        assert all(seconds >= 0 for name in ("durations", "delays") for seconds in tick.get(name, ())), tick
        for key in before:
            if key in tick:  # PyPy does not report the seconds of its collector
                assert tick[key] >= before[key], (key, before, tick)
                before[key] = tick[key]
