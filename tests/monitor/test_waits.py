"""Where tasks wait, in words."""

import pytest

from concwatch.links.agent_messages import TaskPlace, WaitPlace
from concwatch.monitor.verdicts.waits import created_text, cycle_text, waiting_text

DB = "/srv/app/db.py"

SENTENCES = {
    "list_orders wait at app/db.py:52": WaitPlace(f"{DB}:52", 3, "list_orders"),
    "wait at app/db.py:52 for sleep": WaitPlace(f"{DB}:52", 3, "", "sleep"),
    "list_orders wait at app/db.py:52 for Lock, 5 inside: 4 list_orders at :58, 1 report at a/x.py:9": (
        WaitPlace(
            f"{DB}:52",
            223,
            "list_orders",
            "Lock",
            inside=(TaskPlace(f"{DB}:58", 4, "list_orders"), TaskPlace("/srv/a/x.py:9", 1, "report")),
        )
    ),
    "handle runs at app/db.py:52": WaitPlace(f"{DB}:52", 1, "handle", running=True),
    "handle run at app/db.py:52": WaitPlace(f"{DB}:52", 2, "handle", running=True),
    "main waits at app/db.py:52 for gather: 3 leaf at :30": WaitPlace(
        f"{DB}:52", 1, "main", "gather", (TaskPlace(f"{DB}:30", 3, "leaf"),)
    ),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_place_says_for_what_and_for_whom_its_tasks_wait(sentence):
    assert waiting_text(SENTENCES[sentence]) == sentence


def test_what_created_tasks_is_not_counted_itself():
    places = (
        TaskPlace(f"{DB}:27", 403, "main"),
        TaskPlace("/srv/a/x.py:9", 1, "boot.<locals>.<listcomp>"),
        TaskPlace(f"{DB}:5", 2),
    )
    expected = "403 created by main at :27, 1 created by boot at a/x.py:9, 2 created at :5"
    assert created_text(places, DB) == expected
    assert created_text(()) == ""


def test_a_cycle_says_who_waits_for_what():
    tasks = (WaitPlace(f"{DB}:5", 1, "a", "b"), WaitPlace(f"{DB}:9", 1, "b", "Lock"))
    expected = "2 tasks wait for each other: a at app/db.py:5 for b, b at app/db.py:9 for Lock"
    assert cycle_text(tasks) == expected
