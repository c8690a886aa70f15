"""A program on a pseudo-terminal, emulated far enough to time its screen."""

import codecs
import re
from collections.abc import Mapping

from tests.faults import terminal

CONCWATCH = ("-m", "concwatch")

_TOKEN = re.compile(
    r"\x1b\[(?P<private>[<=>?]?)(?P<numbers>[\d;:]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]P^_].*?(?:\x07|\x1b\\)"
    r"|\x1b[()*+].|\x1b[=>78cDEHMNOZ]"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    r"|(?P<text>[^\x00-\x1f\x7f]+)",
    re.DOTALL,
)


class DrawnTerminal(terminal.Terminal):
    """Runs ``python ARGUMENT…`` on a terminal of its own; times are seconds of `time.monotonic`."""

    def __init__(
        self, *arguments: str, size: tuple[int, int] = (120, 40), env: Mapping[str, str] | None = None
    ) -> None:
        self._rows = [[" "] * size[0] for _ in range(size[1])]
        self._drawn = self._x = self._y = 0
        self._rest = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        super().__init__(*(arguments or CONCWATCH), size=size, env=env)

    # What is on screen.

    @property
    def rows(self) -> list[list[str]]:
        """Every row of the screen, cell by cell; drawn when read, so that timing does not include it."""
        if self._drawn < len(self.output):
            data, self._drawn = self.output[self._drawn :], len(self.output)
            self._draw(self._decoder.decode(data))
        return self._rows

    def line(self, row: int) -> str:
        """Return one row of the screen, from 0."""
        return "".join(self.rows[row])

    def text(self) -> str:
        """Return the whole screen."""
        return "\n".join(map("".join, self.rows))

    def row_of(self, text: str) -> int:
        """Return the number of the first row that has ``text``.

        Raises:
            LookupError: none has.
        """
        for number in range(len(self.rows)):
            if text in self.line(number):
                return number
        raise LookupError(f"{text!r} is not on screen:\n{self.text()}")

    # What happens.

    def shows(self, *texts: str) -> float:
        """Read output until all ``texts`` are on screen; return the time."""
        return self.until(lambda: all(text in self.text() for text in texts), str(texts))

    def mouse(self, code: int, row: int, column: int, release: bool = False) -> float:
        """Send one mouse event (0 for the left button, 32 for a move with it held); return the time."""
        return self.type(f"\x1b[<{code};{column + 1};{row + 1}{'m' if release else 'M'}")

    # How bytes become a screen.

    def _draw(self, text: str) -> None:
        text = self._rest + text
        end = 0
        for token in _TOKEN.finditer(text):
            if token.start() != end:
                break  # an incomplete escape sequence
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
