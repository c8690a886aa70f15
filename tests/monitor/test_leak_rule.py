"""The rule by which growth is called a leak: how long it must last, and what may end it until then."""

import pytest

from concwatch.links.agent_messages import ThreadWaits, Waits
from concwatch.monitor.verdicts.leak_rule import (
    ANYTHING,
    FOR_EVER,
    NOT_KNOWN,
    Ending,
    ending_of_tasks,
    ending_of_threads,
    grace_period,
)

NOTHING = Ending(others=False)
MINUTE = 60.0


@pytest.mark.parametrize(
    ("what", "ending", "known", "minutes", "reason"),
    [
        ("tasks", NOTHING, {}, 0, ""),
        ("tasks", NOTHING, {"longest_life": 999.0}, 0, ""),
        ("tasks", ANYTHING, {}, 3, "something else may end them"),
        ("memory", ANYTHING, {}, 3, "a cache may be filling"),
        ("tasks", NOT_KNOWN, {}, 3, "it is not known what they wait for"),
        ("tasks", NOT_KNOWN, {"longest_life": 4 * MINUTE}, 4, "it is not known what they wait for"),
        ("files", ANYTHING, {"rise": 10, "sockets": 5}, 5, "sockets grow as well"),
        ("files", ANYTHING, {"rise": 10, "sockets": 4}, 3, "they may be closed"),
        ("jobs", ANYTHING, {"rise": 10}, 3, "the executor may catch up"),
        ("tasks", Ending(others=False, timer=30.0), {}, 3, "timers may end them"),
        ("tasks", Ending(timer=MINUTE), {}, 4, "timers may end them"),
        ("tasks", Ending(timer=FOR_EVER), {}, 0, ""),
        ("tasks", Ending(timer=FOR_EVER), {"rise": 1, "sockets": 1}, 5, "sockets grow as well"),
        ("tasks", ANYTHING, {"mean_life": 15.0}, 1, "something else may end them"),
        (
            "tasks",
            ANYTHING,
            {"mean_life": 15.0, "longest_life": 2 * MINUTE},
            2,
            "something else may end them",
        ),
        ("tasks", ANYTHING, {"mean_life": 999.0}, 3, "something else may end them"),
    ],
)
def test_growth_is_a_leak_after_as_long_as_what_may_end_it_can_take(what, ending, known, minutes, reason):
    found = grace_period(what, ending, **known)
    assert found.seconds == minutes * MINUTE
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("waits", "ending"),
    [
        ({}, Ending(known=False, others=False)),
        ({"looked": 10, "timed": 10, "until": 5.0}, Ending(others=False, timer=5.0)),
        ({"looked": 10, "sampled": 10}, NOTHING),
        ({"looked": 10, "sampled": 10, "wakeable": 9}, ANYTHING),
        ({"looked": 10, "sampled": 10, "wakeable": 8}, NOTHING),
        ({"looked": 10, "sampled": 5, "timed": 5, "until": 7.0}, NOTHING),
        ({"looked": 10, "sampled": 5, "timed": 5, "until": 7.0, "wakeable": 4}, Ending(timer=7.0)),
    ],
)
def test_tasks_end_by_what_nine_in_ten_of_them_wait_for(waits, ending):
    assert ending_of_tasks(Waits(1, **waits)) == ending


@pytest.mark.parametrize(
    ("looked", "locked", "ending"), [(0, 0, Ending(known=False)), (10, 0, ANYTHING), (10, 2, NOTHING)]
)
def test_threads_that_wait_for_locks_are_not_ended(looked, locked, ending):
    assert ending_of_threads(ThreadWaits("f", looked=looked, locked=locked)) == ending
