"""Check that engines work on this machine, by starting a worker of each."""

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from concwatch.links.messages import Error, Ready, decode
from concwatch.monitor.workers.catalog import Engine
from concwatch.portable.protocol.units import format_seconds
from concwatch.system.child import describe_exit, error_line, explain_start_error

LIMIT = 10.0
"""Seconds that a worker has to become ready."""


def probe_engines(engines: Sequence[Engine]) -> list[str | None]:
    """Return for each engine why it cannot run on this machine and what to do, or None if it can.

    Workers of engines that need a package are started, all at the same time.
    """
    with ThreadPoolExecutor(max(1, len(engines))) as pool:
        return list(pool.map(_probe, engines))


def _probe(engine: Engine) -> str | None:
    missing = engine.missing()
    if missing or not engine.needs:
        return missing
    try:
        done = subprocess.run(
            engine.command(),
            stdin=subprocess.DEVNULL,  # a worker exits when its input ends
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return engine.broken(f"did not start within {format_seconds(LIMIT)}")
    except (OSError, subprocess.SubprocessError) as error:
        return f"no worker could be started: {explain_start_error(error)}"
    for line in done.stdout.splitlines():
        match decode(line):
            case Ready():
                return None
            case Error(message=message):
                return engine.broken(message)
    words = error_line(done.stderr.decode(errors="replace"))
    return engine.broken(describe_exit(done.returncode) + (f": {words}" if words else ""))
