"""A Dask cluster on this machine, to try one: a process that ends with its standard input."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from concwatch.portable.machine.spawn import ChildSetup
from concwatch.portable.protocol.text import one_line
from concwatch.system.child import error_line

START_TIMEOUT = 60.0
"""Seconds that a local cluster may take to start on a busy machine."""

CLOSE_TIMEOUT = 3.0
"""Seconds that the cluster gets to shut down."""


@asynccontextmanager
async def local_cluster(count: int) -> AsyncIterator[str]:
    """Start a Dask cluster of ``count`` workers, and yield the scheduler's address."""
    with ChildSetup(0) as setup:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "concwatch.hosts.local_cluster", str(count)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=setup.descriptors,
        )
        setup.apply(process.pid)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(START_TIMEOUT):
            address = (await process.stdout.readline()).decode().strip()
        if not address:
            errors = (await process.stderr.read()).decode(errors="replace")
            raise ValueError(f"it did not start: {one_line(error_line(errors))}")
        yield address
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await process.wait()
        except TimeoutError:
            process.kill()  # its workers notice and exit at once
            await process.wait()


def main(workers: int) -> None:
    """Run a scheduler and ``workers`` Dask workers, and print the scheduler's address."""
    import dask  # only in that process
    from distributed import LocalCluster

    dask.config.set({"distributed.admin.low-level-log-length": 100})  # the scheduler keeps sent events
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
