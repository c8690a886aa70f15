"""The tables of keys, from which bindings, bar, help and palette are made."""

import ast

import pytest

from concwatch.ui import keys
from concwatch.ui.chart_control import ChartControl
from concwatch.ui.screens.experiments import ExperimentsScreen
from concwatch.ui.screens.lanes import LanesScreen
from concwatch.ui.screens.monitor import LabControls
from concwatch.ui.screens.replay import ReplayControls
from concwatch.ui.widgets.key_bar import Key

TABLES = {"monitor": keys.MONITOR, "replay": keys.REPLAY, "experiments": keys.EXPERIMENTS}


@pytest.mark.parametrize("table", TABLES)
def test_each_key_does_one_thing(table):
    bound = [key for row in TABLES[table] for key in row.keys.split(",") if key]
    assert sorted(bound) == sorted(set(bound))


@pytest.mark.parametrize("table", TABLES)
def test_a_key_is_told_of_or_belongs_to_one_that_is(table):
    rows = [row for row in TABLES[table] if row.keys]
    told = {row.action.split(",")[0] for row in rows if row.help}
    for row in rows:
        if row.action != keys.do("refuse"):
            assert row.action.split(",")[0] in told, row
    assert all(row.shown for row in TABLES[table] if row.help or row.bar)


@pytest.mark.parametrize(("table", "controls"), [("monitor", LabControls), ("replay", ReplayControls)])
def test_each_command_of_a_key_is_there(table, controls):
    parts = (controls, ChartControl, LanesScreen)
    for row in TABLES[table]:
        if row.action.startswith("do("):
            command, _ = ast.literal_eval(row.action[2:])
            assert any(hasattr(part, command) for part in parts), command


def test_each_action_of_the_experiments_is_there():
    for row in keys.EXPERIMENTS:
        if not row.action.startswith("app."):
            assert hasattr(ExperimentsScreen, f"action_{row.action.partition('(')[0]}"), row.action


def test_keys_with_the_same_help_share_a_line():
    rows = (
        keys.Row("a", "one", "a", "first"),
        keys.Row("b", "two", "b", "first"),
        keys.Row("c", "three", "c", "last"),
    )
    assert keys.help_lines(rows) == [("a b", "first"), ("c", "last")]


def test_the_bar_is_in_the_order_of_need():
    rows = (keys.Row("a", "app.one", "a", bar="late", rank=2), keys.Row("b", "two", "b", bar="early", rank=1))
    assert keys.bar(rows) == [Key("b", "early", "screen.two"), Key("a", "late", "app.one")]


def test_what_a_recording_refuses_are_keys_of_the_monitor():
    refused = keys.REPLAY[-1].keys.split(",")
    assert {"w", "t", "plus", "enter"} <= set(refused)
    assert not {"space", "q", "l", "e"} & set(refused)
