"""The tests of the test suite."""

import asyncio
import subprocess
import sys
import time

import pytest

from tests.virtual_time import VirtualLoop


def test_a_test_without_the_mark_real_cannot_start_a_process():
    with pytest.raises(AssertionError, match="expected it to be marked real"):
        subprocess.run([sys.executable, "-c", ""], check=False)


def test_virtual_time_passes_at_once_and_in_order():
    woken = []

    async def sleeper(hours):
        await asyncio.sleep(hours * 3600)
        woken.append((hours, asyncio.get_running_loop().time()))

    async def both():
        await asyncio.gather(sleeper(2), sleeper(1))

    began, loop = time.monotonic(), VirtualLoop()
    try:
        loop.run_until_complete(both())
    finally:
        loop.close()
    assert [hours for hours, _ in woken] == [1, 2]
    assert [at for _, at in woken] == pytest.approx([3600, 7200])
    assert time.monotonic() - began < 3600
