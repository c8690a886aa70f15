"""Workloads that misbehave, for threads; those for event loops have an "a" before their name."""

import asyncio
import contextlib
import os
import sys
import time


def job(does):
    """Add a coroutine function that does the same, and then waits, under the name with an "a" before it."""

    async def coroutine():
        does()
        await asyncio.sleep(3600)

    globals()[f"a{does.__name__}"] = coroutine
    return does


@job
def leave():
    os._exit(7)


@job
def exit():
    sys.exit(3)


@job
def recurse():
    recurse()


@job
def crash():
    sys.setrecursionlimit(10**9)

    def deeper(item):
        return sorted([item], key=deeper)

    deeper(0)


@job
def block():
    time.sleep(5)


@job
def block_all():
    """Hold the interpreter's own lock as well, in one call in C: no thread of the worker runs meanwhile."""
    sum(range(10**15))


@job
def fail():
    raise ValueError("as every other")


async def arefuse():
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
