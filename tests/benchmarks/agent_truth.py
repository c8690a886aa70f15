"""The agent's reports compared with what programs know themselves: tasks counted, and leaks."""

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from concwatch.commands.watching.watch_session import watched_in_background
from concwatch.monitor.watching.watching import Watching
from tests.agent_driver import EVERY, MANY, Monitor, eventually
from tests.benchmarks.figures import Quantity, RowValues, benchmark

VERSIONS = ("3.9", "3.11", "3.12", "3.13", "3.14")


@benchmark(
    "agent-counts",
    *(
        Quantity(
            name, f"200,000 tasks with 20 names on {name}: created or live ones counted wrongly", "", "≤ 0"
        )
        for name in VERSIONS
    ),
)
def measure_counts(quick: bool) -> Mapping[str, RowValues]:
    """Compare the counts with the program's own, for tasks created in seven ways."""
    rows = {}
    for name in VERSIONS:
        python = EVERY.get(f"CPython {name}")
        if python is None:
            continue
        with Monitor() as monitor:
            program = monitor.start(MANY, "1" if quick else "14", python=python)
            made = {job: (count, 0) for job, count in json.loads(program.stdout.readline()).items()}
            made["stays"] = (3007, 3007)
            process = monitor.process()

            def wrong() -> int:
                reported = {job: process.last_report(job) or {"created": 0, "live": 0} for job in made}  # noqa: B023
                return sum(
                    abs(reported[job]["created"] - created) + abs(reported[job]["live"] - live)
                    for job, (created, live) in made.items()  # noqa: B023
                )

            with contextlib.suppress(AssertionError):
                eventually(lambda: not wrong(), "agreement")
            total = sum(created for created, _ in made.values())
            rows[name] = RowValues([float(wrong())], detail={"tasks": total})
    return rows


LEAKS = """
import asyncio, math, random, sys
kind, seed = sys.argv[1], int(sys.argv[2])
chance = random.Random(seed)
async def request(mean): await asyncio.sleep(chance.expovariate(1 / mean))
async def leaky(): await asyncio.Event().wait()
async def returns(): return bytes(100)
async def serve(rate, mean, leaks=0.0, burst=0, retain=0.0):
    loop = asyncio.get_running_loop()
    began, last, owed, leak, kept, due = loop.time(), loop.time(), 0.0, 0.0, 0.0, 0
    while True:
        await asyncio.sleep(0.02)
        now = loop.time()
        owed += rate(now - began) * (now - last) * chance.uniform(0.5, 1.5)
        leak += leaks * (now - last)
        kept += retain * (now - last)
        last = now
        while owed >= 1:
            owed -= 1
            hold(asyncio.ensure_future(request(mean)))
        while leak >= 1:
            leak -= 1
            ALL.append(asyncio.ensure_future(leaky()))
        while kept >= 1:
            kept -= 1
            ALL.append(asyncio.ensure_future(returns()))
        if burst and now - began > due:
            due += 7
            for _ in range(burst):
                hold(asyncio.ensure_future(request(mean)))
ALL, PENDING = [], set()
def hold(task):
    PENDING.add(task)
    task.add_done_callback(PENDING.discard)
asyncio.run(serve(**eval(kind)))
"""

SOUND = {
    "steady, fast": "dict(rate=lambda t: 500, mean=0.1)",
    "steady, slow": "dict(rate=lambda t: 20, mean=2)",
    "few, long": "dict(rate=lambda t: 2, mean=10)",
    "bursty": "dict(rate=lambda t: 100, mean=0.3, burst=400)",
    "only bursts": "dict(rate=lambda t: 0, mean=1, burst=300)",
    "daily swing": "dict(rate=lambda t: 200 * (1 + math.sin(t / 10)), mean=0.2)",
    "rising half of a swing": "dict(rate=lambda t: 100 * (1 - math.cos(t / 22)), mean=0.5)",
    "growing load": "dict(rate=lambda t: 20 + 5 * t, mean=0.5)",
    "load in steps": "dict(rate=lambda t: 100 * (1 + int(t // 15)), mean=0.3)",
    "falling load": "dict(rate=lambda t: max(5, 300 - 5 * t), mean=0.3)",
}
LEAKING = {
    "1 a second under 500": "dict(rate=lambda t: 500, mean=0.1, leaks=1)",
    "2 a second under 100": "dict(rate=lambda t: 100, mean=0.3, leaks=2)",
    "1 a second under bursts": "dict(rate=lambda t: 50, mean=0.3, burst=300, leaks=1)",
    "1 a second in a swing": "dict(rate=lambda t: 100 * (1 + math.sin(t / 10)), mean=0.2, leaks=1)",
    "3 a second as load grows": "dict(rate=lambda t: 20 + 3 * t, mean=0.5, leaks=3)",
    "5 a second alone": "dict(rate=lambda t: 0, mean=1, leaks=5)",
    "every tenth": "dict(rate=lambda t: 45, mean=0.2, leaks=5)",
    "20 a second": "dict(rate=lambda t: 200, mean=0.2, leaks=20)",
    "retained, 2 a second": "dict(rate=lambda t: 100, mean=0.2, retain=2)",
    "retained, 1 a second under 300": "dict(rate=lambda t: 300, mean=0.1, retain=1)",
}
STARTER = """
import json, subprocess, sys
children = [subprocess.Popen([sys.executable, sys.argv[1], *each]) for each in json.loads(sys.argv[2])]
for child in children: child.wait()
"""


def _called_out(watching: Watching) -> dict[int, set[str]]:
    """Return the coroutines that were reported as a leak, by process."""
    found: dict[int, set[str]] = {}
    for lane in watching.lanes:
        named = {group.report.name for group in lane.reports.groups.values() if group.leaks}
        texts = [event.text for event in watching.events.since(0) if event.lane == lane.name]
        named |= {
            name for name in ("leaky", "returns", "request", "serve") if any(name in text for text in texts)
        }
        found[lane.pid] = named
    return found


@benchmark(
    "agent-leaks",
    Quantity("named", "20 services for 60 s: leaks not reported by their coroutine", "of 10", "≤ 0"),
    Quantity("false", "the same: coroutines falsely reported as a leak", "", "≤ 0"),
)
def measure_leaks(quick: bool) -> Mapping[str, RowValues]:
    """Watch twenty real services, half of them with a leak."""
    services = {**SOUND, **LEAKING}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("leaks.py", LEAKS), ("starter.py", STARTER)):
            (Path(folder) / name).write_text(text)
        arguments = [[kind, str(number)] for number, kind in enumerate(services.values())]
        command = [sys.executable, f"{folder}/starter.py", f"{folder}/leaks.py", json.dumps(arguments)]
        with watched_in_background(command) as (watching, _, output):
            end = time.monotonic() + (20 if quick else 65)
            while time.monotonic() < end:
                watching.step()
                time.sleep(0.02)
            called = _called_out(watching)
            numbers = {lane.pid: psutil.Process(lane.pid).cmdline()[-1] for lane in watching.alive}
        output.unlink()
    names = list(services)
    by_name = {names[int(word)]: called[pid] for pid, word in numbers.items() if word.isdigit()}
    missed = [name for name in LEAKING if not by_name.get(name, set()) & {"leaky", "returns"}]
    wrong = {name: found for name, words in by_name.items() if (found := words & {"request", "serve"})}
    wrong |= {name: found for name in SOUND if (found := by_name.get(name, set()) - {"request", "serve"})}
    return {
        "named": RowValues([float(len(missed))], detail={"missed": missed}),
        "false": RowValues(
            [float(len(wrong))], detail={"false": {name: sorted(each) for name, each in wrong.items()}}
        ),
    }
