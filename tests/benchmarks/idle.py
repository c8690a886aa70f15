"""RSS of an idle worker in MiB, against a bare interpreter with that engine imported and its loop running."""

from collections.abc import Mapping

from . import bare, held
from .figures import Benchmark, Measured, Reach, Row, alternate

MIB = 1024 * 1024


def measure(quick: bool) -> Mapping[str, Measured]:
    """Measure the idle RSS of each engine's worker."""
    rows = {}
    for engine in bare.IDLE:
        found = alternate(
            1 if quick else 5,
            bare=lambda engine=engine: bare.idle_rss(engine) / MIB,
            worker=lambda engine=engine: held.idle_rss(engine) / MIB,
        )
        rows[engine] = Measured(found["worker"], found["bare"])
    return rows


BENCHMARKS = (
    Benchmark(
        "idle",
        tuple(
            Row(engine, f"idle worker, {engine}", "MiB", "bare interpreter", Reach("at most", 1.10))
            for engine in bare.IDLE
        ),
        measure,
    ),
)
