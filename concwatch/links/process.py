"""A link to a worker in a child process."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import cast

from concwatch.links.link import Arrival, Ended
from concwatch.links.output import OUT, ProcessOutput
from concwatch.portable.agent.sending.json_lines import encode
from concwatch.portable.machine.cpu_quota import throttling_of
from concwatch.portable.machine.kernel_objects import KernelObjectsSource
from concwatch.portable.machine.spawn import NICENESS, ChildSetup
from concwatch.system.child import ROOT, explain_start_error
from concwatch.system.process import Reading, Sampler

READ_SIZE = 1 << 16
"""Bytes that are read at once, as many as a pipe holds."""

DRAIN_TIME = 0.5
"""Seconds for which the pipes of an exited worker are still read."""

_objects = KernelObjectsSource(ROOT)


class WorkerProcess(ProcessOutput, asyncio.SubprocessProtocol):
    """A `Link` to a child process. Must be created on a running event loop.

    Its output is read only as fast as `arrivals` is called: a worker that writes faster blocks on its pipe,
    and takes neither time nor memory here.
    """

    POLLED = sys.platform != "win32"
    """Whether `arrivals` reads the standard output of a worker that writes little. With four idle ones, the
    process is woken up 25 times a second, instead of 64 times, and uses a fourteenth less CPU time."""

    MEASURED = True
    """Whether its kernel memory and its CPU quota are read: not for the process of a connection to a host."""

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str] | None = None,
        preamble: bytes = b"",
        *,
        plain: bool = False,
    ) -> None:
        """Start the process in the background.

        Args:
            command: the program and its arguments.
            variables: environment variables to add to the inherited ones.
            preamble: bytes to send before any command.
            plain: whether to start it at normal priority and let it outlive this process.
        """
        super().__init__()
        self._transport: asyncio.SubprocessTransport | None = None
        self._input: asyncio.WriteTransport | None = None
        self._sampler: Sampler | None = None
        self._polled: asyncio.ReadTransport | None = None
        """Its standard output while only `arrivals` reads it."""
        self._killed = False
        self._signalled = False
        self._ended = False
        self._backlog = [preamble] if preamble else []
        self._plain = plain
        self._starting = asyncio.get_running_loop().create_task(
            self._start(list(command), {**os.environ, **variables} if variables else None)
        )

    async def _start(self, command: list[str], environment: dict[str, str] | None) -> None:
        try:
            with contextlib.nullcontext() if self._plain else ChildSetup(NICENESS) as setup:
                transport, _ = await asyncio.get_running_loop().subprocess_exec(
                    lambda: self,
                    *command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env=environment,
                    # So that Ctrl-C in the terminal reaches the monitor only.
                    start_new_session=True,
                    pass_fds=setup.descriptors if setup else (),
                )
                if setup:
                    setup.apply(transport.get_pid())
        except (OSError, ValueError, RuntimeError, subprocess.SubprocessError) as error:
            self._not_started(explain_start_error(error))
        except Exception as error:  # a mistake in the code or an audit hook: the lane must end all the same
            self._not_started(f"{type(error).__name__}: {error}")
            raise

    def _not_started(self, reason: str) -> None:
        self._ended = True
        self.end(Ended(f"could not be started: {reason}", ran=False))

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send queued commands to the process, which has started."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        if self._ended:  # the process was started, but the loop failed to watch for its exit
            process = cast("subprocess.Popen[bytes]", transport.get_extra_info("subprocess"))
            self._transport.close()
            process.kill()
            process.wait()
            return
        if self._killed:
            self.kill()
            return
        with contextlib.suppress(OSError):
            pid = self._transport.get_pid()
            if self.MEASURED:
                self._sampler = Sampler(pid, None, _objects.of_worker(pid), throttling_of(pid))
            else:
                self._sampler = Sampler(pid)
        self._input = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if self._input is not None:
            self._input.write(b"".join(self._backlog))
        self._backlog.clear()

    def pause_pipe(self, fd: int) -> None:
        """Stop reading a pipe until the next poll."""
        self._reader(fd).pause_reading()

    def resume_pipe(self, fd: int) -> None:
        """Read a paused pipe again."""
        self._reader(fd).resume_reading()

    def _reader(self, fd: int) -> asyncio.ReadTransport:
        assert self._transport is not None
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(fd))

    def process_exited(self) -> None:
        """Handle the exit of the process; its pipes may still hold output."""
        if self._sampler:
            self._sampler.close()
        self._sampler = None
        self._read_by_loop()
        # Not until the pipes are closed: a child of the worker may hold them open for ever.
        asyncio.get_running_loop().call_later(DRAIN_TIME, self.connection_lost, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the exit, once, when the process has exited and its pipes are read."""
        status = self._transport.get_returncode() if self._transport else None
        if self._ended or status is None or self._transport is None:
            return
        self._ended = True
        self.exited(status)
        self._transport.close()

    def _read_by_loop(self) -> None:
        """Let the event loop read the standard output as it comes."""
        if self._polled is not None:
            self._polled.resume_reading()
            self._polled = None

    # Called by a lane.

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has arrived since the last call, up to a limit."""
        if self._polled is not None and (data := self._read_now(self._polled)):
            self.pipe_data_received(OUT, data)
        writes_little = self._pipes[OUT].count < READ_SIZE
        found = super().arrivals(now)
        if self.POLLED and self._sampler is not None and writes_little:
            output = self._reader(OUT)
            if output.is_reading():
                output.pause_reading()
                self._polled = output
        return found

    def _read_now(self, output: asyncio.ReadTransport) -> bytes:
        """Read the standard output; if there is more, or it has ended, the event loop goes on."""
        try:
            data = os.read(output.get_extra_info("pipe").fileno(), READ_SIZE)
        except BlockingIOError:
            return b""
        if len(data) in (0, READ_SIZE):
            self._read_by_loop()
        return data

    def reading(self) -> Reading | None:
        """Return a reading of the process; None unless it is running."""
        return self._sampler.read() if self._sampler else None

    def send(self, type_: str, **fields: object) -> None:
        """Send one command; it is queued until the process has started, and dropped after its exit."""
        line = encode(type_, **fields)
        if self._transport is None:
            self._backlog.append(line)
        elif self._input is not None and not self._input.is_closing():
            self._input.write(line)

    def kill(self) -> None:
        """Kill the worker, at once or as soon as it has started."""
        self._killed = True
        if self._transport is not None and not self._signalled:
            # Only once: a second kill() would reap an exited process, and the loop would miss its status.
            self._signalled = True
            with contextlib.suppress(ProcessLookupError):
                self._transport.kill()
