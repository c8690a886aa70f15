"""All benchmarks: each of these modules registers its own, in the order of the table."""

from tests.benchmarks import (  # noqa: F401, I001
    workers,
    beside,
    screen,
    drawing,
    recording,
    published,
    runtimes,
    truth,
    kernel_memory,
    agent,
    services,
    watched_screen,
    scrapes,
    agent_truth,
    hosts,
)
from tests.benchmarks.figures import BENCHMARKS as BENCHMARKS
