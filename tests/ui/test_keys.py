"""The tables of keys, from which bindings, bar, help and palette are made."""

import pytest

from concwatch.ui import keys
from concwatch.ui.widgets.key_bar import Key

TABLES = {
    "monitor": keys.MONITOR,
    "replay": keys.REPLAY,
    "watch": keys.WATCH,
    "watch replay": keys.WATCH_REPLAY,
    "experiments": keys.EXPERIMENTS,
}


def called(row):
    """The names of what a row's function calls."""
    return row.run.__code__.co_names


@pytest.mark.parametrize("table", TABLES)
def test_each_key_is_bound_once_and_what_it_does_has_help(table):
    rows = TABLES[table]
    bound = [key for row in rows for key in row.keys.split(",") if key]
    assert sorted(bound) == sorted(set(bound))
    documented = {called(row) for row in rows if row.help and row.run}
    for row in rows:
        if row.run and not row.about:
            assert called(row) in documented or called(row)[-1] == "refuse", row


async def test_one_row_makes_a_binding_an_entry_in_bar_help_and_palette_and_is_pressed():
    pressed = []

    async def later(key):
        pressed.append(key)

    rows = (
        keys.Row("a", lambda on: on("a"), "first", bar="late", rank=2),
        keys.Row("plus,equals_sign", lambda on: on("plus"), keys.SAME, title="More"),
        keys.Row("c,d", lambda on: on("c"), "last", "early", 1, title="C"),
        keys.Row("", lambda on: on("e"), title="No key", about="only here"),
        keys.Row("", None, "another widget's", sign="tab"),
    )
    keyboard = keys.Keyboard(rows, later)
    assert [binding.key for binding in keys.bindings(rows)] == ["a", "plus", "equals_sign", "c", "d"]
    assert [(line.plain, text) for line, text in keys.help_lines(rows)] == [
        ("a +", "first"), ("c", "last"), ("tab", "another widget's"),
    ]  # fmt: skip
    assert keys.bar(rows) == [Key("c", "early", "c"), Key("a", "late", "a")]
    entries = list(keys.palette(rows, keyboard.press))
    assert [(entry.title, entry.help) for entry in entries] == [
        ("More", "+  first"), ("C", "c  last"), ("No key", "only here"),
    ]  # fmt: skip
    for entry in entries:
        await entry.callback()
    await keyboard.press("equals_sign")
    assert pressed == ["plus", "c", "e", "plus"]


def test_a_replay_refuses_keys_that_only_the_monitor_has():
    refused = keys.REPLAY[-1].keys.split(",")
    assert {"w", "t", "plus", "enter"} <= set(refused)
    assert not {"space", "q", "l", "e"} & set(refused)


def test_the_replay_of_a_watched_program_has_no_keys_of_lanes():
    assert not {*keys.LANES, keys.BASELINE} & {*keys.WATCH_REPLAY}
    assert {*keys.LANES, keys.BASELINE} <= {*keys.REPLAY}
