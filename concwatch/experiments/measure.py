"""One run of a cell in a fresh worker, from its start to its end."""

import asyncio
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from concwatch.experiments.cell import Cell
from concwatch.experiments.readings import BURST
from concwatch.lab.lab import Lab
from concwatch.lab.lane import COMING, Lane, State
from concwatch.lab.sampler import Reading
from concwatch.lab.tell import name_wall
from concwatch.units import format_count, format_seconds
from concwatch.worker.burst import Burst

SETTLE = 0.3
"""Seconds of idling before a run: what the worker does every 0.1 s has by then been seen by the tracer."""

PAGE_LIMIT = 20.0
"""Seconds that the page server gets to start."""

LONGEST = 1_800.0
"""Seconds after which a run that has not ended is given up."""

NEAR_ALL = 0.99
"""Share of the tasks live from which on a sample counts as taken with all of them live."""


class NotMeasuredError(Exception):
    """A run gave no figures; its text says why."""


@dataclass
class Run:
    """What one run gave."""

    figures: dict[str, float] = field(default_factory=dict)
    """Reading → bytes, seconds, or tasks a second."""
    seconds: float = 0.0
    """How long it took in all, the worker's start and end included."""
    own_seconds: float = 0.0
    """How much of that was the tasks' own."""
    live: int | None = None
    """Tasks live at the reading of a burst."""
    runtime: str = ""
    flags: list[str] = field(default_factory=list)
    trail: list[tuple[float, int]] = field(default_factory=list)
    """Seconds since its first task was asked for, and RSS in bytes, over time."""


def _now() -> float:
    return asyncio.get_running_loop().time()


async def measure(lab: Lab, cell: Cell) -> Run:
    """Run ``cell`` on the one lane of a lab whose clock runs.

    Raises:
        NotMeasuredError: there are no figures, and why.
    """
    lane, run, began = lab.lanes[0], Run(), _now()
    lab.switch(lane, True)
    await _until(lab, lane, lambda: lane.state not in COMING, LONGEST)
    await _pass(lab, lane, SETTLE)
    if lane.ready is None:
        raise NotMeasuredError(lane.reason)
    run.runtime, run.flags = lane.ready.runtime, list(lane.flags)
    await page_stands(lab)
    act = _burst if cell.action == BURST else _hold
    asked, clock = _now(), lab.clock()
    await act(lab, lane, cell, run)
    run.own_seconds = _now() - asked
    _check(lab, lane)
    run.figures["peak_rss"] = lane.exact_peak_rss()
    times, values = lane.series.since("rss", clock)
    run.trail = [
        (round(time - clock, 3), int(rss))
        for time, rss in zip(times, values, strict=True)
        if math.isfinite(rss)
    ]
    lab.switch(lane, False)
    while not lane.idle:
        await asyncio.sleep(_nap(lab) / 5)
        lab.step()
    run.seconds = _now() - began
    return run


async def page_stands(lab: Lab) -> None:
    """Fetch the page once, if tasks will: its server may still be starting, which is no task's time."""
    page = lab.settings.page
    if page is None:
        return
    address = urlsplit(page)
    request = f"GET {address.path} HTTP/1.0\r\nHost: {address.hostname}\r\n\r\n"
    try:
        async with asyncio.timeout(PAGE_LIMIT):
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(request.encode())
            answered = await reader.read(1)
            writer.close()
    except OSError as error:  # a time-out is one
        raise NotMeasuredError(f"the page server does not answer: {error}") from None
    if not answered:
        raise NotMeasuredError("the page server closed the connection without an answer")


async def _burst(lab: Lab, lane: Lane, cell: Cell, run: Run) -> None:
    before = lane.tick
    lane.run_burst(Burst(cell.size, cell.chunks, cell.older, cell.read_after))
    lags = await _until(lab, lane, lambda: lane.burst_done is not None, LONGEST)
    done = lane.burst_done
    assert done is not None
    run.figures["seconds"] = done.seconds
    # A runtime that counts CPU time in milliseconds may have used none of it for few tasks.
    if done.create_cpu > 0:
        run.figures["create_rate"] = done.tasks / done.create_cpu
    if done.cpu > 0:
        run.figures["finish_rate"] = done.tasks / done.cpu
    run.live = done.live
    if done.traced is not None:
        run.figures.update(traced=done.traced, traced_per_task=done.traced / cell.size)
    tick = lane.tick
    if before is not None and before.gc is not None:
        # The tick with the burst's last collection follows its report at once.
        await _until(lab, lane, lambda: lane.tick is not tick, 5.0)
    _read_stalls(lane, before.gc if before else None, lags, run)


async def _hold(lab: Lab, lane: Lane, cell: Cell, run: Run) -> None:
    idle, before = lane.reading, lane.tick
    lab.set_target(lane, cell.size)
    lags = await _until(lab, lane, lambda: lane.reached is not None, LONGEST)
    reached = lane.reached
    assert reached is not None
    run.figures["seconds"] = reached.seconds
    held: list[Reading] = []
    end = _now() + cell.seconds
    while _now() < end or not held:
        await _pass(lab, lane, _nap(lab))
        if lane.reading is not None and lane.live >= cell.size * NEAR_ALL:
            held.append(lane.reading)
        elif _now() > end + LONGEST / 60:
            raise NotMeasuredError(
                f"never {format_count(cell.size)} live at once: {cell.workload} ends sooner than they start"
            )
        lags.append(lane.tick.lag if lane.tick else 0.0)
    rss = statistics.median(reading.rss for reading in held)
    run.figures["rss"] = rss
    if idle is not None:
        run.figures["rss_added"] = rss - idle.rss
        run.figures["rss_per_task"] = (rss - idle.rss) / cell.size
        run.figures["virtual_added"] = statistics.median(reading.virtual for reading in held) - idle.virtual
    tick = lane.tick
    if tick is not None and tick.traced is not None and tick.tracer is not None:
        run.figures["tracer"] = tick.tracer
        if before is not None and before.traced is not None:
            run.figures["traced"] = tick.traced - before.traced
            run.figures["traced_per_task"] = run.figures["traced"] / cell.size
    run.live = lane.live
    _read_stalls(lane, before.gc if before else None, lags, run)


def _read_stalls(lane: Lane, gc_before: float | None, lags: list[float], run: Run) -> None:
    tick = lane.tick
    if tick is not None and tick.gc is not None and gc_before is not None:
        run.figures["gc_seconds"] = tick.gc - gc_before
    run.figures["longest_stall"] = max(lags, default=0.0)


def _nap(lab: Lab) -> float:
    return 0.5 / lab.hz


async def _pass(lab: Lab, lane: Lane, seconds: float) -> None:
    await asyncio.sleep(seconds)
    _check(lab, lane)


async def _until(lab: Lab, lane: Lane, done: Callable[[], bool], limit: float) -> list[float]:
    """Wait until ``done`` and give the lags of the ticks meanwhile; whatever else ends a run is raised."""
    end, lags = _now() + limit, []
    while not done():
        await asyncio.sleep(_nap(lab) / 5)
        _check(lab, lane)
        if lane.tick is not None:
            lags.append(lane.tick.lag)
        if _now() > end:
            raise NotMeasuredError(f"not over within {format_seconds(limit)}: given up")
    if lane.tick is not None:
        lags.append(lane.tick.lag)
    return lags


def _check(lab: Lab, lane: Lane) -> None:
    """Raise when there can be no figures any more."""
    if lane.state is State.FAILED:
        raise NotMeasuredError(lane.reason)
    if lane.limit is not None:
        limit = lane.limit
        raise NotMeasuredError(
            f"{name_wall(limit)} let {format_count(limit.standing)} of {format_count(limit.wanted)} stand"
        )
    if lane.burst_refused:
        raise NotMeasuredError(lane.burst_refused)
    tick = lane.tick
    if tick is not None and tick.failed:
        lab.watch_pages()  # that its server has died says more than that it could not be reached
        errors = [event for event in lab.events.since(0) if event.weight == "error"]
        errors.sort(key=lambda event: event.lane != "")
        why = f": {errors[0].text.splitlines()[0]}" if errors else ""
        raise NotMeasuredError(f"{format_count(tick.failed)} tasks failed{why}")
