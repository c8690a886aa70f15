"""Lanes on other hosts, by a real ssh server on loopback, against the same on this machine."""

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from concwatch.hosts.host import Host
from concwatch.hosts.survey import survey
from concwatch.lab.catalog import find
from concwatch.lab.lab import Lab
from concwatch.lab.lane_state import State
from tests.benchmarks.figures import Measured, Row, alternate, benchmark
from tests.host_driver import SSHD, Sshd

ASYNCIO = find(["asyncio"])[0]


async def _hold(hosts, tasks, seconds=1.0):
    """Hold so many tasks on each host; return the lab once they have stood for a while, closed."""
    lab = Lab([ASYNCIO.on(host) for host in hosts])
    run = asyncio.create_task(lab.run())
    try:
        for lane in lab.lanes:
            lab.set_target(lane, tasks)
        end = time.monotonic() + 120
        while not all(lane.worker.goal.reached for lane in lab.lanes):
            assert time.monotonic() < end, lab.events.since(0)
            await asyncio.sleep(0.02)
        before, began = psutil.Process().cpu_times(), time.monotonic()
        ticks = [lane.worker.tally.tick.number for lane in lab.lanes]
        seen = [0] * len(lab.lanes)
        for index, lane in enumerate(lab.lanes):
            lane.worker.tally.add_tick = _counted(lane.worker.tally.add_tick, seen, index)
        await asyncio.sleep(seconds)
        used, took = psutil.Process().cpu_times(), time.monotonic() - began
        lab.cpu = (used.user + used.system - before.user - before.system) / took
        told = [lane.worker.tally.tick.number - first for lane, first in zip(lab.lanes, ticks, strict=True)]
        lab.missing = sum(sent - came for sent, came in zip(told, seen, strict=True))
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
    return lane.sample.rss_per_task, lane.worker.tally.create_rate


def _ready(host):
    """Seconds from the start of a lane to its first task."""

    async def measure():
        lab = Lab([ASYNCIO.on(host)])
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
    """Seconds that ssh itself takes to connect and run nothing."""
    began = time.monotonic()
    subprocess.run([*host.command, "true"], check=True, stdin=subprocess.DEVNULL)
    return time.monotonic() - began


class _Server:
    """An ssh server for as long as a benchmark lasts, as a number of hosts."""

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
    Row("bytes", "bytes a task over ssh, 100 k tasks", "B", "1 ± 0.01 ×", "here"),
    Row("rate", "tasks created a second over ssh", "/s", "≥ 0.97 ×", "here"),
    Row("ready", "lane ready, beyond ssh's own connecting", "s", "≤ 0.5 s"),
    Row("delay", "sign of life there and back", "ms"),
    Row("cpu", "concwatch's CPU: 8 hosts × 50 k tasks at 10 Hz", "%", "≤ 20 %"),
    Row("ticks", "ticks that are lost then", "ticks", "≤ 0 ticks"),
)
def measure_hosts(quick: bool) -> Mapping[str, Measured]:
    """Measure what a connection by ssh changes."""
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
        Measured([there[index] for _, there in held], [here[index] for here, _ in held]) for index in (0, 1)
    )
    return {
        "bytes": bytes_,
        "rate": rates,
        "ready": Measured([a - b for a, b in zip(readiness["ready"], readiness["connecting"], strict=True)]),
        "delay": Measured([(found.delay or 0.0) * 1000]),
        "cpu": Measured([lab.cpu * 100]),
        "ticks": Measured([float(lab.missing)]),
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
    """Cut a lane's link for so long, None for good; return after how long it is lost and its worker gone."""
    lab = Lab([ASYNCIO.on(host)])
    run = asyncio.create_task(lab.run())
    (lane,) = lab.lanes
    lab.set_target(lane, 1_000)
    while lane.live < 1_000:  # noqa: ASYNC110  # a lab has no event for it
        await asyncio.sleep(0.01)
    pid, began = lane.worker.tally.ready.pid, time.monotonic()
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
    Row("lost", "link cut for good: the lane is lost after", "s", "≤ 5 s"),
    Row("gone", "link cut for good: its worker is gone after", "s", "≤ 5.5 s"),
    Row("kept", "link cut for 3 s: lanes that went on", "%"),
)
def measure_cut(quick: bool) -> Mapping[str, Measured]:
    """Measure how soon a broken connection is known on both sides; the slowest of all."""
    if SSHD is None or shutil.which("ip") is None:
        return {}
    rounds = 3 if quick else 50
    with _Namespace() as network:
        host = Host("far", network.sshd.prefix(), shutil.which("python3") or "python3")
        ends = [asyncio.run(_cut(network, host, None)) for _ in range(rounds)]
        short = [asyncio.run(_cut(network, host, 3.0)) for _ in range(max(2, rounds // 10))]
    return {
        "lost": Measured([max(lost or 99.0 for lost, _ in ends)]),
        "gone": Measured([max(gone or 99.0 for _, gone in ends)]),
        "kept": Measured([100 * sum(lost is None for lost, _ in short) / len(short)]),
    }
