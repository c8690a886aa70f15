"""Wait until other programs leave the cores alone, as pictures show how fast things are."""

import asyncio
from collections.abc import Awaitable, Callable

from concwatch.portable.protocol.units import format_percent, format_seconds
from concwatch.system.machine import Load, load_now

QUIET = 0.1
"""The largest share of the cores that other programs may use."""

STEP, IN_A_ROW, LIMIT = 1.0, 3, 60.0
"""Seconds between two looks, how many in a row must find it quiet, and the seconds to wait for that."""


async def wait_until_quiet(
    say: Callable[[str], object],
    load: Callable[[], Load] = load_now,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> str:
    """Wait until other programs use few of the cores. Return an empty string, or why that is not so.

    Args:
        say: called with a line if there is something to wait for.
        load: returns the load of the machine.
        sleep: waits some seconds.
    """
    first = before = load()
    quiet, told = 0, False
    while quiet < IN_A_ROW:
        await sleep(STEP)
        now = load()
        others = now.others_since(before, lane=0.0)
        quiet = 0 if others > QUIET else quiet + 1
        if not quiet and now.time - first.time >= LIMIT:
            return (
                f"within {format_seconds(LIMIT)}, other programs never left the cores alone for "
                f"{format_seconds(IN_A_ROW * STEP)}, and pictures would show that; "
                "--force makes them nevertheless"
            )
        if not (quiet or told):
            told = True
            say(f"waiting until other programs use at most {format_percent(QUIET)} of the cores")
        before = now
    return ""
