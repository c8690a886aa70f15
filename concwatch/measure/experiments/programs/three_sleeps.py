"""As published: N coroutines that sleep three times, all at once or in chunks."""

import asyncio
import sys
import time

COUNT = int(sys.argv[1])
CHUNKS = int(sys.argv[2]) if len(sys.argv) > 2 else 1


async def sleep() -> None:
    await asyncio.sleep(0.1)
    await asyncio.sleep(0.1)
    await asyncio.sleep(0.1)


async def run() -> None:
    coroutines = [sleep() for _ in range(COUNT)]
    size = -(-COUNT // CHUNKS)
    for begin in range(0, COUNT, size):
        await asyncio.gather(*coroutines[begin : begin + size])


start = time.time()
asyncio.run(run())
print(time.time() - start)
