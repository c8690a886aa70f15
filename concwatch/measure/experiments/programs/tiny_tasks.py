"""As published: N tasks that yield to the loop once, 5,000 at once.

LOOP is the package of the event loop; default is asyncio.
"""

import asyncio
import gc
import importlib
import os
import sys
import time

COUNT, AT_ONCE = int(sys.argv[1]), 5_000


async def turn() -> None:
    await asyncio.sleep(0)


async def main() -> float:
    start = time.perf_counter()
    for begin in range(0, COUNT, AT_ONCE):
        await asyncio.gather(*(turn() for _ in range(min(AT_ONCE, COUNT - begin))))
    return time.perf_counter() - start


gc.disable()
loop = importlib.import_module(os.environ.get("LOOP", "asyncio")).new_event_loop()
seconds = loop.run_until_complete(main())
loop.close()
print(seconds)
