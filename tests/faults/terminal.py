"""``python -m concwatch`` on a pseudo-terminal, as a user starts it."""

import contextlib
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from typing import Self

import psutil

from tests.apart import ROOT, environment

PATIENCE = 30.0
"""Timeout in seconds, for a loaded machine."""

NEXT_PART, MOST_UNSEEN = 0.0005, 64
"""Seconds within which the kernel passes on the next part of what was written at once; and how many parts are
read ahead at most.
"""

MODES = {"alternate screen": ("h", 1049), "mouse": ("h", 1000), "cursor hidden": ("l", 25)}
"""What the screen requests of a terminal: private modes that it sets (h) or resets (l)."""

MARK = "FAULT_OF_CONCWATCH"
"""Environment variable that identifies all processes started by a program."""


def set_size(terminal: int, size: tuple[int, int]) -> None:
    """Set the size of an open terminal, columns by lines."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size[::-1], 0, 0))


def plain(output: bytes) -> str:
    """Return a program's output without escape sequences."""
    text = output.decode("utf-8", "replace")
    return re.sub(r"\x1b(\[[0-?]*[ -/]*[@-~]|[PX^_\]].*?(\x1b\\|\x07)|.)", "", text)


class Terminal:
    """A program on a terminal of ``size``, columns by lines, with additional variables ``env``.

    ``streams`` are descriptors used instead of the terminal, by name (``stdin``, ``stdout``, ``stderr``);
    they are closed here once the program has started.
    """

    def __init__(
        self,
        *command: str,
        size: tuple[int, int] = (120, 40),
        env: Mapping[str, str] | None = None,
        streams: Mapping[str, int] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.output = bytearray()
        self._unseen: deque[tuple[float, bytes]] = (
            deque()
        )  # read, each part with its time, but not in `output`
        self._text, self._seen = "", 0  # the part of the output already in plain text
        self._mark = uuid.uuid4().hex
        self.patience = patience
        self._ours, self._theirs = os.openpty()
        set_size(self._theirs, size)
        self.modes = termios.tcgetattr(self._theirs)

        def set_terminal() -> None:
            os.setsid()
            fcntl.ioctl(self._theirs, termios.TIOCSCTTY, 0)

        self.began = self.read_at = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, *command],
            **{**dict.fromkeys(("stdin", "stdout", "stderr"), self._theirs), **(streams or {})},
            cwd=ROOT,
            env={**environment(), MARK: self._mark, **(env or {})},
            preexec_fn=set_terminal,
        )
        for descriptor in (streams or {}).values():
            os.close(descriptor)
        self.monitor = psutil.Process(self.process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait(PATIENCE)
        self.close()
        os.close(self._theirs)

    def close(self) -> None:
        """Close the terminal, as closing its window does."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def resize(self, columns: int, lines: int) -> None:
        """Set the size of the terminal. The kernel sends SIGWINCH."""
        set_size(self._theirs, (columns, lines))

    def read(self, seconds: float = 0.05) -> bool:
        """Read output for up to ``seconds``. Return whether there was any.

        All that the program has written is read at once, as a terminal does, but each call adds one part to
        `output`: what the caller does with it does not delay the time of the next.
        """
        if self._ours < 0:
            time.sleep(seconds)
        wait = 0.0 if self._unseen else max(0.0, seconds)
        while self._ours >= 0 and len(self._unseen) < MOST_UNSEEN:
            if not select.select([self._ours], [], [], wait)[0]:
                break
            self._unseen.append((time.monotonic(), os.read(self._ours, 1 << 16)))
            wait = NEXT_PART
        if not self._unseen:
            return False
        self.read_at, part = self._unseen.popleft()
        self.output += part
        return True

    def run(self, seconds: float) -> None:
        """Read all output for ``seconds``."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def until(self, condition: Callable[[], object], what: str = "the condition") -> float:
        """Read output until ``condition`` is true. Return the time of the last read."""
        deadline = time.monotonic() + self.patience
        while not condition():
            assert time.monotonic() < deadline, (
                f"{what}: not within {self.patience:g} s\n{self.text()[-2000:]}"
            )
            self.read()
        return self.read_at

    def wait_for_text(self, text: str, times: int = 1) -> None:
        """Wait until the output contains ``text`` ``times`` times."""
        self.until(lambda: self.text().count(text) >= times, text)

    def text(self) -> str:
        """Return the output without escape sequences."""
        # Each part is converted once, because this is called often. The last sequence may be incomplete.
        whole = max(self._seen, self.output.rfind(b"\x1b"))
        self._text += plain(self.output[self._seen : whole])
        self._seen = whole
        return self._text + plain(self.output[whole:])

    def raw(self) -> str:
        return self.output.decode("utf-8", "replace")

    def type(self, text: str) -> float:
        """Send input of a keyboard or mouse. Return the time."""
        at = time.monotonic()
        os.write(self._ours, text.encode())
        return at

    def processes(self) -> list[psutil.Process]:
        """Return all processes that the program has started, including orphans."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self._mark and process.pid != self.process.pid:
                    found.append(process)
            except (psutil.Error, OSError):  # it has ended, or belongs to another user
                continue
        return found

    def wait_for_screen(self) -> None:
        """Wait until the screen is shown."""
        self.wait_for_text("drag the slider")

    def switch_on(self) -> list[psutil.Process]:
        """Start 10,000 tasks in the only lane. Return the worker's processes."""
        self.wait_for_screen()
        self.type("+")
        self.wait_for_text("10,000 live")
        self.until(lambda: len(self.monitor.children(recursive=True)) == 1, "the worker of the trial ends")
        return self.monitor.children(recursive=True)

    def wait_exit(self) -> int:
        self.until(lambda: self.process.poll() is not None, "the program ends")
        while self._ours >= 0 and self.read(0):
            pass
        return self.process.returncode

    def quit(self, key: str = "q") -> None:
        """Quit the screen by a key. Check its exit status and that the terminal is restored."""
        self.type(key)
        assert self.wait_exit() == 0, self.text()[-2000:]
        self.assert_restored()
        assert "Traceback" not in self.text()

    def assert_restored(self) -> None:
        raw = self.raw()
        for what, (on, number) in MODES.items():
            found = re.findall(rf"\x1b\[\?{number}([hl])", raw)
            assert on in found, f"never set: {what}"
            assert found[-1] != on, f"not restored: {what}"
        assert termios.tcgetattr(self._theirs) == self.modes
