"""Logging of the web server's libraries: one line per record, without repetitions."""

import logging
import time
import traceback
from collections.abc import Callable

from concwatch.portable.protocol.text import one_line, plain

QUIET = 60.0
"""Seconds for which the same message is not repeated."""

LIBRARIES = ("aiohttp", "asyncio")
"""The names of their loggers."""


class OneLine(logging.Handler):
    """Writes each record as one line, without a traceback, since any client can cause one.

    Records with the same first line are written once a minute at most.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._write = write
        self._last_logged: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, unless a similar one was written less than a minute ago."""
        error = record.exc_info[1] if record.exc_info else None
        kind = f"{str(record.msg).partition(chr(10))[0]} {type(error).__name__}"
        now = time.monotonic()
        if now - self._last_logged.get(kind, -QUIET) < QUIET:
            return
        self._last_logged[kind] = now
        text = record.getMessage().partition("\n")[0]
        if error is not None:
            where = traceback.extract_tb(error.__traceback__)[-1:]
            place = "".join(f" ({frame.name}, {frame.filename}:{frame.lineno})" for frame in where)
            text = f"{text}: {type(error).__name__}: {error}{place}"
        self._write(f"concwatch: {plain(one_line(text))}; repetitions are logged once a minute")


def log_in_one_line(write: Callable[[str], None]) -> None:
    """Install the handler for the libraries' loggers; ``write`` is called with each line."""
    handler = OneLine(write)
    for name in LIBRARIES:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.propagate = False
