"""The tables of keys, from which bindings, bar, help and palette are made."""

import ast

import pytest

from concwatch.ui import keys
from concwatch.ui.chart_commands import ChartCommands
from concwatch.ui.screens.experiments import ExperimentsScreen
from concwatch.ui.screens.lanes import LanesScreen
from concwatch.ui.screens.monitor import LaneCommands
from concwatch.ui.screens.replay import ReplayCommands
from concwatch.ui.screens.watch import WatchCommands
from concwatch.ui.screens.watch_replay import WatchReplayCommands
from concwatch.ui.widgets.key_bar import Key

TABLES = {
    "monitor": (keys.MONITOR, LaneCommands),
    "replay": (keys.REPLAY, ReplayCommands),
    "watch": (keys.WATCH, WatchCommands),
    "watch replay": (keys.WATCH_REPLAY, WatchReplayCommands),
    "experiments": (keys.EXPERIMENTS, ExperimentsScreen),
}


@pytest.mark.parametrize("table", TABLES)
def test_each_key_is_bound_once_to_an_existing_command_with_help(table):
    rows, commands = TABLES[table]
    bound = [key for row in rows for key in row.keys.split(",") if key]
    assert sorted(bound) == sorted(set(bound))
    documented = {row.action.split(",")[0] for row in rows if row.help}
    for row in rows:
        if row.keys and row.action != keys.command("refuse"):
            assert row.action.split(",")[0] in documented, row
        if row.action.startswith("command("):
            command, _ = ast.literal_eval(row.action[7:])
            assert any(hasattr(part, command) for part in (commands, ChartCommands, LanesScreen)), command
        elif row.action and not row.action.startswith("app."):
            assert hasattr(commands, f"action_{row.action.partition('(')[0]}"), row.action


def test_keys_with_the_same_help_share_a_line_and_the_bar_is_sorted_by_rank():
    rows = (
        *keys.pair("first", keys.Row("a", "app.one", bar="late", rank=2), keys.Row("plus", "two")),
        keys.Row("c,d", "three", "last", "early", 1),
    )
    assert [(line.plain, text) for line, text in keys.help_lines(rows)] == [("a +", "first"), ("c", "last")]
    assert keys.bar(rows) == [Key("c", "early", "screen.three"), Key("a", "late", "app.one")]


def test_a_replay_refuses_keys_that_only_the_monitor_has():
    refused = keys.REPLAY[-1].keys.split(",")
    assert {"w", "t", "plus", "enter"} <= set(refused)
    assert not {"space", "q", "l", "e"} & set(refused)


def test_the_replay_of_a_watched_program_has_no_keys_of_lanes():
    assert not {*keys.LANES, keys.BASELINE} & {*keys.WATCH_REPLAY}
    assert {*keys.LANES, keys.BASELINE} <= {*keys.REPLAY}
