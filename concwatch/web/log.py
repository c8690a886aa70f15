"""What the web server's libraries log: one line each, and not again and again."""

import logging
import time
import traceback

from concwatch.console import print_note
from concwatch.text import one_line, plain

QUIET = 60.0
"""Seconds for which a line is not told again."""

LIBRARIES = ("aiohttp", "asyncio")
"""Whose logs they are."""


class OneLine(logging.Handler):
    """Tells on standard error what happened, without a traceback: any client can bring one about.

    Of the same kind, which is what the log says in its first line, one is told each minute.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._told: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write it, unless the same has just been written."""
        error = record.exc_info[1] if record.exc_info else None
        kind = f"{str(record.msg).partition(chr(10))[0]} {type(error).__name__}"
        now = time.monotonic()
        if now - self._told.get(kind, -QUIET) < QUIET:
            return
        self._told[kind] = now
        text = record.getMessage().partition("\n")[0]
        if error is not None:
            where = traceback.extract_tb(error.__traceback__)[-1:]
            place = "".join(f" ({frame.name}, {frame.filename}:{frame.lineno})" for frame in where)
            text = f"{text}: {type(error).__name__}: {error}{place}"
        print_note(f"concwatch: {plain(one_line(text))}; the same is told once a minute")


def tell_in_one_line() -> None:
    """Have the libraries' logs told so."""
    told = OneLine()
    for name in LIBRARIES:
        logger = logging.getLogger(name)
        logger.addHandler(told)
        logger.propagate = False
