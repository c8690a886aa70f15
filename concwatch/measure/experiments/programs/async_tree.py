"""As published in shape: a tree of coroutines, six branches per node, none of which ever waits.

The number of tasks sets its depth: 55,987 make seven levels. With EAGER=1 each task starts when
it is created (Python 3.12), and one that never waits needs no step of the loop.
"""

import asyncio
import os
import sys
import time

BRANCHES = 6


async def grow(levels: int) -> None:
    if levels:
        await asyncio.gather(*(grow(levels - 1) for _ in range(BRANCHES)))


async def main(levels: int) -> float:
    if os.environ.get("EAGER"):
        factory = asyncio.eager_task_factory  # type: ignore[attr-defined]  # from Python 3.12 on
        asyncio.get_running_loop().set_task_factory(factory)
    start = time.perf_counter()
    await grow(levels)
    return time.perf_counter() - start


count, levels = int(sys.argv[1]), 0
while count > BRANCHES ** (levels + 1):
    levels += 1
print(asyncio.run(main(levels)))
