"""Workers that send invalid lines, too many lines, or none."""

import asyncio
import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from concwatch.links.messages import Report, decode
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.metrics.state import State
from tests.faults.driving import FaultyStage, heartbeat, lane_fault, run_screen
from tests.faults.fault import THOROUGH, fault, thorough
from tests.faults.toy import PROLOGUE, TOO_MANY, command


async def start_faulty(s: FaultyStage) -> None:
    """Wait until the faulty worker is running, then make it misbehave."""
    await s.wait_for_state(State.RUNNING)
    s.lab.set_target(s.faulty, 1)


async def check_fails(s: FaultyStage, reason: str) -> None:
    """Check that only this lane fails, with ``reason``, and that it can be switched on again."""
    await s.wait_for_state(State.FAILED)
    assert reason in s.faulty.worker.life.reason, s.faulty.worker.life.reason
    await s.wait_for_event(f"failed: {s.faulty.worker.life.reason}")
    await s.check_others()
    await s.restart(tasks=None)


async def switch_off_and_on(s: FaultyStage) -> None:
    await s.switch_off()
    await s.restart(tasks=None)


async def check_continues(s: FaultyStage) -> None:
    """Check that both lanes receive ticks."""
    await s.wait_for_state(State.RUNNING)
    time = s.faulty.worker.stats.tick.time
    await s.until(
        lambda: s.faulty.worker.stats.tick and s.faulty.worker.stats.tick.time > time + 0.1, "it continues"
    )
    await s.check_others()


GARBAGE = r"""
write(b"hello\n\xff\xfe\x00\n\n[1, 2]\n{\"type\": 7}\n{}\n\x1b[2J\n" + b"[" * 100_000 + b"\n")
write(bytes(range(256)).replace(b"\n", b"") * 40 + b"\n")
targets.get()
while True:
    write(b"not a wire line\n" * 100)
"""


@lane_fault("wire-garbage", "a worker sends garbage", command(PROLOGUE + GARBAGE))
async def garbage(s: FaultyStage) -> None:
    """Logged once and ignored. The lane fails after 100 lines. The others and the screen continue."""
    await start_faulty(s)
    await s.wait_for_event("not a line of the wire: 'hello'")
    await check_continues(s)
    s.lab.set_target(s.faulty, 2)
    async with heartbeat(judge_time=False):
        await check_fails(s, f"{TOO_MANY}, the first: not a line of the wire: 'hello'")


HALF = r"""
quiet.set()
whole = tick(created=5, live=5)
with lock:
    os.write(1, whole[:40])
    targets.get()
    os.write(1, whole[40:])
tick = lambda: whole
quiet.clear()
targets.get()
quiet.set()
write(whole[:40])
os._exit(0)
"""


@lane_fault("wire-half", "a worker sends half a line, and exits within the next", command(PROLOGUE + HALF))
async def half(s: FaultyStage) -> None:
    """Its lane stalls until the rest arrives. The incomplete line is logged and ignored."""
    await start_faulty(s)
    await s.wait_for_state(State.STALLED)
    await s.check_others()
    s.lab.set_target(s.faulty, 2)
    await s.wait_for_state(State.RUNNING)
    assert s.faulty.live == 5
    s.lab.set_target(s.faulty, 3)
    await s.wait_for_event("ended in the middle of a line")
    await check_fails(s, "exited with status 0")


LONG = f"""
piece = b"x" * 1_000_000
with lock:
    for _ in range(100 if os.environ.get("{THOROUGH}") else 20):
        rest = piece
        while rest:
            rest = rest[os.write(1, rest):]
write(b"\\n")
write(line(type="error", message="the line has ended"))
targets.get()
while True:
    os.write(1, piece)
"""


@lane_fault("wire-long", "a worker sends a line of 100 MB, and an endless one", command(PROLOGUE + LONG))
async def long(s: FaultyStage) -> None:
    """Logged once and skipped. Memory stays within 20 MiB, the screen responds within 100 ms."""
    await start_faulty(s)
    async with heartbeat():
        await s.wait_for_event("the line has ended")
    await s.wait_for_event("a line longer than 1,048,576 bytes")
    await check_continues(s)
    s.lab.set_target(s.faulty, 2)
    async with heartbeat():
        await s.wait_for_state(State.STALLED)
    await s.check_others()
    await switch_off_and_on(s)


MAY_BE_NEGATIVE = (("block", "time"), ("burst", "traced"), ("tick", "time"))


def example(type_: Any) -> object:
    """Return a valid value of a field's type."""
    found = msgspec.inspect.type_info(type_)
    kind = getattr(found, "types", (found,))[0]
    inspect = msgspec.inspect
    return {inspect.StrType: "", inspect.VarTupleType: [], inspect.BoolType: False}.get(type(kind), 0)


def wrong_lines() -> Iterator[str]:
    """Yield a line for each field of each report and each kind of invalid value."""
    for report in Report.__args__:
        tag, fields = report.__struct_config__.tag, msgspec.structs.fields(report)
        right = {field.encode_name: example(field.type) for field in fields if field.required}
        assert decode(json.dumps({"type": tag, **right}).encode()) is not None
        for field in fields:
            valid = example(field.type)
            number = type(valid) is int
            wrong: list[object] = [{}, [[]], *(("7", [], 10**30) if number else (7, -1.5))]
            if valid is not False:
                wrong.append(True)
            if number and (tag, field.encode_name) not in MAY_BE_NEGATIVE:
                wrong.append(-1)
            if field.encode_name in ("engine", "runtime", "wall"):
                wrong += ["x" * 1_000, "\x1b[2J", None]
            yield from (json.dumps({"type": tag, **right, field.encode_name: value}) for value in wrong)


LINES = list(wrong_lines())
# First fewer than a lane tolerates, of every kind, then all.
SOME = LINES[:: math.ceil(len(LINES) / 90)]
TYPES = f"""
write({chr(10).join(SOME)!r}.encode() + b"\\n")
targets.get()
write({chr(10).join(LINES)!r}.encode() + b"\\n")
targets.get()
"""


@lane_fault(
    "wire-types",
    "a worker sends every field of every report with a wrong type or out of range",
    command(PROLOGUE + TYPES),
)
async def types(s: FaultyStage) -> None:
    """No line is accepted. Logged once. The lane fails after 100 lines."""
    for line in LINES:
        with pytest.raises(ValueError):  # noqa: PT011  # the message may be any
            print("accepted:", line, decode(line.encode()))
    await start_faulty(s)
    await s.wait_for_event("not a line of the wire")
    await check_continues(s)
    s.lab.set_target(s.faulty, 2)
    await check_fails(s, f"{TOO_MANY}, the first: not a line of the wire")


BACKWARDS = """
quiet.set()
began = time.monotonic()
write(tick(created=1_000, live=100, completed=900))
targets.get()
wrong = [
    tick(created=500, live=100, completed=400),
    tick(created=1_000, live=200, completed=800),
    tick(created=1_000, live=100, completed=899, failed=1),
    tick(created=10, live=100, completed=900),
    tick(created=1_000, live=100, completed=900, queued=101),
    tick(created=1_000, live=100, completed=900, time=began - 1_000),
]
for one in wrong:
    write(one)
    time.sleep(0.05)
write(tick(created=1_100, live=150, completed=950))
right = tick
tick = lambda: right(created=1_100, live=150, completed=950)
quiet.clear()
targets.get()
tick = lambda: right(created=0, live=0, completed=0)
targets.get()
while True:  # the report between ticks keeps them from being merged
    write(tick() + line(type="applied", command="target", seconds=0))
    time.sleep(0.005)
"""


@lane_fault(
    "wire-backwards",
    "a worker's counters or clock go backwards, or do not add up",
    command(PROLOGUE + BACKWARDS),
)
async def backwards(s: FaultyStage) -> None:
    """Logged once. No figure of such a tick is shown. The lane fails after 100."""
    seen = []

    def record(snapshot: Snapshot) -> None:
        sample = snapshot.lanes[s.faulty.number].sample
        if sample.live is not None:
            seen.append((sample.live, sample.completed_per_second, sample.created_per_second))

    await start_faulty(s)
    s.lab.observers.append(record)
    await s.until(lambda: s.faulty.live == 100, "the first tick is accepted")
    s.lab.set_target(s.faulty, 2)
    await s.until(lambda: s.faulty.live == 150, "the valid tick is accepted")
    s.lab.observers.remove(record)
    assert {live for live, _, _ in seen} <= {0, 100, 150}, seen
    assert all(rate is None or rate >= 0 for _, *rates in seen for rate in rates), seen
    await s.wait_for_event("an impossible tick: ")
    await check_continues(s)
    s.lab.set_target(s.faulty, 3)
    await s.wait_for_state(State.STALLED)
    s.lab.set_target(s.faulty, 4)
    await check_fails(s, f"{TOO_MANY}, the first: an impossible tick: ")


@fault("wire-nothing", "a worker sends nothing, from the start or later")
async def nothing() -> None:
    """Its lane fails after 30 s (here 1 s), or is shown as stalled."""
    async with run_screen(command("time.sleep(600)"), start_limit=1.0) as s:
        await s.check_others()
        await s.wait_for_state(State.FAILED)
        assert s.faulty.worker.life.reason == "did not start within 1 s"
        await s.until(lambda: s.faulty.idle, "the worker has ended")
        s.lab.switch(s.faulty, True)
        assert s.faulty.state is State.STARTING
        await s.wait_for_state(State.FAILED)
        await s.wait_for_event("failed: did not start within 1 s", times=2)
    async with run_screen(command(f"{PROLOGUE}quiet.set(); targets.get()")) as s:
        await start_faulty(s)
        await s.wait_for_stall()
        await switch_off_and_on(s)


FLOODS = {
    "ticks": "tick()",
    "errors": "line(type='error', message='x' * 50, detail='y' * 200)",
    "other reports": "line(type='reached', target=1, live=1, created=1, cancelled=0, seconds=0.1)",
    "newer types": "line(type='news', text='x')",
    "ready": "line(type='ready', engine='toy', runtime='Toy', pid=1)",
    "garbage": "b'garbage\\n'",
    "empty lines": "b'\\n'",
    "standard error": "b'noise\\n'",
}
"""Name → expression of the line that is sent 100,000 times a second."""


@fault("wire-flood", "a worker sends 100,000 lines a second, of each kind", seconds=300.0)
async def flood() -> None:
    """Logged once. Memory stays within 20 MiB, the screen responds within 100 ms."""
    for what, one in FLOODS.items():
        script = f"""
quiet.set()
while True:
    began = time.monotonic()
    write(({one}) * 10_000, {2 if what == "standard error" else 1})
    time.sleep(max(0, began + 0.1 - time.monotonic()))
"""
        async with run_screen(command(PROLOGUE + script)) as s:
            await start_faulty(s)
            await asyncio.sleep(0.3)
            async with heartbeat(f"{what}: "):
                await asyncio.sleep(3 if thorough() else 0.5)
            assert s.lab.events.count < 100, s.lab.events.since(0)[-100:]
            if what in ("ready", "garbage"):
                await check_fails(s, TOO_MANY)
                continue
            if what in ("ticks", "errors", "other reports"):
                await s.wait_for_event("sends faster than it is read: it has to wait")
            await s.check_others()
            await switch_off_and_on(s)
