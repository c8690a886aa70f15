"""Workers that say what they must not, too much, or nothing."""

import asyncio
import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from concwatch.lab.snapshot import Snapshot, State
from concwatch.links.messages import Report, decode
from tests.faults.driving import FaultyStage, driven, lane_fault, pulse
from tests.faults.fault import THOROUGH, fault, thorough
from tests.faults.toy import BEGINS, TOO_MANY, command


async def stands(s: FaultyStage) -> None:
    """Wait until the misbehaving worker stands, and have it begin to misbehave."""
    await s.becomes(State.RUNNING)
    s.lab.set_target(s.faulty, 1)


async def fails(s: FaultyStage, reason: str) -> None:
    """See that the lane has given its worker up for ``reason``, alone, and can be switched on again."""
    await s.becomes(State.FAILED)
    assert reason in s.faulty.worker.reason, s.faulty.worker.reason
    await s.tells(f"failed: {s.faulty.worker.reason}")
    await s.others_go_on()
    await s.on_again(tasks=None)


async def off_and_on(s: FaultyStage) -> None:
    await s.switches_off()
    await s.on_again(tasks=None)


async def goes_on(s: FaultyStage) -> None:
    """See that newer ticks come through, on both lanes."""
    await s.becomes(State.RUNNING)
    time = s.faulty.worker.stats.tick.time
    await s.until(
        lambda: s.faulty.worker.stats.tick and s.faulty.worker.stats.tick.time > time + 0.1, "it goes on"
    )
    await s.others_go_on()


GARBAGE = r"""
write(b"hello\n\xff\xfe\x00\n\n[1, 2]\n{\"type\": 7}\n{}\n\x1b[2J\n" + b"[" * 100_000 + b"\n")
write(bytes(range(256)).replace(b"\n", b"") * 40 + b"\n")
asked.get()
while True:
    write(b"nothing of the wire\n" * 100)
"""


@lane_fault("words-garbage", "a worker sends garbage", command(BEGINS + GARBAGE), short=True)
async def garbage(s: FaultyStage) -> None:
    """Told once and ignored; after 100 lines its lane fails; the others and the screen go on."""
    await stands(s)
    await s.tells("not a line of the wire: 'hello'")
    await goes_on(s)
    s.lab.set_target(s.faulty, 2)
    async with pulse(judge_time=False):
        await fails(s, f"{TOO_MANY}, the first: not a line of the wire: 'hello'")


HALF = r"""
quiet.set()
whole = tick(created=5, live=5)
with lock:
    os.write(1, whole[:40])
    asked.get()
    os.write(1, whole[40:])
tick = lambda: whole
quiet.clear()
asked.get()
quiet.set()
write(whole[:40])
os._exit(0)
"""


@lane_fault("words-half", "a worker sends half a line, and ends within another", command(BEGINS + HALF))
async def half(s: FaultyStage) -> None:
    """Its lane stalls until the rest comes; the cut line is told, nothing is taken from it."""
    await stands(s)
    await s.becomes(State.STALLED)
    await s.others_go_on()
    s.lab.set_target(s.faulty, 2)
    await s.becomes(State.RUNNING)
    assert s.faulty.live == 5
    s.lab.set_target(s.faulty, 3)
    await s.tells("ended in the middle of a line")
    await fails(s, "exited with status 0")


LONG = f"""
piece = b"x" * 1_000_000
with lock:
    for _ in range(100 if os.environ.get("{THOROUGH}") else 20):
        rest = piece
        while rest:
            rest = rest[os.write(1, rest):]
write(b"\\n")
write(line(type="error", message="the line has ended"))
asked.get()
while True:
    os.write(1, piece)
"""


@lane_fault("words-long", "a worker sends a line of 100 MB, and one without an end", command(BEGINS + LONG))
async def long(s: FaultyStage) -> None:
    """Told once and skipped; memory within 20 MiB, the screen within 100 ms."""
    await stands(s)
    async with pulse():
        await s.tells("the line has ended")
    await s.tells("a line longer than 1,048,576 bytes")
    await goes_on(s)
    s.lab.set_target(s.faulty, 2)
    async with pulse():
        await s.becomes(State.STALLED)
    await s.others_go_on()
    await off_and_on(s)


MAY_BE_NEGATIVE = (("burst", "traced"), ("tick", "time"))


def example(type_: Any) -> object:
    """Return what a field of this type may hold."""
    found = msgspec.inspect.type_info(type_)
    kind = getattr(found, "types", (found,))[0]
    return {msgspec.inspect.StrType: "", msgspec.inspect.VarTupleType: []}.get(type(kind), 0)


def wrong_lines() -> Iterator[str]:
    """Yield a line for each field of each report and each kind of what it must not hold."""
    for report in Report.__args__:
        tag, fields = report.__struct_config__.tag, msgspec.structs.fields(report)
        right = {field.name: example(field.type) for field in fields if field.required}
        assert decode(json.dumps({"type": tag, **right}).encode()) is not None
        for field in fields:
            number = isinstance(example(field.type), int)
            wrong: list[object] = [{}, [[]], True, *(("7", [], 10**30) if number else (7, -1.5))]
            if number and (tag, field.name) not in MAY_BE_NEGATIVE:
                wrong.append(-1)
            if field.name in ("engine", "runtime", "wall"):
                wrong += ["x" * 1_000, "\x1b[2J", None]
            yield from (json.dumps({"type": tag, **right, field.name: value}) for value in wrong)


LINES = list(wrong_lines())
# As many as a lane bears with, of every kind, then all of them.
SOME = LINES[:: math.ceil(len(LINES) / 90)]
TYPES = f"""
write({chr(10).join(SOME)!r}.encode() + b"\\n")
asked.get()
write({chr(10).join(LINES)!r}.encode() + b"\\n")
asked.get()
"""


@lane_fault(
    "words-types",
    "a worker sends every field of every report with a wrong type, and beyond its bounds",
    command(BEGINS + TYPES),
    short=True,
)
async def types(s: FaultyStage) -> None:
    """None is taken; told once; after 100 lines its lane fails."""
    for line in LINES:
        with pytest.raises(ValueError):  # noqa: PT011  # its words are for a person
            print("taken for a report:", line, decode(line.encode()))
    await stands(s)
    await s.tells("not a line of the wire")
    await goes_on(s)
    s.lab.set_target(s.faulty, 2)
    await fails(s, f"{TOO_MANY}, the first: not a line of the wire")


BACKWARDS = """
quiet.set()
began = time.monotonic()
write(tick(created=1_000, live=100, completed=900))
asked.get()
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
asked.get()
tick = lambda: right(created=0, live=0, completed=0)
asked.get()
while True:  # a report between them, or the newest would take the place of the others
    write(tick() + line(type="applied", command="target", seconds=0))
    time.sleep(0.005)
"""


@lane_fault(
    "words-backwards",
    "a worker's counters and clock go backwards, or do not add up",
    command(BEGINS + BACKWARDS),
    short=True,
)
async def backwards(s: FaultyStage) -> None:
    """Told once; no figure of such a tick is shown; after 100 its lane fails."""
    seen = []

    def watch(snapshot: Snapshot) -> None:
        sample = snapshot.lanes[s.faulty.number].sample
        if sample.live is not None:
            seen.append((sample.live, sample.completed_per_second, sample.created_per_second))

    await stands(s)
    s.lab.observers.append(watch)
    await s.until(lambda: s.faulty.live == 100, "the first is taken")
    s.lab.set_target(s.faulty, 2)
    await s.until(lambda: s.faulty.live == 150, "what is right is taken")
    s.lab.observers.remove(watch)
    assert {live for live, _, _ in seen} <= {0, 100, 150}, seen
    assert all(rate is None or rate >= 0 for _, *rates in seen for rate in rates), seen
    await s.tells("an impossible tick: ")
    await goes_on(s)
    s.lab.set_target(s.faulty, 3)
    await s.becomes(State.STALLED)
    s.lab.set_target(s.faulty, 4)
    await fails(s, f"{TOO_MANY}, the first: an impossible tick: ")


@fault("words-nothing", "a worker sends nothing at all, from the start or later", short=True)
async def nothing() -> None:
    """Its lane fails after 30 s (1 s here), or is shown as stalled."""
    async with driven(command("time.sleep(600)"), start_limit=1.0) as s:
        await s.others_go_on()
        await s.becomes(State.FAILED)
        assert s.faulty.worker.reason == "did not start within 1 s"
        await s.until(lambda: s.faulty.idle, "its process is gone")
        s.lab.switch(s.faulty, True)
        assert s.faulty.state is State.STARTING
        await s.becomes(State.FAILED)
        await s.tells("failed: did not start within 1 s", times=2)
    async with driven(command(f"{BEGINS}quiet.set(); asked.get()")) as s:
        await stands(s)
        await s.stalls()
        await off_and_on(s)


FLOODS = {
    "ticks": "tick()",
    "errors": "line(type='error', message='x' * 50, detail='y' * 200)",
    "other reports": "line(type='reached', target=1, live=1, created=1, cancelled=0, seconds=0.1)",
    "newer types": "line(type='news', text='x')",
    "ready": "line(type='ready', engine='toy', runtime='Toy', pid=1)",
    "garbage": "b'garbage\\n'",
    "empty lines": "b'\\n'",
    "words on standard error": "b'words\\n'",
}
"""What is sent 100,000 times a second."""


@fault("words-flood", "a worker sends 100,000 lines a second, of each kind", seconds=300.0)
async def flood() -> None:
    """Told once; it has to wait for its reader; memory within 20 MiB, the screen within 100 ms."""
    for what, one in FLOODS.items():
        script = f"""
quiet.set()
while True:
    began = time.monotonic()
    write(({one}) * 10_000, {2 if what == "words on standard error" else 1})
    time.sleep(max(0, began + 0.1 - time.monotonic()))
"""
        async with driven(command(BEGINS + script)) as s:
            await stands(s)
            await asyncio.sleep(0.3)
            async with pulse(f"{what}: "):
                await asyncio.sleep(3 if thorough() else 0.5)
            assert s.lab.events.count < 100, s.lab.events.since(0)[-100:]
            if what in ("ready", "garbage"):
                await fails(s, TOO_MANY)
                continue
            if what in ("ticks", "errors", "other reports"):
                await s.tells("sends more than is read: it has to wait")
            await s.others_go_on()
            await off_and_on(s)
