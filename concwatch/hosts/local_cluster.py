"""A Dask cluster on this machine, to try one and for tests: ends with its standard input."""

import sys

import dask
from distributed import LocalCluster


def main(workers: int) -> None:
    """Run so many Dask workers, each a process; print the scheduler's address."""
    dask.config.set({"distributed.admin.low-level-log-length": 100})  # of events that have been sent on
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
