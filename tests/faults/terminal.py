"""``python -m concwatch`` as a person starts it: on a pseudo-terminal of its own."""

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
from collections.abc import Callable, Mapping
from typing import Self

import psutil

from tests.apart import ROOT, environment

PATIENCE = 30.0
"""Seconds that anything may take on a loaded machine."""

MODES = {"alternate screen": ("h", 1049), "mouse": ("h", 1000), "cursor hidden": ("l", 25)}
"""What a terminal is asked for: whether by setting or by resetting which of its private modes."""

MARK = "FAULT_OF_CONCWATCH"
"""The variable by which all that a program started is found again, however it was started."""


def set_size(terminal: int, size: tuple[int, int]) -> None:
    """Have an open terminal be of ``size``, columns by lines."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size[::-1], 0, 0))


def plain(output: bytes) -> str:
    """Return what a program wrote, without what moves and colours it."""
    text = output.decode("utf-8", "replace")
    return re.sub(r"\x1b(\[[0-?]*[ -/]*[@-~]|[PX^_\]].*?(\x1b\\|\x07)|.)", "", text)


class Terminal:
    """A program on a terminal of ``size``, columns by lines, with the variables of ``told`` besides.

    ``streams`` are descriptors in place of the terminal, by name (``stdin``, ``stdout``, ``stderr``), which
    are closed here as soon as the program has them.
    """

    def __init__(
        self,
        *command: str,
        size: tuple[int, int] = (120, 40),
        told: Mapping[str, str] | None = None,
        streams: Mapping[str, int] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.got = bytearray()
        self._text, self._seen = "", 0  # what of it has been read, and how far
        self._mark = uuid.uuid4().hex
        self.patience = patience
        self._ours, self._theirs = os.openpty()
        set_size(self._theirs, size)
        self.sane = termios.tcgetattr(self._theirs)

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(self._theirs, termios.TIOCSCTTY, 0)

        self.began = self.read_at = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, *command],
            **{**dict.fromkeys(("stdin", "stdout", "stderr"), self._theirs), **(streams or {})},
            cwd=ROOT,
            env={**environment(), MARK: self._mark, **(told or {})},
            preexec_fn=take_terminal,
        )
        for descriptor in (streams or {}).values():
            os.close(descriptor)
        self.monitor = psutil.Process(self.process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for process in self.family():
            process.kill()
        self.process.wait(PATIENCE)
        self.close()
        os.close(self._theirs)

    def close(self) -> None:
        """Take the terminal away, as closing its window does."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def resize(self, columns: int, lines: int) -> None:
        """Set the size of the terminal, of which the kernel tells the program by SIGWINCH."""
        set_size(self._theirs, (columns, lines))

    def read(self, seconds: float = 0.05) -> bool:
        """Take in what the program writes within so long; never let it wait for a reader."""
        if self._ours < 0:
            time.sleep(seconds)
        elif select.select([self._ours], [], [], max(0.0, seconds))[0]:
            self.got += os.read(self._ours, 1 << 16)
            self.read_at = time.monotonic()
            return True
        return False

    def run(self, seconds: float) -> None:
        """Take in all that it writes for so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def until(self, condition: Callable[[], object], what: str = "what is waited for") -> float:
        """Take in what it writes until ``condition`` holds; return the time at which that came."""
        deadline = time.monotonic() + self.patience
        while not condition():
            assert time.monotonic() < deadline, (
                f"{what}: not within {self.patience:g} s\n{self.text()[-2000:]}"
            )
            self.read()
        return self.read_at

    def says(self, text: str, times: int = 1) -> None:
        """Wait until it has said something so often."""
        self.until(lambda: self.text().count(text) >= times, text)

    def text(self) -> str:
        """What came, without what moves and colours it."""
        # What has been seen to its end is not looked at again: it is asked for at each turn of a wait. The
        # last sequence may not have come as a whole.
        whole = max(self._seen, self.got.rfind(b"\x1b"))
        self._text += plain(self.got[self._seen : whole])
        self._seen = whole
        return self._text + plain(self.got[whole:])

    def raw(self) -> str:
        return self.got.decode("utf-8", "replace")

    def type(self, text: str) -> float:
        """Send what a keyboard or mouse would; return the time."""
        at = time.monotonic()
        os.write(self._ours, text.encode())
        return at

    def family(self) -> list[psutil.Process]:
        """Everything that runs because of the program, itself left out: also what has lost its parent."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self._mark and process.pid != self.process.pid:
                    found.append(process)
            except (psutil.Error, OSError):  # gone meanwhile, or somebody else's
                continue
        return found

    def is_shown(self) -> None:
        """Wait until the screen is there."""
        self.says("drag the slider")

    def switch_on(self) -> list[psutil.Process]:
        """Have the one lane hold 10,000 tasks, and give the worker's processes."""
        self.is_shown()
        self.type("+")
        self.says("10,000 live")
        found = self.monitor.children(recursive=True)
        assert len(found) == 1
        return found

    def ended(self) -> int:
        self.until(lambda: self.process.poll() is not None, "the program ends")
        while self._ours >= 0 and self.read(0):
            pass
        return self.process.returncode

    def quits(self, key: str = "q") -> None:
        """Leave the screen by a key, and see that it ends well and gives the terminal back."""
        self.type(key)
        assert self.ended() == 0, self.text()[-2000:]
        self.assert_sane()
        assert "Traceback" not in self.text()

    def assert_sane(self) -> None:
        raw = self.raw()
        for what, (on, number) in MODES.items():
            said = re.findall(rf"\x1b\[\?{number}([hl])", raw)
            assert on in said, f"never asked for: {what}"
            assert said[-1] != on, f"not taken back: {what}"
        assert termios.tcgetattr(self._theirs) == self.sane
