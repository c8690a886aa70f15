"""Workers on remote hosts for tests: links through local command prefixes, and an ssh server."""

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
import pytest

from concwatch.hosts.host import Host
from concwatch.hosts.link import BridgeProgram, HostLink
from concwatch.links.link import Ended
from concwatch.links.messages import Error, Reached, Ready
from tests.command_line import PROGRAM
from tests.processes import assert_ended

PATIENCE = 40.0
"""Seconds to wait for anything, on a busy machine."""

THROUGH_A_SHELL = ("sh", "-c", 'sh -c "$*"', "sh")
"""A prefix that joins its arguments for a shell, as ssh does."""

PIPED = ("sh", "-c", 'cat | "$@" | cat', "sh")
"""A prefix whose pipes stay open when the processes between are suspended, like a broken connection."""


async def eventually(condition, describe=lambda: ""):
    """Wait until ``condition()`` is true, and return its value; fail with ``describe()``."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, describe()
        await asyncio.sleep(0.02)
    return found


class Remote:
    """A link to a worker on a host, and everything received from it."""

    def __init__(self, link):
        self.link = link
        self.received = []

    def all(self, kind):
        """Return the received messages of a type."""
        return [message for message in self.received if isinstance(message, kind)]

    async def until(self, condition):
        """Receive messages until ``condition()`` is true."""

        def receive():
            self.received += self.link.arrivals(time.monotonic())
            return condition()

        await eventually(receive, lambda: self.received[-5:])

    async def receive(self, kind):
        """Wait for a message of a type, and return the first one."""
        await self.until(lambda: self.all(kind))
        return self.all(kind)[0]

    async def ready(self):
        """Wait until the worker is ready, and return its pid."""
        found = await self.receive((Ready, Ended))
        assert isinstance(found, Ready), found
        return found.pid

    async def end(self):
        """Wait for the end, and return it."""
        return await self.receive(Ended)

    async def start_tasks(self, count):
        """Set the target, and wait until it is reached."""
        self.link.send("target", tasks=count)
        await self.receive(Reached)

    async def stop(self):
        """Stop the worker, and return its end."""
        self.link.send("stop")
        return await self.end()

    async def failure(self):
        """Wait for the error or end of a worker that cannot run; return its message of one line."""
        found = await self.receive((Ended, Error))
        self.link.kill()
        await self.end()
        text = found.message if isinstance(found, Error) else found.reason
        assert "\n" not in text
        return text

    @property
    def bridge(self):
        """The bridge's process."""
        return psutil.Process(self.all(Ready)[0].pid).parent()


def connect(*prefix, python=sys.executable, engine="asyncio", program=None):
    """Connect to a worker through a prefix; needs a running event loop."""
    return Remote(HostLink(Host("remote", prefix, python), program or BridgeProgram(engine)))


async def all_ended(*pids):
    """Wait until processes have ended."""
    await asyncio.to_thread(assert_ended, pids)


def kill_run(*options):
    """Kill a ``concwatch run`` that holds tasks; return how many descendants it had, which all must end."""
    command = [*PROGRAM, "run", "asyncio", "--tasks", "1000", "--seconds", "60", *options]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert any("holding" in line for line in run.stderr)
        descendants = psutil.Process(run.pid).children(recursive=True)
    finally:
        run.kill()
        run.wait()
        run.stderr.close()
    assert_ended(descendants)
    return len(descendants)


SSHD = shutil.which("sshd") or next(
    (path for path in ("/usr/sbin/sshd", "/usr/local/sbin/sshd") if os.path.exists(path)), None
)


def make_key(file):
    """Create a private key in ``file``, and the public one in ``file.pub``."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)


class Sshd:
    """An ssh server with its own keys.

    Args:
        folder: for keys and configuration.
        before: a command prefix, such as one that enters a network namespace.
        address: the address to listen on.
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
        """Return the command that connects to the server."""
        folder = self.folder
        return (
            "ssh", "-T", "-F", "none", "-i", f"{folder}/user", "-p", str(self.port),
            "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/known",
            "-o", "LogLevel=ERROR", *options, self.address,
        )  # fmt: skip

    def close(self):
        """Kill the server and its connections."""
        for process in (*psutil.Process(self.process.pid).children(recursive=True), self.process):
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.process.wait()


RETRANSMISSION = 0.3
"""Seconds by which a lost segment is delayed."""


class Relay:
    """A relay to a local port that is slow and can be interrupted; needs a running event loop.

    Lost segments delay everything after them, as under TCP.

    Args:
        port: the port to connect to.
        delay: seconds that each direction takes.
        loss: the share of chunks that is delayed by a retransmission.
    """

    def __init__(self, port, delay=0.0, loss=0.0):
        self._target, self._delay, self._loss = port, delay, loss
        self.open = asyncio.Event()
        """Cleared while the connection is interrupted."""
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
        remote_reader, remote_writer = await asyncio.open_connection("127.0.0.1", self._target)
        for source, target in ((reader, remote_writer), (remote_reader, writer)):
            chunks = asyncio.Queue()
            self._tasks |= {
                asyncio.create_task(self._receive(source, chunks)),
                asyncio.create_task(self._send(chunks, target)),
            }

    async def _receive(self, source, chunks):
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 14):
                late = RETRANSMISSION if random.random() < self._loss else 0.0
                chunks.put_nowait((loop.time() + self._delay + late, data))
        chunks.put_nowait((loop.time() + self._delay, b""))

    async def _send(self, chunks, target):
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
            pass  # the other side has closed
        finally:
            target.close()


def memory_group(limit):
    """Create a memory control group of ``limit`` bytes; return its folder, or None if not permitted."""
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


END_GROUP = """
cat
for attempt in $(seq 200); do
    [ -d "$0" ] || exit
    pids=$(cat "$0/cgroup.procs")
    [ -z "$pids" ] || kill -9 $pids
    rmdir "$0" || sleep 0.05
done
"""
"""A shell script: once its input closes, end what is left in the control group ``$0``, and remove it."""


@contextlib.contextmanager
def cpu_group(cores):
    """Yield a prefix that runs a command in a CPU control group of version 1 with a quota of ``cores``.

    A shell removes the group with its processes, also if this process is killed. Skips the test where making
    the group is not permitted.
    """
    folder = f"/sys/fs/cgroup/cpu/concwatch-test-{os.getpid()}"
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("no permission to create a CPU control group of version 1")
    output = subprocess.DEVNULL
    command = ["sh", "-c", END_GROUP, folder]
    ender = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True
    )
    try:
        with open(f"{folder}/cpu.cfs_quota_us", "w") as file:
            file.write(str(round(cores * 100_000)))
        yield ("sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh")
    finally:
        ender.stdin.close()
        ender.wait(PATIENCE)
    assert not os.path.exists(folder)


def killed_by_memory(folder):
    """Return how many processes of a control group the kernel has killed because memory ran out."""
    for name in ("memory.oom_control", "memory.events"):
        with contextlib.suppress(OSError), open(f"{folder}/{name}") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
    return None


async def remove_group(folder):
    """Remove a control group when its last process has ended."""

    def remove():
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        return not os.path.exists(folder)

    await eventually(remove)
