"""Lanes on other hosts, through a real ssh server on loopback, compared with local ones."""

import asyncio
import importlib.util
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from concwatch.commands.basics.lab import open_process
from concwatch.hosts.host import Host
from concwatch.hosts.survey import survey
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import find_engines
from tests.benchmarks.figures import Quantity, RowValues, alternate, benchmark, percentile, quiet
from tests.benchmarks.terminal import DrawnTerminal
from tests.host_driver import SSHD, Sshd

ASYNCIO = find_engines(["asyncio"])[0]


async def _hold(hosts, tasks, seconds=1.0):
    """Hold ``tasks`` tasks on each host for some seconds; return the closed lab."""
    lab = Lab([ASYNCIO.on(host) for host in hosts], open_link=open_process)
    run = asyncio.create_task(lab.run())
    try:
        for lane in lab.lanes:
            lab.set_target(lane, tasks)
        end = time.monotonic() + 120
        while not all(lane.target.reached for lane in lab.lanes):
            assert time.monotonic() < end, lab.events.since(0)
            await asyncio.sleep(0.02)
        before, began = psutil.Process().cpu_times(), time.monotonic()
        ticks = [lane.worker.stats.tick.number for lane in lab.lanes]
        seen = [0] * len(lab.lanes)
        for index, lane in enumerate(lab.lanes):
            lane.worker.stats.add_tick = _counted(lane.worker.stats.add_tick, seen, index)
        await asyncio.sleep(seconds)
        used, took = psutil.Process().cpu_times(), time.monotonic() - began
        lab.cpu = (used.user + used.system - before.user - before.system) / took
        numbers = [
            lane.worker.stats.tick.number - first for lane, first in zip(lab.lanes, ticks, strict=True)
        ]
        lab.missing = sum(sent - came for sent, came in zip(numbers, seen, strict=True))
    finally:
        run.cancel()
        await lab.close()
    return lab


def _counted(take, seen, index):
    """Return ``take``, which counts its calls."""

    def count(*arguments):
        seen[index] += 1
        return take(*arguments)

    return count


def _figures(hosts, tasks):
    lane = asyncio.run(_hold(hosts, tasks)).lanes[0]
    return lane.sample.rss_per_task, lane.worker.stats.create_rate


def _ready(host):
    """Return the seconds from the start of a lane until it runs."""

    async def measure():
        lab = Lab([ASYNCIO.on(host)], open_link=open_process)
        run = asyncio.create_task(lab.run())
        began = time.monotonic()
        lab.switch(lab.lanes[0], True)
        while lab.lanes[0].state is not State.RUNNING:  # noqa: ASYNC110  # a lab has no event for it
            await asyncio.sleep(0.005)
        took = time.monotonic() - began
        run.cancel()
        await lab.close()
        return took

    return asyncio.run(measure())


def _connecting(host):
    """Return the seconds that ssh takes to connect and run ``true``."""
    began = time.monotonic()
    subprocess.run([*host.command, "true"], check=True, stdin=subprocess.DEVNULL)
    return time.monotonic() - began


class _Server:
    """An ssh server for the duration of a benchmark, as any number of hosts."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        self.sshd = Sshd(Path(self.folder))
        return lambda count=1: [
            Host(f"web{number}", self.sshd.prefix(), shutil.which("python3") or "python3")
            for number in range(1, count + 1)
        ]

    def __exit__(self, *_):
        self.sshd.close()
        shutil.rmtree(self.folder)


@benchmark(
    "hosts",
    Quantity("bytes", "bytes a task over ssh, 100 k tasks", "B", "1 ± 0.01 ×", "here"),
    Quantity("rate", "tasks created a second over ssh", "/s", "≥ 0.97 ×", "here"),
    Quantity("ready", "lane ready, in addition to ssh's connecting", "s", "≤ 0.5 s"),
    Quantity("delay", "heartbeat round trip", "ms"),
    Quantity("cpu", "concwatch's CPU: 8 hosts × 50 k tasks at 10 Hz", "%", "≤ 20 %"),
    Quantity("ticks", "ticks lost meanwhile", "ticks", "≤ 0 ticks"),
)
def measure_hosts(quick: bool) -> Mapping[str, RowValues]:
    """Measure the effect of a connection by ssh."""
    if SSHD is None:
        return {}
    tasks, rounds = (10_000, 1) if quick else (100_000, 5)
    with _Server() as hosts:
        (web1,) = hosts()
        held = [(_figures([None], tasks), _figures([web1], tasks)) for _ in range(rounds)]
        readiness = alternate(rounds, connecting=lambda: _connecting(web1), ready=lambda: _ready(web1))
        found = asyncio.run(survey(web1))
        lab = asyncio.run(_hold(hosts(8), 5_000 if quick else 50_000, 3 if quick else 20))
    bytes_, rates = (
        RowValues([there[index] for _, there in held], [here[index] for here, _ in held]) for index in (0, 1)
    )
    return {
        "bytes": bytes_,
        "rate": rates,
        "ready": RowValues([a - b for a, b in zip(readiness["ready"], readiness["connecting"], strict=True)]),
        "delay": RowValues([(found.delay or 0.0) * 1000]),
        "cpu": RowValues([lab.cpu * 100]),
        "ticks": RowValues([float(lab.missing)]),
    }


class _Namespace:
    """A network namespace with an ssh server, whose link can be cut."""

    def __enter__(self):
        for command in (
            "ip netns add cwbench",
            "ip link add cwb0 type veth peer name cwb1 netns cwbench",
            "ip addr add 10.231.9.1/24 dev cwb0",
            "ip link set cwb0 up",
            "ip -n cwbench addr add 10.231.9.2/24 dev cwb1",
            "ip -n cwbench link set cwb1 up",
            "ip -n cwbench link set lo up",
        ):
            subprocess.run(command.split(), check=True)
        self.folder = tempfile.mkdtemp()
        before = ("ip", "netns", "exec", "cwbench")
        self.sshd = Sshd(Path(self.folder), before, "10.231.9.2")
        return self

    def cut(self, down):
        subprocess.run(["ip", "link", "set", "cwb0", "down" if down else "up"], check=True)

    def __exit__(self, *_):
        self.sshd.close()
        shutil.rmtree(self.folder)
        subprocess.run(["ip", "netns", "del", "cwbench"], check=True)


async def _cut(network, host, seconds):
    """Cut a lane's link for ``seconds`` (None: for good); return when it was lost and its worker ended."""
    lab = Lab([ASYNCIO.on(host)], open_link=open_process)
    run = asyncio.create_task(lab.run())
    (lane,) = lab.lanes
    lab.set_target(lane, 1_000)
    while lane.live < 1_000:  # noqa: ASYNC110  # a lab has no event for it
        await asyncio.sleep(0.01)
    pid, began = lane.worker.stats.ready.pid, time.monotonic()
    network.cut(True)
    lost = gone = None
    while time.monotonic() < began + 12 and (lost is None or gone is None):
        now = time.monotonic() - began
        if seconds is not None and now >= seconds:
            network.cut(False)
            seconds = None if now > 8 else seconds
        if lost is None and lane.state is State.LOST:
            lost = now
        if gone is None and not psutil.pid_exists(pid):
            gone = now
        await asyncio.sleep(0.02)
    network.cut(False)
    run.cancel()
    await lab.close()
    return lost, gone


@benchmark(
    "hosts-cut",
    Quantity("lost", "link cut for good: the lane is lost after", "s", "≤ 5 s"),
    Quantity("gone", "link cut for good: its worker has ended after", "s", "≤ 5.5 s"),
    Quantity("kept", "link cut for 3 s: lanes that continued", "%"),
)
def measure_cut(quick: bool) -> Mapping[str, RowValues]:
    """Measure how soon both sides detect a broken connection; the slowest of all."""
    if SSHD is None or shutil.which("ip") is None:
        return {}
    rounds = 3 if quick else 50
    with _Namespace() as network:
        host = Host("far", network.sshd.prefix(), shutil.which("python3") or "python3")
        ends = [asyncio.run(_cut(network, host, None)) for _ in range(rounds)]
        short = [asyncio.run(_cut(network, host, 3.0)) for _ in range(max(2, rounds // 10))]
    return {
        "lost": RowValues([max(lost or 99.0 for lost, _ in ends)]),
        "gone": RowValues([max(gone or 99.0 for _, gone in ends)]),
        "kept": RowValues([100 * sum(lost is None for lost, _ in short) / len(short)]),
    }


def _screen_of_fakes() -> str:
    """Return code that runs the program with fake bridges on its arguments."""
    return (
        "import gc, sys; gc.disable(); from tests.benchmarks.fake_cluster import use_fakes; use_fakes();"
        "from concwatch.commands.cli import main; main()"
    )


def _fifty(hosts: int, seconds: float, presses: int, unfold: bool) -> tuple[float, list[float]]:
    """Return concwatch's share of a core, and the milliseconds from each key press to its frame."""
    cluster = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.fake_cluster", str(hosts)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = cluster.stdout.readline().strip()
        screen = ("--cluster", address, "--engines", "asyncio,uvloop", "--rate", "2", "--no-trace")
        begin = ("--tasks", f"asyncio={hosts}k,uvloop={hosts}k")
        with DrawnTerminal("-c", _screen_of_fakes(), *screen, *begin) as terminal:
            terminal.until(lambda: terminal.text().count(f"{hosts},000 live") >= 2)
            if unfold:
                terminal.type("h")
                terminal.shows("asyncio · dask")
            terminal.run(3.0)
            before, began = sum(terminal.monitor.cpu_times()[:2]), time.monotonic()
            terminal.run(seconds)
            cpu = (sum(terminal.monitor.cpu_times()[:2]) - before) / (time.monotonic() - began)
            times = []
            for number in range(presses):
                terminal.run(random.uniform(0.02, 0.5))
                key = str(2 - number % 2)
                pressed = terminal.type(key)
                times.append((terminal.until(lambda key=key: f"▌{key} " in terminal.text()) - pressed) * 1e3)
            terminal.type("q")
            terminal.wait_exit()
        return cpu * 100, times
    finally:
        cluster.communicate()


@benchmark(
    "cluster",
    Quantity("cpu", "50 fake Dask workers × 2 lanes at 2 Hz: concwatch's CPU", "%", "≤ 25 %", "one core"),
    Quantity("keys", "key to screen then, p95", "ms", "≤ 100 ms"),
    Quantity("unfolded", "concwatch's CPU with 50 of the lanes unfolded", "%", "", "one core"),
    Quantity("million", "1,000,000 asyncio tasks on local:4", "s", "≤ 1.3 ×", "250,000 in one lane here"),
    Quantity("step", "longest time between two steps of the screen's loop then", "ms", "≤ 100 ms"),
)
def measure_cluster(quick: bool) -> Mapping[str, RowValues]:
    """Measure many lanes, and a million tasks, on a Dask cluster."""
    if importlib.util.find_spec("distributed") is None:
        return {}
    from concwatch.hosts.cluster import Cluster

    hosts, seconds = (10, 3.0) if quick else (50, 15.0)
    quiet.wait()
    cpu, keys = _fifty(hosts, seconds, 10 if quick else 60, unfold=False)
    unfolded, _ = _fifty(hosts, seconds, 0, unfold=True)
    tasks, rounds = (20_000, 1) if quick else (250_000, 3)
    cluster = Cluster("local:4")
    try:
        pairs = [(_climb([None], tasks), _climb(cluster.hosts, 4 * tasks)) for _ in range(rounds)]
    finally:
        cluster.close()
    return {
        "cpu": RowValues([cpu]),
        "keys": RowValues([percentile(keys, 0.95)], detail={"p50": percentile(keys, 0.5), "max": max(keys)}),
        "unfolded": RowValues([unfolded]),
        "million": RowValues([there[0] for _, there in pairs], [here[0] for here, _ in pairs]),
        "step": RowValues([max(there[1] for _, there in pairs) * 1e3]),
    }


def _climb(hosts: Sequence[Host | None], tasks: int) -> tuple[float, float]:
    """Return the seconds until ``tasks`` tasks are live, and the longest iteration of the loop."""

    async def climb() -> tuple[float, float]:
        lab = Lab(
            [ASYNCIO.on(host) for host in hosts], open_link=open_process, settings=Settings("sleep:600")
        )
        run = asyncio.create_task(lab.run())
        try:
            for lane in lab.lanes:
                lab.switch(lane, True)
            while any(lane.state is not State.RUNNING for lane in lab.lanes):  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.02)
            began, longest = time.monotonic(), 0.0
            for lane in lab.lanes:
                lab.set_target(lane, tasks // len(lab.lanes))
            while sum(lane.live for lane in lab.lanes) < tasks:
                assert time.monotonic() < began + 300, lab.events.since(0)
                turn = time.monotonic()
                await asyncio.sleep(0.005)
                longest = max(longest, time.monotonic() - turn - 0.005)
            return time.monotonic() - began, longest
        finally:
            run.cancel()
            await lab.close()

    return asyncio.run(climb())
