"""A program on a pseudo-terminal, and what a person would see of it: enough of one to time a screen."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import psutil

from .figures import PYTHON, ROOT, environment

CONCWATCH = ("-m", "concwatch")

_TOKEN = re.compile(
    r"\x1b\[(?P<private>[<=>?]?)(?P<numbers>[\d;:]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]P^_].*?(?:\x07|\x1b\\)"
    r"|\x1b[()*+].|\x1b[=>78cDEHMNOZ]"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    r"|(?P<text>[^\x00-\x1f\x7f]+)",
    re.DOTALL,
)


class Terminal:
    """Runs ``python ARGUMENT…`` on a terminal of its own; times are seconds of `time.monotonic`."""

    def __init__(self, arguments: Sequence[str] = CONCWATCH, width: int = 120, height: int = 40) -> None:
        self._rows = [[" "] * width for _ in range(height)]
        self._undrawn: list[bytes] = []
        self.bytes_read = 0
        self.read_at = 0.0
        """When the newest bytes came."""
        self._x = self._y = 0
        self._rest = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        size = struct.pack("HHHH", height, width, 0, 0)
        variables = environment()
        self.began = time.monotonic()
        """When the program was started."""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                os.chdir(ROOT)
                os.execve(PYTHON, [PYTHON, *arguments], variables)
            finally:
                os._exit(127)
        self.process = psutil.Process(self.pid)

    # What is on screen.

    @property
    def rows(self) -> list[list[str]]:
        """Every row of the screen, cell by cell; drawn only now: what is timed does not wait for it."""
        if self._undrawn:
            data = b"".join(self._undrawn)
            self._undrawn.clear()
            self._draw(self._decoder.decode(data))
        return self._rows

    def line(self, row: int) -> str:
        """Return one row of the screen, from 0."""
        return "".join(self.rows[row])

    @property
    def text(self) -> str:
        """The whole screen."""
        return "\n".join(map("".join, self.rows))

    def find(self, text: str) -> tuple[int, int]:
        """Return row and column of the first ``text`` on screen.

        Raises:
            LookupError: it is not there.
        """
        for number in range(len(self.rows)):
            column = self.line(number).find(text)
            if column >= 0:
                return number, column
        raise LookupError(f"{text!r} is not on screen:\n{self.text}")

    # What happens.

    def read(self, timeout: float) -> bool:
        """Take in what comes within ``timeout`` seconds; say whether anything did."""
        if not select.select([self._fd], [], [], max(0.0, timeout))[0]:
            return False
        try:
            data = os.read(self._fd, 65_536)
        except OSError:
            data = b""
        self.read_at = time.monotonic()
        if not data:
            raise EOFError(f"the program has ended; its screen was:\n{self.text}")
        self.bytes_read += len(data)
        self._undrawn.append(data)
        return True

    def run(self, seconds: float) -> None:
        """Take in all that comes for so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def until(self, seen: Callable[[], bool], timeout: float = 30.0) -> float:
        """Take in what comes until ``seen()``; give the time at which the bytes came that made it so.

        Raises:
            TimeoutError: it never was.
        """
        end = time.monotonic() + timeout
        while not seen():
            if not self.read(end - time.monotonic()) and time.monotonic() >= end:
                raise TimeoutError(f"never seen within {timeout} s; the screen was:\n{self.text}")
        return self.read_at

    def until_text(self, text: str, timeout: float = 30.0) -> float:
        """Take in what comes until ``text`` is on screen; give the time."""
        return self.until(lambda: text in self.text, timeout)

    def press(self, keys: str) -> float:
        """Send what a keyboard or mouse would; give the time."""
        at = time.monotonic()
        os.write(self._fd, keys.encode())
        return at

    def mouse(self, code: int, row: int, column: int, release: bool = False) -> float:
        """Send one mouse event (0 for the left button, 32 for a move with it held); give the time."""
        return self.press(f"\x1b[<{code};{column + 1};{row + 1}{'m' if release else 'M'}")

    def close(self) -> None:
        """Quit the program; by force if it does not within three seconds."""
        for key, patience in (("q", 3.0), ("", 3.0)):
            try:
                if key:
                    self.press(key)
                else:
                    os.kill(self.pid, signal.SIGKILL)
                self.run(patience)
            except (EOFError, OSError):
                break
        os.close(self._fd)
        os.waitpid(self.pid, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # How bytes become a screen.

    def _draw(self, text: str) -> None:
        text = self._rest + text
        end = 0
        for token in _TOKEN.finditer(text):
            if token.start() != end:
                break  # an escape sequence that is not whole yet
            end = token.end()
            if token["text"]:
                self._write(token["text"])
            elif token["final"] and not token["private"]:
                self._command(token["final"], [int(n or 0) for n in re.split("[;:]", token["numbers"])])
            elif token["control"] == "\r":
                self._x = 0
            elif token["control"] == "\n":
                self._y = min(self._y + 1, len(self._rows) - 1)
            elif token["control"] == "\b":
                self._x = max(0, self._x - 1)
        self._rest = text[end:]

    def _write(self, text: str) -> None:
        row = self._rows[self._y]
        text = text[: len(row) - self._x]
        row[self._x : self._x + len(text)] = text
        self._x = min(self._x + len(text), len(row) - 1)

    def _command(self, final: str, numbers: list[int]) -> None:
        first = numbers[0]
        width, height = len(self._rows[0]), len(self._rows)
        if final in "Hf":
            column = numbers[1] if len(numbers) > 1 else 1
            self._y, self._x = min(max(first, 1), height) - 1, min(max(column, 1), width) - 1
        elif final in "ABCDG":
            step = max(1, first)
            self._y += {"A": -step, "B": step}.get(final, 0)
            self._x = step - 1 if final == "G" else self._x + {"C": step, "D": -step}.get(final, 0)
            self._y, self._x = min(max(self._y, 0), height - 1), min(max(self._x, 0), width - 1)
        elif final == "K":
            self._rows[self._y][self._x :] = " " * (width - self._x)
        elif final == "J" and first >= 2:
            for row in self._rows:
                row[:] = " " * width
