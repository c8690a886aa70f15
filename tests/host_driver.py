"""Workers on other hosts for tests: links by prefixes of this machine, and an sshd of one's own."""

import asyncio
import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import time

import psutil

from concwatch.hosts.host import Host
from concwatch.hosts.link import HostLink, Program
from concwatch.links.link import Ended
from concwatch.links.messages import Error, HostFigures, Ready

PATIENCE = 40.0
"""Seconds after which what is waited for will not come, on the slowest machine."""

THROUGH_A_SHELL = ("sh", "-c", 'sh -c "$*"', "sh")
"""A prefix that joins its words for a shell, as ssh does."""

PIPED = ("sh", "-c", 'cat | "$@" | cat', "sh")
"""A prefix whose pipes stay open while what is between them stands still, as of a broken connection."""


class Remote:
    """One link to a worker on a host, and all that has come from it."""

    def __init__(self, link):
        self.link = link
        self.seen = []

    def of(self, kind):
        return [arrival for arrival in self.seen if isinstance(arrival, kind)]

    def look(self):
        self.seen += self.link.arrivals(time.monotonic())

    async def until(self, done, limit=PATIENCE):
        end = time.monotonic() + limit
        while not done():
            assert time.monotonic() < end, self.seen[-5:]
            self.look()
            await asyncio.sleep(0.01)

    async def ready(self):
        """Wait until the worker stands, and return its pid."""
        await self.until(lambda: self.of(Ready) or self.of(Ended))
        assert not self.of(Ended), self.of(Ended)
        return self.of(Ready)[0].pid

    async def end(self):
        """Wait for the end, and return it."""
        await self.until(lambda: self.of(Ended))
        return self.of(Ended)[0]

    async def refusal(self):
        """Wait for why there is no worker, in one line, and for its end."""
        await self.until(lambda: self.of(Ended) or self.of(Error))
        (line,) = (self.of(Error) or self.of(Ended))[:1]
        self.link.kill()
        await self.end()
        text = line.message if isinstance(line, Error) else line.reason
        assert "\n" not in text
        return text

    @property
    def bridge(self):
        """The bridge's process."""
        return psutil.Process(self.of(Ready)[0].pid).parent()

    @property
    def host(self):
        return self.of(HostFigures)[0]


def connect(*prefix, python=sys.executable, engine="asyncio", program=None):
    """Return a worker by a prefix; needs a running event loop."""
    return Remote(HostLink(Host("there", prefix, python), program or Program(engine)))


async def all_gone(*pids, limit=10.0):
    """Wait until processes have ended."""
    end = time.monotonic() + limit
    while left := [pid for pid in pids if psutil.pid_exists(pid) and not _is_zombie(pid)]:
        assert time.monotonic() < end, left
        await asyncio.sleep(0.02)


def _is_zombie(pid):
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


SSHD = shutil.which("sshd") or next(
    (path for path in ("/usr/sbin/sshd", "/usr/local/sbin/sshd") if os.path.exists(path)), None
)


def make_key(file):
    """Make a pair of keys: ``file``, and with ``.pub`` behind its name the public one."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)


def read_bytes(path):
    """Return what a file holds."""
    with open(path, "rb") as file:
        return file.read()


class Sshd:
    """An ssh server on loopback with keys of its own.

    Args:
        folder: where keys and configuration are put.
        before: a command prefix to run it by, such as in a network namespace.
        address: where it listens.
    """

    def __init__(self, folder, before=(), address="127.0.0.1"):
        self.folder, self.address = folder, address
        for name in ("host", "user"):
            make_key(folder / name)
        (folder / "authorized").write_text((folder / "user.pub").read_text())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (folder / "config").write_text(
            f"Port {self.port}\nListenAddress {address}\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxStartups 100\n"
        )
        os.makedirs("/run/sshd", exist_ok=True)
        log = (folder / "log").open("wb")
        self.process = subprocess.Popen(
            [*before, SSHD, "-D", "-e", "-f", str(folder / "config")],
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
        log.close()
        end = time.monotonic() + PATIENCE
        while "Server listening" not in (folder / "log").read_text():
            assert time.monotonic() < end and self.process.poll() is None, (folder / "log").read_text()  # noqa: PT018
            time.sleep(0.02)

    def prefix(self, *options):
        """Return the command that reaches it."""
        folder = self.folder
        return (
            "ssh", "-T", "-F", "none", "-i", f"{folder}/user", "-p", str(self.port),
            "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/known",
            "-o", "LogLevel=ERROR", *options, self.address,
        )  # fmt: skip

    def close(self):
        """End it, and every connection that it has."""
        for process in (*psutil.Process(self.process.pid).children(recursive=True), self.process):
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.process.wait()


RETRANSMISSION = 0.3
"""Seconds by which a segment that was lost comes later."""


class Relay:
    """A slow link to a port of this machine that loses segments and can be cut; needs a running event loop.

    As under TCP nothing is lost for who listens: it comes later, and all behind it, too.

    Args:
        port: where it leads.
        delay: seconds that each way takes.
        loss: the share of chunks that is late by a retransmission.
    """

    def __init__(self, port, delay=0.0, loss=0.0):
        self._leads_to, self._delay, self._loss = port, delay, loss
        self.open = asyncio.Event()
        """Whether anything passes: cleared, the link is cut."""
        self.open.set()
        self._tasks = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connect(self, reader, writer):
        there = await asyncio.open_connection("127.0.0.1", self._leads_to)
        for source, target in ((reader, there[1]), (there[0], writer)):
            chunks = asyncio.Queue()
            self._tasks |= {
                asyncio.create_task(self._take(source, chunks)),
                asyncio.create_task(self._hand_over(chunks, target)),
            }

    async def _take(self, source, chunks):
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 14):
                late = RETRANSMISSION if random.random() < self._loss else 0.0
                chunks.put_nowait((loop.time() + self._delay + late, data))
        chunks.put_nowait((loop.time() + self._delay, b""))

    async def _hand_over(self, chunks, target):
        loop = asyncio.get_running_loop()
        try:
            while True:
                due, data = await chunks.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                await self.open.wait()
                if not data:
                    return
                target.write(data)
                await target.drain()
        except OSError:
            pass  # the other side has gone
        finally:
            target.close()


def memory_group(limit):
    """Make a memory control group of ``limit`` bytes; return its folder, or None where none can be made."""
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = f"{root}/concwatch-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            os.mkdir(folder)
            try:
                with open(f"{folder}/{name}", "w") as file:
                    file.write(str(limit))
                return folder
            except OSError:
                os.rmdir(folder)
    return None


def killed_by_memory(folder):
    """Return how many processes of a control group the kernel has killed for want of memory."""
    for name in ("memory.oom_control", "memory.events"):
        with contextlib.suppress(OSError), open(f"{folder}/{name}") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
    return None


async def remove_group(folder):
    """Remove a control group once its last process has gone."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            os.rmdir(folder)
            return
        except OSError:
            assert time.monotonic() < end
            await asyncio.sleep(0.02)
