"""So many downloads by aiohttp, each with a session of its own."""

import asyncio
import sys
import time

import aiohttp

COUNT, URL = int(sys.argv[1]), sys.argv[2]


async def download():
    async with aiohttp.ClientSession() as session, session.get(URL) as response:
        assert response.status == 200
        await response.read()


async def main():
    await asyncio.gather(*(download() for _ in range(COUNT)))


start = time.time()
asyncio.run(main())
print(time.time() - start)
