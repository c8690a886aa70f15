"""As published: N coroutines that sleep ten seconds."""

import asyncio
import sys


async def perform_task() -> None:
    await asyncio.sleep(10)


async def main(num_tasks: int) -> None:
    tasks = []
    for _ in range(num_tasks):
        task = asyncio.create_task(perform_task())
        tasks.append(task)
    await asyncio.gather(*tasks)


asyncio.run(main(int(sys.argv[1])))
