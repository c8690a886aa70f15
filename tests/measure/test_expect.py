"""Expectations: their syntax, and whether they hold."""

import json
import re
import sys

import pytest

from concwatch.links.link import Ended
from concwatch.measure.expect import COMPARISONS, EXPECTABLE, judge, parse_expectation, with_run_names
from concwatch.measure.result import Outcome, Result
from concwatch.measure.run import EngineResult
from concwatch.monitor.metrics.unit import UNITS
from concwatch.monitor.workers.catalog import find_engines
from tests.command_line import invoke, refused
from tests.fake_link import Costs, Fault

# Syntax.


@pytest.mark.parametrize(
    ("text", "engine", "metric", "op", "value"),
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
def test_parse_expectation(text, engine, metric, op, value):
    found = parse_expectation(text)
    assert (found.subject, found.metric, found.op) == (engine, metric, op)
    assert found.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected ENGINE.METRIC OP VALUE"),
        ("asyncio", "expected ENGINE.METRIC OP VALUE"),
        ("asyncio < 5", "expected ENGINE.METRIC OP VALUE"),
        (".rss_per_task < 5", "expected ENGINE.METRIC OP VALUE"),
        ("asyncio. < 5", "expected ENGINE.METRIC OP VALUE"),
        ("asyncoi.rss_per_task < 5", 'did you mean "asyncio"? "concwatch engines" lists all'),
        ("asyncio.rss_per_tsk < 5", 'did you mean "rss_per_task"? "concwatch metrics" lists all'),
        ("asyncio.parrot < 5", 'unknown metric "parrot"; "concwatch metrics" lists all'),
        ("asyncio.rss_per_task == 5", 'unknown comparison "=="; expected one of <, <=, >, >='),
        ("asyncio.rss_per_task <> 5", 'unknown comparison "<>"'),
        ("asyncio.rss_per_task < ", "has no value; expected ENGINE.METRIC OP VALUE"),
        ("asyncio.rss_per_task < 5s", '"5s" is not a size'),
        ("asyncio.rss_per_task < 50%", '"50%" is not a size'),
        ("asyncio.rss_per_task < -5", '"-5" is not a size'),
        ("asyncio.rss_per_task < 5 < 6", '"5 < 6" is not a size'),
        ("asyncio.gc_seconds < 5KiB", '"5KiB" is not a time; expected seconds from 0, such as "200ms"'),
        ("asyncio.gc_seconds < nan", '"nan" is not a time'),
        ("asyncio.create_rate > 5/min", '"5/min" is not a rate; expected a number per second from 0'),
        ("asyncio.created > 1.5", '"1.5" is not a number of tasks'),
    ],
)
def test_an_invalid_expectation_is_refused_with_one_line_naming_what_is_expected(text, expected):
    with pytest.raises(ValueError, match=re.escape(expected)) as error:
        parse_expectation(text)
    assert "\n" not in str(error.value)


@pytest.mark.real
def test_an_engine_on_another_python_can_be_named_by_its_path():
    (engine,) = find_engines([f"asyncio@{sys.executable}"])
    expectation = [parse_expectation(f"asyncio@{sys.executable}.failed <= 0")]
    assert [one.subject for one in with_run_names(expectation, [engine.name])] == [engine.name]
    with pytest.raises(ValueError, match="this run has no engine"):
        with_run_names(expectation, ["asyncio"])


def test_the_help_names_every_figure_comparison_and_unit():
    text = invoke("run", "--help").output
    for word in (*EXPECTABLE, *COMPARISONS, *(word for unit in UNITS for word in (unit.name, unit.example))):
        assert word in text


# Verdicts.


def result(**metrics):
    return EngineResult("asyncio", 1_000, [Result("asyncio", 1_000, metrics=metrics)])


def test_comparisons_at_and_around_the_bound():
    for op, below, same in (("<", True, False), ("<=", True, True), (">", False, False), (">=", False, True)):
        expectation = parse_expectation(f"asyncio.failed {op} 5")
        assert (expectation.holds(4), expectation.holds(5), expectation.holds(6)) == (below, same, not below)


def test_an_expectation_replaces_only_the_outcome_of_its_figure():
    problems = {Outcome.FAILING: "5 tasks failed", Outcome.SHORT: "at most 0 of 5"}
    row = EngineResult("asyncio", 5, [Result("asyncio", 5, problems=problems)])
    assert [row.outcome(names) for names in ((), ("failed",), ("failed", "peak_live"))] == [
        Outcome.FAILING, Outcome.SHORT, Outcome.DONE,
    ]  # fmt: skip


def test_a_figure_that_was_not_measured_fails():
    expectation = parse_expectation("asyncio.failed <= 0")
    verdict = expectation.judge(result())
    assert (verdict.holds, verdict.measured, verdict.shown) == (False, None, "not measured")
    assert judge([expectation], [EngineResult("uvloop", 5)]) == []


@pytest.mark.parametrize(
    ("measured", "shown"), [(1260, "1.23 KiB"), (2048, "2 KiB"), (2049.5, "2 KiB (exactly 2,049.5)")]
)
def test_the_measured_value_is_exact_if_rounding_would_equal_the_bound(measured, shown):
    expectation = parse_expectation("asyncio.rss_per_task < 2KiB")
    assert expectation.judge(result(rss_per_task=measured)).shown == shown


# The command.


RUN = ("run", "asyncio", "--tasks", "1000", "--seconds", "0.1")


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    ("expectations", "status", "lines"),
    [
        (["asyncio.rss_per_task < 2KiB", "asyncio.failed<=0"], 0,
         ["holds asyncio.rss_per_task < 2KiB: is 1.23 KiB", "holds asyncio.failed<=0: is 0"]),
        (["asyncio.rss_per_task<1KiB", "asyncio.traced_per_task<9KiB"], 1,
         ["FAILED asyncio.rss_per_task<1KiB: is 1.23 KiB",
          "FAILED asyncio.traced_per_task<9KiB: is not measured"]),
    ],
)  # fmt: skip
def test_verdicts_are_printed_below_the_table_and_a_failure_is_exit_status_1(expectations, status, lines):
    done = invoke(*RUN, *(word for text in expectations for word in ("--expect", text)))
    assert (done.exit_code, done.stdout.splitlines()[3:]) == (status, lines)


@pytest.mark.usefixtures("fakes")
def test_json_has_each_expectation_with_the_measured_value():
    expected = ("--expect", "asyncio.peak_live >= 1k", "--expect", "asyncio.traced_per_task < 1")
    done = invoke(*RUN, "--json", *expected)
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


def test_a_failed_or_limited_lane_is_a_failure_even_if_another_expectation_holds(fakes):
    fakes.faults["asyncio"] = [Fault(0.05, Ended("killed by SIGKILL"))]
    done = invoke(*RUN, "uvloop", "--expect", "uvloop.peak_live >= 1k")
    assert done.exit_code == 1
    assert "holds uvloop.peak_live >= 1k: is 1,000" in done.stdout
    fakes.faults.clear()
    fakes.costs["asyncio"] = Costs(most=300)
    done = invoke(*RUN, "--expect", "asyncio.peak_live >= 1k")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "FAILED asyncio.peak_live >= 1k: is 300"


def test_an_expectation_of_an_absent_engine_is_refused_before_the_run(fakes):
    line = refused(*RUN, "--expect", "uvloop.failed <= 0")
    assert 'this run has no engine "uvloop"; expected one of asyncio' in line
    assert fakes.links == {}
