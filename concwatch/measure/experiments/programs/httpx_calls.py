"""As published: N calls, each with its own httpx.AsyncClient, all at once or in chunks."""

import asyncio
import sys
import time

import httpx

COUNT, URL = int(sys.argv[1]), sys.argv[2]
CHUNKS = int(sys.argv[3]) if len(sys.argv) > 3 else 1


async def call() -> None:
    async with httpx.AsyncClient() as client:
        response = await client.get(URL)
        assert response.status_code == 200


async def run() -> None:
    coroutines = [call() for _ in range(COUNT)]
    size = -(-COUNT // CHUNKS)
    for begin in range(0, COUNT, size):
        await asyncio.gather(*coroutines[begin : begin + size])


start = time.time()
asyncio.run(run())
print(time.time() - start)
