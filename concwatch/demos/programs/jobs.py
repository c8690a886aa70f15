"""A job that uses a service which answers fifty callers at a time."""

import asyncio

answering = asyncio.Semaphore(50)


async def ask() -> None:
    """Wait until the service is free, and then for its answer."""
    async with answering:
        await asyncio.sleep(0.1)
