"""The tables of keys."""

import pytest

from concwatch.ui.keys import keys

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
    bound = [key for row in rows if row.run for key in row.keys.split(",") if key]
    assert sorted(bound) == sorted(set(bound))
    documented = {called(row) for row in rows if row.help and row.run}
    for row in rows:
        if row.run and not row.about:
            assert called(row) in documented or called(row)[-1] == "refuse", row


def test_a_replay_refuses_keys_that_only_the_monitor_has():
    refused = keys.REPLAY[-1].keys.split(",")
    assert {"w", "t", "plus", "enter"} <= set(refused)
    assert not {"space", "q", "l", "e"} & set(refused)


def test_the_replay_of_a_watched_program_has_no_keys_of_lanes():
    assert not {*keys.LANES, keys.BASELINE} & {*keys.WATCH_REPLAY}
    assert {*keys.LANES, keys.BASELINE} <= {*keys.REPLAY}
