"""What holds something, in words."""

import pytest

from concwatch.links.agent_messages import Container, HeldValue, Holder
from concwatch.monitor.verdicts.holders import GrowingContainer, held_text, kept_text

HISTORY = (Holder("history", "app", "/srv/app.py"),)


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (HeldValue("list", "", HISTORY), "the list `history` in app (srv/app.py)"),
        (HeldValue("list", "dict", HISTORY), "the list in the dict `history` in app (srv/app.py)"),
        (
            HeldValue("functools.lru_cache", "", (Holder("", "lookup", "/srv/app.py:9"),)),
            "the functools.lru_cache of lookup (srv/app.py:9)",
        ),
        (
            HeldValue("queue.Queue", "", tuple(Holder("q", name, f"/srv/app.py:{name}") for name in "123")),
            "the queue.Queue `q` in 1 (srv/app.py:1), 2 (srv/app.py:2) and 3 (srv/app.py:3)",
        ),
        (
            HeldValue("dict", "", (*HISTORY, Holder("seen", "f", "/srv/app.py:3"))),
            "the dict `history` in app (srv/app.py) and `seen` in f (srv/app.py:3)",
        ),
        (HeldValue("dict", "", (Holder("x", "__main__"),)), "the dict `x` in __main__"),
        (HeldValue("dict"), "the dict (held by something unknown)"),
    ],
)
def test_what_is_held_is_named_with_its_holders(held, text):
    assert held_text(held) == text


def test_growth_is_told_per_minute_of_one_container_or_of_several():
    one = Container("list", "", HISTORY, items=1_000, grown=50)
    assert GrowingContainer(one, 2.5).text() == f"{held_text(one)} grows by 1,200 items a minute, to 1,000"
    record = GrowingContainer(one, 2.5).as_json()
    assert (record["per_minute"], record["items"], record["within"]) == (1200.0, 1_000, None)
    assert record["holders"] == [{"name": "history", "in": "app", "where": "/srv/app.py"}]
    several = Container("list", "dict", HISTORY, count=40, items=1_000, grown=50)
    assert GrowingContainer(several, 2.5).text() == (
        "40 lists in the dict `history` in app (srv/app.py) grow by 1,200 items a minute, to 1,000"
    )


def test_growth_of_a_buffer_is_told_in_bytes_and_that_of_a_library_with_the_programs_function():
    buffer = Container("bytearray", "", HISTORY, items=3 << 20, grown=1 << 20, in_bytes=True)
    assert GrowingContainer(buffer, 2.0).text() == f"{held_text(buffer)} grows by 30 MiB a minute, to 3 MiB"
    assert GrowingContainer(buffer, 2.0).as_json()["unit"] == "bytes"
    timers = Container("list", items=900, grown=50, function=Holder("", "expire", "/srv/app.py:3"))
    assert GrowingContainer(timers, 2.0).text().endswith("to 900 (the newest refer to expire (srv/app.py:3))")


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (HeldValue("asyncio.Task", "list", HISTORY), "; kept by the list `history` in app (srv/app.py)"),
        (HeldValue("asyncio.Task", "", (Holder("Job.task", "app"),)), "; kept as `Job.task` in app"),
        (HeldValue("asyncio.Task"), ""),
    ],
)
def test_what_keeps_finished_tasks_is_named(held, text):
    assert kept_text(held) == text
