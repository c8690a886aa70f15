"""Surveys of hosts: what each has, found over a connection of its own."""

import asyncio
import time

from msgspec import Struct, structs

from concwatch.hosts.host import Host
from concwatch.hosts.link import HostLink
from concwatch.links.link import Ended
from concwatch.links.messages import Error, HostFigures, Survey

POLL_INTERVAL = 0.02
"""Seconds between two polls of a link."""

ECHO_TIMEOUT = 1.0
"""Seconds to wait for the first echo, once everything else has arrived."""


class HostSurvey(Struct, frozen=True):
    """What was found on a host, or why it cannot be reached."""

    host: Host
    problem: str = ""
    figures: HostFigures | None = None
    found: Survey | None = None
    delay: float | None = None
    """Round-trip time in seconds."""


async def survey(host: Host) -> HostSurvey:
    """Survey one host. One that does not answer within `CONNECT_TIMEOUT` counts as not reachable."""
    link = HostLink(host, None)
    link.send("survey")
    try:
        return await _receive(host, link)
    finally:
        await link.close()


async def _receive(host: Host, link: HostLink) -> HostSurvey:
    figures, found, waited = None, None, 0.0
    while True:
        await asyncio.sleep(POLL_INTERVAL)
        for arrival in link.arrivals(time.monotonic()):
            match arrival:
                case HostFigures():
                    figures = arrival
                case Survey():
                    found = arrival
                case Ended(reason=problem) | Error(message=problem):
                    return HostSurvey(host, problem)
        if figures and found:
            waited += POLL_INTERVAL
            if link.delay is not None or waited > ECHO_TIMEOUT:
                return HostSurvey(host, "", _limited(figures, host.memory), found, link.delay)


def _limited(figures: HostFigures, memory: int | None) -> HostFigures:
    """Return the figures with memory limited to ``memory`` bytes."""
    if memory is None:
        return figures
    total, available = (min(memory, size) for size in (figures.memory_total, figures.memory_available))
    return structs.replace(figures, memory_total=total, memory_available=available)


async def survey_all(hosts: list[Host]) -> list[HostSurvey]:
    """Survey all hosts concurrently."""
    return list(await asyncio.gather(*map(survey, hosts)))
