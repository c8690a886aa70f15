"""All benchmarks there are, in the order of the table."""

from . import (
    agent,
    charts,
    creation,
    first_frame,
    history,
    idle,
    keys,
    memory,
    pictures,
    published,
    recording,
    release,
    replay,
    runtimes,
    screen,
    truth,
)

BENCHMARKS = tuple(
    benchmark
    for module in (
        creation,
        memory,
        idle,
        charts,
        screen,
        keys,
        first_frame,
        release,
        history,
        recording,
        replay,
        pictures,
        published,
        runtimes,
        truth,
        agent,
    )
    for benchmark in module.BENCHMARKS
)
