"""The agent's overhead in a program: per task, in memory, and its pauses.

Each program runs bare and watched in turn, the watched one with a monitor that reads its reports.
"""

import importlib.util
import sys
from collections.abc import Mapping

import psutil

from tests.agent_driver import EVERY, Monitor, finish
from tests.benchmarks.figures import MIB, Quantity, RowValues, alternate, benchmark

CREATES = """
import asyncio, sys, time
async def job(): pass
async def main():
    await asyncio.sleep(0.5)  # the monitor is connected, the first scan is done
    began = time.process_time()
    for _ in range(int(sys.argv[1]) // 100):
        for _ in range(100):
            asyncio.create_task(job())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    print((time.process_time() - began) / int(sys.argv[1]) * 1e9)
if "aiomonitor" in sys.argv:
    import aiomonitor
    async def monitored():
        loop = asyncio.get_running_loop()
        with aiomonitor.start_monitor(loop, hook_task_factory=True, port=0, webui_port=0):
            await main()
    asyncio.run(monitored())
elif "OpenTelemetry" in sys.argv:
    from opentelemetry.instrumentation.asyncio import AsyncioInstrumentor
    import os
    os.environ["OTEL_PYTHON_ASYNCIO_COROUTINE_NAMES_TO_TRACE"] = "job"
    from opentelemetry.sdk.metrics import MeterProvider
    AsyncioInstrumentor().instrument(meter_provider=MeterProvider())
    asyncio.run(main())
elif "uvloop" in sys.argv:
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""

WAITS = """
import asyncio, sys
async def main():
    print("there", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""

HOLDS = """
import asyncio, gc, sys, time
tasks, groups, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
for number in range(groups):
    exec(f"async def job{number}(event): await event.wait()")
def others():
    return time.process_time() - time.thread_time()
async def main():
    gc.disable()
    event = asyncio.Event()
    held = []
    for number in range(tasks):
        held.append(asyncio.create_task(globals()[f"job{number % groups}"](event)))
        if number % 1000 == 0:
            await asyncio.sleep(0)
    pauses, began = [0.0], time.perf_counter()
    last, taken, first = began, others(), others()
    # Independent of other programs: counts the CPU time that another thread used at a time.
    while last < began + seconds:
        now = time.perf_counter()
        if now - last > 0.0005:
            pauses.append(others() - taken)
            taken = others()
        last = now
    print((others() - first) / seconds * 100, max(pauses) * 1000)
    event.set()
    await asyncio.wait(held)
asyncio.run(main())
"""

BEGINS = """
import asyncio, sys, time
for number in range(50):
    exec(f"async def job{number}(): await asyncio.sleep(0.01)")
async def main():
    delay = used = 0.0
    turn, ends = 0, time.perf_counter() + 1
    while time.perf_counter() < ends:
        turn += 1
        if turn % 10 == 0 and turn <= 500:  # functions whose tasks are new to the agent
            running = asyncio.create_task(globals()[f"job{turn // 10 - 1}"]())
        began, at = time.process_time(), time.perf_counter()
        await asyncio.sleep(0.001)
        delay = max(delay, time.perf_counter() - at - 0.001)
        used = max(used, time.process_time() - began)
    print(delay * 1e3, used * 1e3)
if "uvloop" in sys.argv:
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""

THIS = sys.executable

VERSIONS = {
    "uvloop": THIS,
    **{name: EVERY.get(f"CPython {name}") for name in ("3.9", "3.11", "3.13", "3.14")},
}
"""Row → the interpreter, if it is installed."""

OTHERS = {"aiomonitor": "aiomonitor", "OpenTelemetry": "opentelemetry.instrumentation.asyncio"}
"""Other tools that report tasks → the module that they need."""

HELD = {"many": "100 k live tasks in 200 groups", "million": "1 M live tasks in one group"}


def _run(text: str, *arguments: str, watched: bool, python: str = THIS, **variables: str) -> list[float]:
    """Run a program to its end, and return the figures that it prints."""
    with Monitor() as monitor:
        program = monitor.start(text, *arguments, watched=watched, python=python, **variables)
        return [float(word) for word in finish(program).split()]


def _there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@benchmark(
    "agent-task",
    *(Quantity(name, f"agent: time added to a task, {name}", "ns", "≤ 300 ns") for name in VERSIONS),
    *(Quantity(name, f"{name} instead, {sys.version.split()[0]}", "ns") for name in OTHERS),
)
def measure_task(quick: bool) -> Mapping[str, RowValues]:
    """Measure the additional CPU time of a task, in nanoseconds: the best round less the best bare one.

    All that other programs do to it adds CPU time, up to several times as much as the agent.
    """
    rows = {}
    count = str(20_000 if quick else 200_000)
    for name, python in VERSIONS.items():
        if python is None:
            continue
        found = alternate(
            1 if quick else 7,
            bare=lambda name=name, python=python: _run(CREATES, count, name, watched=False, python=python),
            watched=lambda name=name, python=python: _run(CREATES, count, name, watched=True, python=python),
        )
        rows[name] = RowValues([min(found["watched"]) - min(found["bare"])], detail=dict(found))
    for name in filter(lambda name: _there(OTHERS[name]), OTHERS):
        found = alternate(
            1 if quick else 5,
            bare=lambda: _run(CREATES, count, watched=False),
            other=lambda name=name: _run(CREATES, count, name, watched=False, PYTHONWARNINGS="ignore"),
        )
        rows[name] = RowValues([min(found["other"]) - min(found["bare"])])
    return rows


@benchmark(
    "agent-start",
    *(
        Quantity(f"{name}-delay", f"agent: longest delay of a loop in its first second, {name}", "ms", "",
                 "not watched")
        for name in VERSIONS
    ),
    *(
        Quantity(f"{name}-used", f"the same, CPU time of the process meanwhile, {name}", "ms", "≤ 1 ms",
                 "not watched")
        for name in VERSIONS
    ),
)  # fmt: skip
def measure_start(quick: bool) -> Mapping[str, RowValues]:
    """Measure how long a loop of a new process waits for its next turn, in milliseconds: the longest time.

    Other programs delay a loop, too; the CPU time of the process during a turn, in all of its threads, does
    not include them.
    """
    rows = {}
    for name, python in VERSIONS.items():
        if python is None:
            continue
        found = alternate(
            2 if quick else 10,
            bare=lambda name=name, python=python: _run(BEGINS, name, watched=False, python=python),
            watched=lambda name=name, python=python: _run(BEGINS, name, watched=True, python=python),
        )
        for number, kind in enumerate(("delay", "used")):
            rows[f"{name}-{kind}"] = RowValues(found["watched"][number::2], found["bare"][number::2])
    return rows


def _rss(watched: bool) -> float:
    with Monitor() as monitor:
        program = monitor.start(WAITS, watched=watched)
        program.stdout.readline()
        if watched:
            process = monitor.process()
            process.group("main", live=1)
            process.tick(lambda tick: tick["number"] > 20)
        return float(psutil.Process(program.pid).memory_info().rss / MIB)


@benchmark("agent-memory", Quantity("memory", "agent: memory added to a program", "MiB", "≤ 1.5 MiB"))
def measure_memory(quick: bool) -> Mapping[str, RowValues]:
    """Measure the additional memory of a program, in MiB."""
    found = alternate(1 if quick else 5, bare=lambda: _rss(False), watched=lambda: _rss(True))
    return {"memory": RowValues([a - b for a, b in zip(found["watched"], found["bare"], strict=True)])}


@benchmark(
    "agent-held",
    *(Quantity(f"{name}-share", f"agent: time, {what}", "%", "≤ 1 %") for name, what in HELD.items()),
    *(
        Quantity(f"{name}-pause", f"agent: longest pause, {what}", "ms", "≤ 20 ms")
        for name, what in HELD.items()
    ),
)
def measure_held(quick: bool) -> Mapping[str, RowValues]:
    """Measure the agent's share of the time, in per cent, and its longest pause, in milliseconds."""
    rows = {}
    for name, tasks, groups in (("many", 100_000, 200), ("million", 1_000_000, 1)):
        share, pause = _run(
            HOLDS, str(tasks // 10 if quick else tasks), str(groups), "3" if quick else "30", watched=True
        )
        rows[f"{name}-share"], rows[f"{name}-pause"] = RowValues([share]), RowValues([pause])
    return rows
