"""A worker in a process of its own: its pipes, its end, and what it may not do to this program."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import cast

from concwatch import wire
from concwatch.links.link import Arrival, Ended
from concwatch.links.output import Output
from concwatch.system.child import explain_start_error
from concwatch.system.process import Reading, Sampler
from concwatch.system.spawn import NICENESS, child_setup

LAST_WORDS = 0.5
"""Seconds that the pipes of an ended worker are still read."""


class WorkerProcess(asyncio.SubprocessProtocol):
    """A `Link` to a real worker. Must be made on a running event loop.

    What a worker sends is taken in only as fast as it is looked at: one that sends more waits for its pipe,
    and neither time nor memory of this program goes into it.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str] | None = None,
        begin: bytes = b"",
        *,
        plain: bool = False,
    ) -> None:
        """Begin to start it.

        Args:
            command: the program and its arguments.
            variables: those that its environment has besides what it inherits.
            begin: what it is sent before any command.
            plain: whether it is started as a shell would, neither nicer nor killed with this process.
        """
        self._output = Output(
            lambda fd: self._reader(fd).pause_reading(), lambda fd: self._reader(fd).resume_reading()
        )
        self._transport: asyncio.SubprocessTransport | None = None
        self._sampler: Sampler | None = None
        self._killed = False
        self._struck = False
        self._over = False
        self._backlog = [begin] if begin else []
        self._setup = None if plain else child_setup(NICENESS)
        self._starting = asyncio.get_running_loop().create_task(
            self._start(list(command), {**os.environ, **variables} if variables else None)
        )

    async def _start(self, command: list[str], environment: dict[str, str] | None) -> None:
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
                # Ctrl-C in the terminal is for the monitor to act on.
                start_new_session=True,
                preexec_fn=self._setup,
            )
        except (OSError, ValueError, RuntimeError, subprocess.SubprocessError) as error:
            self._over = True
            self._output.end(Ended(f"could not be started: {explain_start_error(error)}", ran=False))

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the pipes of the process that has started."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        if self._over:  # it could be started, but there is nothing that would wait for its end
            process = cast("subprocess.Popen[bytes]", transport.get_extra_info("subprocess"))
            self._transport.close()
            process.kill()
            process.wait()
            return
        if self._killed:
            self.kill()
            return
        with contextlib.suppress(OSError):
            self._sampler = Sampler(self._transport.get_pid())
        for line in self._backlog:
            self._write(line)
        self._backlog.clear()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what comes, and leave a pipe alone of which enough has come."""
        self._output.feed(fd, data)

    def _reader(self, fd: int) -> asyncio.ReadTransport:
        assert self._transport is not None
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(fd))

    def process_exited(self) -> None:
        """Note that the process has ended; its pipes may still hold its last words."""
        self._sampler = None
        # A child of its own may hold the pipes open for ever, so their end is not waited for any longer.
        asyncio.get_running_loop().call_later(LAST_WORDS, self.connection_lost, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end, once, when the process has ended and all its pipes are read."""
        status = self._transport.get_returncode() if self._transport else None
        if self._over or status is None or self._transport is None:
            return
        self._over = True
        self._output.exited(status)
        self._transport.close()

    # What a lane calls.

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has come since the last call; a flood little by little."""
        return self._output.arrivals()

    def reading(self) -> Reading | None:
        """Look at the process; None before it runs and after."""
        return self._sampler.read() if self._sampler else None

    @property
    def error_line(self) -> str:
        """The line of its standard error, so far, that says most about its end."""
        return self._output.error_line

    def send(self, type_: str, **fields: object) -> None:
        """Send one command; before the process runs it waits, after its end it is dropped."""
        line = wire.encode(type_, **fields)
        if self._transport is None:
            self._backlog.append(line)
        else:
            self._write(line)

    def _write(self, line: bytes) -> None:
        assert self._transport is not None
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if pipe is not None and not pipe.is_closing():
            pipe.write(line)

    def kill(self) -> None:
        """End the worker by force; before it runs, as soon as it does."""
        self._killed = True
        if self._transport is not None and not self._struck:
            # Once: a second time would take the exit status of an ended process away from the event loop.
            self._struck = True
            with contextlib.suppress(ProcessLookupError):
                self._transport.kill()
