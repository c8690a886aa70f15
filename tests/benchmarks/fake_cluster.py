"""A Dask cluster of many workers in one process, with fake bridges.

``python -m tests.benchmarks.fake_cluster N`` prints the scheduler's address, and exits when its input ends.
"""

import asyncio
import json
import sys
import time

from distributed import LocalCluster

from concwatch.hosts import plugin

MIB = 1 << 20


class FakeBridge:
    """Sends the reports of a bridge and its worker; its tasks are only counters."""

    def __init__(self, command, begin, report):
        self._report = report
        self._hz, self._live, self._created, self._number = 10.0, 0, 0, 0
        self._running = asyncio.create_task(self._run())
        self.write(begin[begin.rindex(b'{"type":') :])

    async def _run(self):
        self._host(walls=[])
        reported = time.monotonic()
        while True:
            await asyncio.sleep(1 / self._hz)
            now = time.monotonic()
            self._number += 1
            self._send(
                "tick", time=now, created=self._created, live=self._live, completed=0, failed=0,
                cancelled=self._created - self._live, number=self._number, lag=0.001, cpu=0.1, switches=0,
            )  # fmt: skip
            self._send(
                "process", time=now, rss=20 * MIB + 1_000 * self._live, virtual=100 * MIB, peak_rss=20 * MIB,
                threads=3, cpu_seconds=0.1,
            )  # fmt: skip
            if now - reported >= 1:
                reported = now
                self._host()

    def _send(self, type_, **fields):
        self._report(1, json.dumps({"type": type_, **fields}, separators=(",", ":")).encode() + b"\n")

    def _host(self, **more):
        self._send(
            "host", time=time.monotonic(), name="fake", system="Linux", processor="x86_64", python="CPython",
            cores=4, memory_total=16_384 * MIB, memory_available=12_288 * MIB, busy=0.0, own=0.0, **more,
        )  # fmt: skip

    def write(self, data):
        for line in data.splitlines():
            fields = json.loads(line)
            match fields["type"]:
                case "beat":
                    self._send("echo", number=fields["number"])
                case "start":
                    self._send(
                        "ready", engine=fields["engine"], runtime="fake", pid=1, protocol=1, can=["gc"]
                    )
                case "target":
                    grown, self._live = fields["tasks"] - self._live, fields["tasks"]
                    made = {"created": max(0, grown), "cancelled": max(0, -grown), "seconds": 0.1}
                    self._created += made["created"]
                    self._send("reached", target=self._live, live=self._live, **made)
                case "stop":
                    self.close()
                case command:
                    self._hz = fields.get("hz", self._hz)
                    self._send("applied", command=command, seconds=0.0)

    def acknowledge(self, size):
        pass

    def close(self):
        if not self._running.done():
            self._running.cancel()
            self._send("ended", status=0)
            self._report(plugin.EXIT, 0)

    kill = close


def use_fakes():
    """Make the plugin for Dask workers start fake bridges."""
    plugin.BridgeProcess = FakeBridge


if __name__ == "__main__":
    with LocalCluster(
        n_workers=int(sys.argv[1]),
        threads_per_worker=1,
        processes=False,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address=None,
        worker_dashboard_address=None,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
