"""Build a worker on this machine while the event loop goes on."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from concwatch.portable.build.builder import Build, Builder, BuildError, BuildStopped
from concwatch.portable.build.runtime import Runtime


async def build(ways: Sequence[Runtime], engine: str, report: Callable[[str], object]) -> Build:
    """Build the worker of ``engine`` in a thread, as `Builder.build` does; if cancelled, leave nothing.

    Args:
        ways: the ways to build it, best first.
        engine: the name of the engine.
        report: called, on the loop, with each line of progress and of the build's output.

    Raises:
        BuildError: it cannot be built; the message says why.
    """
    loop = asyncio.get_running_loop()
    builder = Builder(lambda line: loop.call_soon_threadsafe(report, line))
    executor = ThreadPoolExecutor(1, "build")
    working = loop.run_in_executor(executor, builder.build, ways, engine)
    executor.shutdown(wait=False)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        builder.stop()
        with contextlib.suppress(BuildError, BuildStopped):
            await working
        raise
