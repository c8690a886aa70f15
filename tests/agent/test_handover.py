"""How a busy loop hands the interpreter's lock to the agent's thread."""

import asyncio
import threading
import time

import pytest

from concwatch.portable.agent.blocking import heartbeat
from concwatch.portable.agent.blocking.handover import GIL, MIN_EXTENDED, Handover
from tests.agent_driver import PATIENCE, eventually

pytestmark = pytest.mark.skipif(not GIL, reason="this Python has no lock")

LONG = 10 * PATIENCE


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def ends(thread, give):
    """Call ``give`` until the thread ends."""

    def ended():
        give(time.monotonic())
        return not thread.is_alive()

    return eventually(ended, "end of the thread")


def test_a_promise_extends_a_wait_until_the_lock_is_given():
    handover = Handover()
    handover.promise(time.monotonic() + LONG)
    ends(in_thread(handover.wait, MIN_EXTENDED), handover.give)


def test_a_short_wait_is_not_extended():
    handover = Handover()
    handover.promise(time.monotonic() + LONG)
    handover.wait(MIN_EXTENDED / 2)


def test_a_paused_handover_neither_extends_waits_nor_ends_them():
    handover = Handover()
    handover.promise(time.monotonic() + LONG)
    handover.pause(True)
    handover.promise(time.monotonic() + LONG)
    handover.wait(MIN_EXTENDED)
    thread = in_thread(handover.wait, MIN_EXTENDED)
    ends(thread, handover.give)
    assert not handover._given
    handover.pause(False)
    handover.promise(time.monotonic() + LONG)
    ends(in_thread(handover.wait, MIN_EXTENDED), handover.give)


def test_the_lock_is_not_given_to_a_thread_that_is_not_due():
    handover = Handover()
    thread = in_thread(handover.wait, LONG)
    for _ in range(100):
        handover.give(time.monotonic())
    assert thread.is_alive()
    handover.wake()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_loop_goes_on_once_the_agents_thread_has_done_what_was_due(monkeypatch):
    monkeypatch.setattr("concwatch.portable.agent.blocking.handover.MAX_START", LONG)
    handover, done = Handover(), []

    def agent():
        handover.wait(0)
        done.append(True)
        handover.wait(LONG)
        handover.end()

    thread = in_thread(agent)
    while not done:
        handover.give(time.monotonic() + LONG)  # waits for it without end, if it waits
    handover.wake()
    thread.join(PATIENCE)


def test_a_loop_does_not_wait_again_for_a_thread_that_does_not_run(monkeypatch):
    handover = Handover()
    handover.wait(0)  # and works from now on
    handover.give(time.monotonic())
    monkeypatch.setattr("concwatch.portable.agent.blocking.handover.MAX_START", LONG)
    handover.give(time.monotonic())  # would hang


@pytest.mark.parametrize(("share", "given"), [(-1.0, True), (float("inf"), False)])
def test_only_a_busy_loop_gives_the_lock(monkeypatch, share, given):
    monkeypatch.setattr(heartbeat, "BUSY", share)
    handover = Handover()
    monkeypatch.setattr(heartbeat, "HANDOVER", handover)
    gives = []
    monkeypatch.setattr(handover, "give", gives.append)

    async def run():
        loop = asyncio.get_running_loop()
        beat = heartbeat.TimerHeartbeat("loop 1", lambda: loop, 0.001, float, LONG)
        beat.start()
        for _ in range(50):  # each as long as the heartbeat's interval, or longer
            await asyncio.sleep(0.001)
        beat.stop()
        await asyncio.sleep(0)

    asyncio.run(run())
    assert bool(gives) == given
