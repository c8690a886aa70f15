"""Workloads of the experiment known-knee: functions whose tasks share a limited resource.

Each is a set-up, which the worker runs once, and yields the function that each task calls.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

SECONDS = 0.1
"""How long a task takes alone."""

PLACES = 50
"""How many tasks the semaphore lets in."""

CROWD = 100
"""With how many tasks each takes twice as long."""


async def semaphore() -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Yield a function that holds one of 50 places for 0.1 s, so that 500 tasks end per second at most."""
    places = asyncio.Semaphore(PLACES)

    async def hold_place() -> None:
        async with places:
            await asyncio.sleep(SECONDS)

    yield hold_place


async def crowd() -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Yield a function that takes 0.1 s × (1 + (N/100)²) with N tasks, so that most end with 100 of them."""
    live = 0

    async def share() -> None:
        nonlocal live
        live += 1
        try:
            await asyncio.sleep(SECONDS * (1 + (live / CROWD) ** 2))
        finally:
            live -= 1

    yield share
