"""Whether engines really run here: a worker of each is started, and ends as soon as it stands."""

import subprocess
from collections.abc import Sequence

from concwatch.lab.catalog import Engine
from concwatch.links.messages import Error, Ready, decode
from concwatch.system.child import describe_exit, explain_start_error, last_words
from concwatch.system.spawn import child_setup
from concwatch.units import format_seconds

LIMIT = 10.0
"""Seconds that a worker may take to stand."""


def why_not(engines: Sequence[Engine]) -> list[str | None]:
    """Return for each engine why it cannot run here and what to do, or None when it can.

    Nothing is started for engines that need no package, and all others at the same time.
    """
    tries = [None if engine.missing() or not engine.needs else Try(engine) for engine in engines]
    return [
        found.outcome() if found else engine.missing() for engine, found in zip(engines, tries, strict=True)
    ]


class Try:
    """One worker that is started only to see whether it stands."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._problem = ""
        try:
            self._process = subprocess.Popen(
                engine.command(),
                stdin=subprocess.DEVNULL,  # at whose end a worker ends
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=child_setup(0),
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._problem = f"no worker could be started: {explain_start_error(error)}"

    def outcome(self) -> str | None:
        """Wait until it has ended; say why it did not stand, or None when it did."""
        if self._problem:
            return self._problem
        try:
            out, noise = self._process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return self._engine.broken(f"did not stand within {format_seconds(LIMIT)}")
        for line in out.splitlines():
            match decode(line):
                case Ready():
                    return None
                case Error(message=message):
                    return self._engine.broken(message)
        words = last_words(noise.decode(errors="replace"))
        return self._engine.broken(describe_exit(self._process.returncode) + (f": {words}" if words else ""))
