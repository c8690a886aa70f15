"""N downloads with one aiohttp session for all of them, as its documentation recommends."""

import asyncio
import sys
import time

import aiohttp

COUNT, URL = int(sys.argv[1]), sys.argv[2]


async def download(session: aiohttp.ClientSession) -> None:
    async with session.get(URL) as response:
        assert response.status == 200
        await response.read()


async def main() -> None:
    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(download(session) for _ in range(COUNT)))


start = time.time()
asyncio.run(main())
print(time.time() - start)
