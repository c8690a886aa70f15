"""Expectations: how they are written, and whether they hold."""

import json
import re
import sys

import pytest
from click.testing import CliRunner

from concwatch.cli import main
from concwatch.lab.catalog import find_engines
from concwatch.links.link import Ended
from concwatch.measure.expect import COMPARISONS, EXPECTABLE, judge, parse_expectation, with_run_names
from concwatch.measure.result import Outcome, Result
from concwatch.measure.run import EngineResult
from concwatch.measure.units import KINDS
from tests.fake import Costs, Fault

# How it is written.


@pytest.mark.parametrize(
    ("text", "engine", "figure", "op", "value"),
    [
        ("asyncio.rss_per_task < 2KiB", "asyncio", "rss_per_task", "<", 2048),
        ("asyncio.rss_per_task<2KiB", "asyncio", "rss_per_task", "<", 2048),
        ("  threads . peak_rss  >=  1.5 MB ", "threads", "peak_rss", ">=", 1_500_000),
        ("uvloop.wake_lag_p99 < 200ms", "uvloop", "wake_lag_p99", "<", 0.2),
        ("uvloop.wake_lag_p99 < 80 µs", "uvloop", "wake_lag_p99", "<", 0.00008),
        ("uvloop.stop_seconds < 0.2", "uvloop", "stop_seconds", "<", 0.2),
        ("pool.create_seconds < 2 min", "pool", "create_seconds", "<", 120),
        ("pool.failed <= 0", "pool", "failed", "<=", 0),
        ("gevent.create_rate > 50 k/s", "gevent", "create_rate", ">", 50_000),
        ("gevent.completion_rate > 0.5/s", "gevent", "completion_rate", ">", 0.5),
    ],
)
def test_an_expectation_is_read_as_a_person_writes_it(text, engine, figure, op, value):
    found = parse_expectation(text)
    assert (found.subject, found.figure, found.op) == (engine, figure, op)
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected ENGINE.FIGURE OP VALUE"),
        ("asyncio", "expected ENGINE.FIGURE OP VALUE"),
        ("asyncio < 5", "expected ENGINE.FIGURE OP VALUE"),
        (".rss_per_task < 5", "expected ENGINE.FIGURE OP VALUE"),
        ("asyncio. < 5", "expected ENGINE.FIGURE OP VALUE"),
        ("asyncoi.rss_per_task < 5", 'did you mean "asyncio"?'),
        ("asyncio.rss_per_tsk < 5", 'did you mean "rss_per_task"?'),
        ("asyncio.state < 5", 'unknown figure "state": expected one of rss_per_task'),
        ("asyncio.rss_per_task == 5", 'unknown comparison "==": expected one of <, <=, >, >='),
        ("asyncio.rss_per_task <> 5", 'unknown comparison "<>"'),
        ("asyncio.rss_per_task < ", '"" is not a size: expected bytes from 0, such as "2KiB"'),
        ("asyncio.rss_per_task < 5s", '"5s" is not a size'),
        ("asyncio.rss_per_task < 50%", '"50%" is not a size'),
        ("asyncio.rss_per_task < -5", '"-5" is not a size'),
        ("asyncio.rss_per_task < 5 < 6", '"5 < 6" is not a size'),
        ("asyncio.gc_seconds < 5KiB", '"5KiB" is not a time: expected seconds from 0, such as "200ms"'),
        ("asyncio.gc_seconds < nan", '"nan" is not a time'),
        ("asyncio.create_rate > 5/min", '"5/min" is not a rate: expected a number a second from 0'),
        ("asyncio.created > 1.5", '"1.5" is not a number of tasks'),
    ],
)
def test_a_wrong_one_is_one_line_that_says_what_was_expected(text, expected):
    with pytest.raises(ValueError, match=re.escape(expected)) as error:
        parse_expectation(text)
    assert "\n" not in str(error.value)


@pytest.mark.real
def test_an_engine_on_another_python_may_be_called_by_its_path():
    (engine,) = find_engines([f"asyncio@{sys.executable}"])
    wanted = [parse_expectation(f"asyncio@{sys.executable}.failed <= 0")]
    assert [one.subject for one in with_run_names(wanted, [engine.name])] == [engine.name]
    with pytest.raises(ValueError, match="this run has no engine"):
        with_run_names(wanted, ["asyncio"])


def test_the_help_names_every_figure_comparison_and_unit():
    said = CliRunner().invoke(main, ["run", "--help"]).output
    for word in (*EXPECTABLE, *COMPARISONS, *(word for unit in KINDS for word in (unit.name, unit.example))):
        assert word in said


# Whether it holds.


def result(**figures):
    return EngineResult("asyncio", 1_000, [Result("asyncio", 1_000, figures=figures)])


def test_a_bound_may_include_its_value():
    for op, below, same in (("<", True, False), ("<=", True, True), (">", False, False), (">=", False, True)):
        wanted = parse_expectation(f"asyncio.failed {op} 5")
        assert (wanted.holds(4), wanted.holds(5), wanted.holds(6)) == (below, same, not below)


def test_an_expectation_replaces_the_outcome_of_its_figure_only():
    problems = {Outcome.FAILING: "5 tasks failed", Outcome.SHORT: "at most 0 of 5"}
    row = EngineResult("asyncio", 5, [Result("asyncio", 5, problems=problems)])
    assert [row.outcome(names) for names in ((), ("failed",), ("failed", "peak_live"))] == [
        Outcome.FAILING, Outcome.SHORT, Outcome.DONE,
    ]  # fmt: skip


def test_what_was_not_measured_does_not_hold():
    wanted = parse_expectation("asyncio.failed <= 0")
    verdict = wanted.judge(result())
    assert (verdict.holds, verdict.measured, verdict.shown) == (False, None, "not measured")
    assert judge([wanted], [EngineResult("uvloop", 5)]) == []


@pytest.mark.parametrize(
    ("measured", "shown"), [(1260, "1.23 KiB"), (2048, "2 KiB"), (2049.5, "2 KiB (exactly 2,049.5)")]
)
def test_what_was_measured_is_exact_where_it_would_look_like_what_was_expected(measured, shown):
    assert (
        parse_expectation("asyncio.rss_per_task < 2KiB").judge(result(rss_per_task=measured)).shown == shown
    )


# The command.


def run(*arguments, tasks="1000", seconds="0.1"):
    return CliRunner().invoke(main, ["run", *arguments, "--tasks", tasks, "--seconds", seconds])


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    ("expectations", "status", "lines"),
    [
        (
            ["asyncio.rss_per_task < 2KiB", "asyncio.failed<=0"],
            0,
            [
                "holds  asyncio.rss_per_task < 2KiB  1.23 KiB",
                "holds  asyncio.failed<=0            0",
            ],
        ),
        (
            ["asyncio.rss_per_task<1KiB", "asyncio.traced_per_task<9KiB"],
            1,
            [
                "fails  asyncio.rss_per_task<1KiB     1.23 KiB",
                "fails  asyncio.traced_per_task<9KiB  not measured",
            ],
        ),
    ],
)
def test_each_is_shown_below_the_table_and_one_that_fails_is_exit_status_1(expectations, status, lines):
    done = run("asyncio", *(word for text in expectations for word in ("--expect", text)))
    assert (done.exit_code, done.stdout.splitlines()[2:]) == (status, lines)


@pytest.mark.usefixtures("fakes")
def test_json_has_each_with_what_was_measured():
    done = run(
        "asyncio", "--json", "--expect", "asyncio.peak_live >= 1k", "--expect", "asyncio.traced_per_task < 1"
    )
    assert done.exit_code == 1
    assert json.loads(done.stdout)["expect"] == [
        {
            "expect": "asyncio.peak_live >= 1k", "engine": "asyncio", "tasks": 1_000, "figure": "peak_live",
            "op": ">=", "value": 1_000, "measured": 1_000, "holds": True,
        },
        {
            "expect": "asyncio.traced_per_task < 1", "engine": "asyncio", "tasks": 1_000,
            "figure": "traced_per_task", "op": "<", "value": 1.0, "measured": None, "holds": False,
        },
    ]  # fmt: skip


def test_a_failed_lane_and_a_wall_are_failures_whatever_holds(fakes):
    fakes.faults["asyncio"] = [Fault(0.05, Ended("killed by SIGKILL"))]
    done = run("asyncio", "uvloop", "--expect", "uvloop.peak_live >= 1k")
    assert done.exit_code == 1
    assert "holds  uvloop.peak_live >= 1k  1,000" in done.stdout
    fakes.faults.clear()
    fakes.costs["asyncio"] = Costs(most=300)
    done = run("asyncio", "--expect", "asyncio.peak_live >= 1k")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "fails  asyncio.peak_live >= 1k  300"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uvloop.failed <= 0", 'this run has no engine "uvloop": expected one of asyncio'),
    ],
)
def test_a_wrong_one_is_refused_before_anything_runs(fakes, text, expected):
    done = run("asyncio", "--expect", text)
    assert (done.exit_code, done.stdout, fakes.links) == (2, "", {})
    (line,) = done.stderr.splitlines()
    assert expected in line
