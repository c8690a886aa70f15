"""All benchmarks there are, in the order of the table."""

from . import charts, creation, first_frame, history, idle, keys, memory, published, release, screen

BENCHMARKS = tuple(
    benchmark
    for module in (creation, memory, idle, charts, screen, keys, first_frame, release, history, published)
    for benchmark in module.BENCHMARKS
)
