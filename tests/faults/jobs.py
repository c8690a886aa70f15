"""Workloads that misbehave, for threads. Those for event loops have the prefix "a"."""

import asyncio
import contextlib
import os
import sys
import time


def job(function):
    """Also define a coroutine function that calls ``function``, then sleeps, with the prefix "a"."""

    async def coroutine():
        function()
        await asyncio.sleep(3600)

    globals()[f"a{function.__name__}"] = coroutine
    return function


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
    """Hold the GIL in one C call, so that no other thread of the worker runs."""
    sum(range(10**15))


@job
def fail():
    raise ValueError("expected")


async def arefuse():
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
