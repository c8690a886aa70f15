"""What is found on a host: one connection that asks, and ends."""

import asyncio
import time

from msgspec import Struct, structs

from concwatch.hosts.host import Host
from concwatch.hosts.link import HostLink
from concwatch.links.link import Ended
from concwatch.links.messages import Error, HostFigures, Survey

LOOK = 0.02
"""Seconds between two looks at what has come."""

ECHO_LIMIT = 1.0
"""Seconds that are waited for the first answer to a sign of life, once all else is known."""


class HostSurvey(Struct, frozen=True):
    """What is known of a host, or why it cannot be reached."""

    host: Host
    problem: str = ""
    figures: HostFigures | None = None
    found: Survey | None = None
    delay: float | None = None
    """Seconds there and back."""


async def survey(host: Host) -> HostSurvey:
    """Ask a host what it is; at most ten seconds, then it counts as not reached."""
    link = HostLink(host, None)
    link.send("survey")
    try:
        return await _ask(host, link)
    finally:
        link.kill()
        for _ in range(int(ECHO_LIMIT / LOOK)):
            if any(isinstance(arrival, Ended) for arrival in link.arrivals(time.monotonic())):
                break
            await asyncio.sleep(LOOK)


async def _ask(host: Host, link: HostLink) -> HostSurvey:
    figures, found, waited = None, None, 0.0
    while True:
        await asyncio.sleep(LOOK)
        for arrival in link.arrivals(time.monotonic()):
            match arrival:
                case HostFigures():
                    figures = arrival
                case Survey():
                    found = arrival
                case Ended(reason=problem) | Error(message=problem):
                    return HostSurvey(host, problem)
        if figures and found:
            waited += LOOK
            if link.delay is not None or waited > ECHO_LIMIT:
                return HostSurvey(host, "", _limited(figures, host.memory), found, link.delay)


def _limited(figures: HostFigures, memory: int | None) -> HostFigures:
    """Return the figures of a host whose lanes may take so much memory at most."""
    if memory is None:
        return figures
    total, available = (min(memory, size) for size in (figures.memory_total, figures.memory_available))
    return structs.replace(figures, memory_total=total, memory_available=available)


async def survey_all(hosts: list[Host]) -> list[HostSurvey]:
    """Ask all at the same time."""
    return list(await asyncio.gather(*map(survey, hosts)))
