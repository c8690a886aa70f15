"""Generated recordings: the same figures every time, and hours of them within seconds."""

import math
from collections.abc import Iterator

from concwatch.monitor.metrics.metrics import EngineFacts, Sample, blank_sample
from concwatch.monitor.metrics.state import State
from concwatch.recordings.format import (
    VERSION,
    EndLine,
    EventLine,
    Header,
    LabLine,
    LaneLine,
    Line,
    MarkLine,
    OwnLine,
    SettingsLine,
    encode,
)

MIB = 1 << 20
NAMES = ("threads", "pool", "asyncio", "uvloop", "gevent", "sequential")
MACHINE = {"python": "CPython 3.99.1", "cores": 3, "memory_total": 24 << 30, "system": "Linux 6.1"}
"""The machine in the header; different from any that runs the tests."""

CHANGE = 60.0
"""Seconds between two targets of a lane."""
TARGETS = (1_000, 20_000, 5_000, 50_000, 0, 10_000)


def made_lines(seconds: float, hz: float = 10.0, lanes: int = 6, cut: bool = False) -> Iterator[bytes]:
    """Yield the lines of a recording of ``seconds``; one that is ``cut`` has no last line."""
    names = NAMES[:lanes]
    engines = tuple(EngineFacts(name, f"one of {name}", name == "pool", name == "threads") for name in names)
    yield encode(
        Header(
            VERSION, "2026-11-21T12:30:00.000000+00:00", "0.1.0", MACHINE, "concwatch", hz, engines, 16 << 30
        )
    )
    yield encode(LabLine(0.0, hz, 16 << 30, tuple(range(lanes))))
    yield encode(SettingsLine(time=0.0, trace=True))
    for lane, _ in enumerate(names):
        yield encode(_lane_line(lane, 0.0, 0))
        yield encode(EventLine(0.0, names[lane], f"on: CPython 3.11.7, pid {4000 + lane}"))
    for index in range(round(seconds * hz) + 1):
        now = index / hz
        if index % round(hz) == 0:
            yield encode(OwnLine(41 * MIB, 0.05, 5, 300 * MIB, 0.1, 18 << 30, 24 << 30, time=now))
        for lane, name in enumerate(names if index else ()):
            yield from map(encode, _changes(lane, name, index, now, hz))
            yield encode(_sample(lane, now))
    if not cut:
        yield encode(EndLine(round(seconds * hz) / hz, "quit", round(seconds * hz) * lanes))


def _target(lane: int, now: float) -> int:
    return TARGETS[(int(now // CHANGE) + lane) % len(TARGETS)]


def _changes(lane: int, name: str, index: int, now: float, hz: float) -> Iterator[Line]:
    """Yield the lines of a lane at one moment except its sample."""
    if index % round(CHANGE * hz) == round((5 + lane) * hz):
        target = _target(lane, now)
        yield MarkLine(now, name, "target", f"{target:,}")
        yield _lane_line(lane, now, target)
        yield EventLine(now, name, f"{target:,} live after 80 ms")
    if lane == 0 and index % round(4 * CHANGE * hz) == round(30 * hz):
        yield MarkLine(now, "", "note", f"look at minute {now // 60:.0f}")


def _lane_line(lane: int, now: float, target: int) -> LaneLine:
    return LaneLine(
        time=now,
        lane=lane,
        state=State.RUNNING,
        target=target,
        asked=target,
        create_rate=150_000.0 if target else None,
        peak_live=_peak(lane, now),
        idle_rss=12 * MIB,
        runtime="CPython 3.11.7",
        pid=4000 + lane,
        tracing=True,
        clean=True,
        fits=5_000_000,
        fits_limit="memory budget" if lane else "vm.max_map_count",
    )


def _live(lane: int, now: float) -> int:
    """Return the number of live tasks, which reaches each new target within two seconds."""
    since = now - 5 - lane
    if since < 0:
        return 0
    before = _target(lane, since - CHANGE) if since >= CHANGE else 0
    return round(before + (_target(lane, since) - before) * min(1.0, since % CHANGE / 2))


def _peak(lane: int, now: float) -> int:
    """Return the highest target up to the end of the minute."""
    changes = range(int(max(0.0, now - 5 - lane + CHANGE) // CHANGE))
    return max((_target(lane, change * CHANGE) for change in changes), default=0)


def _sample(lane: int, now: float) -> Sample:
    live = _live(lane, now)
    wave = math.sin(now * 7 + lane)
    rss = round(12 * MIB + live * (1_300 + 400 * lane)) + round(wave * 3) * 4096
    done = round(now * 900)
    # Tasks that sleep ten seconds end and are replaced in bursts, ten seconds apart.
    burst = live * (0.6 + 0.1 * wave) if (now + lane) % 10 < 1.5 else 0.0
    return blank_sample(
        lane=lane,
        time=now,
        rss=rss,
        traced=round(live * (700.0 + 100 * lane)),
        heap=None,
        created_per_second=round(burst, 3),
        completed_per_second=round(burst * 0.95, 3),
        live=live,
        lag=round(0.002 + 0.001 * wave, 6),
        cpu=0.1,
        threads=3,
        virtual=rss * 3,
        tick_time=round(now + 1_000.123456, 6),
        created=done + live,
        completed=done,
        failed=0,
        cancelled=0,
        queued=0,
        gc=round(now / 100, 6),
        tracer=live * 90,
        completed_mean=round(live / 10, 3),
        stalled=0,
        rss_per_task=1_300.0 + 400 * lane,
        traced_per_task=700.0 + 100 * lane,
        measured_live=live,
    )
