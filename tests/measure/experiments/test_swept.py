"""How many tasks at once are enough, by the steps of an experiment's series; in every report."""

import json

import pytest

from concwatch.measure.comparing.experiment_result import read_experiment
from concwatch.measure.experiments.experiment_report import sheets
from concwatch.measure.experiments.formats import report_csv, report_json, report_markdown
from concwatch.measure.experiments.loading import decode, load
from concwatch.measure.experiments.runner import CellState, Runner, Selection
from concwatch.measure.experiments.swept import swept
from concwatch.measure.experiments.table import table_lines
from concwatch.measure.result import Result
from concwatch.monitor.metrics.metric import DOWN
from tests.measure.experiments.test_experiment_report import INFO

TOY = """
name = "toy"
title = "How many?"
about = "a"
method = "m"
[[table]]
title = "Throughput"
reading = "throughput"
unit = "tasks/s"
sizes = [1, 10, 20, 40, 50, 60, 100, 200, 500]
[[table.series]]
label = "replaced"
engine = "asyncio"
action = "sweep"
[[table.series]]
label = "all at once"
engine = "asyncio"
published = { 100 = 400 }
"""


def rate(tasks):
    """Return the throughput of a semaphore of 50 around 0.1 s."""
    return min(10.0 * tasks, 500.0)


def fill(runner, action, function, repeats=1, sizes=None, interval=0.01, **about):
    """Fill in the results of one series with values of ``function`` that differ by 1 %."""
    for cell, outcome in runner.outcomes.items():
        if cell.action == action and (sizes is None or cell.size in sizes):
            outcome.state = CellState.DONE
            for number in range(repeats):
                found = function(cell.size) * (1 + 0.01 * (number % 3 - 1))
                metrics = {"throughput": found, "throughput_interval": interval * found, "duration_p99": 0.1}
                metrics["cycle_seconds"] = cell.size / found
                outcome.runs.append(Result("asyncio", cell.size, metrics=metrics, **about))


def toy(text=TOY):
    return Runner(decode(text.encode(), "toy.toml"), Selection(), make_lab=None)


def results(runner):
    return list(swept(runner.experiment.table[0], runner.figures()))


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_steps_of_a_series_have_a_knee(repeats):
    runner = toy()
    fill(runner, "sweep", rate, repeats)
    (result,) = results(runner)
    knee = result.knee
    assert result.engine == "replaced"
    assert 45 <= knee.tasks.value <= 50
    assert knee.tasks.low < knee.tasks.high
    assert knee.best.value == pytest.approx(500, rel=0.02)
    assert [step.tasks for step in result.steps] == list(runner.experiment.table[0].series[0].sizes)


def test_more_runs_know_the_throughput_better():
    widths = []
    for repeats in (1, 9):
        runner = toy()
        fill(runner, "sweep", rate, repeats, interval=0.1)
        widths.append(results(runner)[0].steps[3].interval)
    assert widths[1] == pytest.approx(widths[0] / 3, rel=0.02)


def test_few_steps_other_readings_and_what_was_not_measured_have_none():
    runner = toy()
    assert results(runner) == []
    fill(runner, "sweep", rate, sizes=(1, 50))
    assert results(runner) == []
    other = toy(TOY.replace('"throughput"', '"cycle_seconds"').replace('"tasks/s"', '"s"'))
    fill(other, "sweep", rate)
    assert results(other) == []


def test_every_report_says_how_many_are_enough_beside_the_published_figures():
    runner = toy()
    fill(runner, "sweep", rate, 3, limited_by="a blocked event loop")
    fill(runner, "burst", lambda tasks: 2.0 * tasks, 3)
    (sheet,) = sheets(runner)
    assert sheet.sentence == (
        "Replaced: 48 at once are enough: 480/s of at most 500/s, p99 100 ms. all at once: throughput rises "
        "up to 500 tasks: 1 k/s. Here 0.50 × published."
    )
    assert sheet.notes == ("replaced: from 48 on limited by a blocked event loop",)
    for text in (report_markdown(runner, INFO), " ".join(line.text for line in table_lines(runner, INFO))):
        for said in (sheet.sentence, *sheet.notes):
            assert said in " ".join(text.split())
    (table,) = json.loads(report_json(runner, INFO))["tables"]
    replaced, at_once = table["enough"]
    assert (replaced["series"], replaced["knee"]["tasks"]) == ("replaced", 48)
    assert replaced["limited_by"] == "a blocked event loop"
    assert (at_once["series"], at_once["knee"]) == ("all at once", None)
    (row,) = [row for row in table["rows"] if row["published"]]
    assert (row["published"], row["here"], row["size"]) == (400, pytest.approx(200), 100)
    assert "throughput" in report_csv(runner, INFO)


def test_a_throughput_that_is_not_known_within_2_percent_is_marked():
    for interval, remark in ((0.019, ()), (0.05, ("± 5 %",))):
        runner = toy()
        fill(runner, "sweep", rate, interval=interval)
        rows = [row for row in sheets(runner)[0].rows if row.engine == "replaced"]
        assert {row.remarks for row in rows} == {remark}


def test_more_is_slower_is_said():
    runner = toy()
    fill(runner, "sweep", lambda tasks: tasks / (0.1 * (1 + (tasks / 100) ** 2)))
    assert "more is slower" in sheets(runner)[0].sentence


def test_a_lower_throughput_is_worse_in_a_comparison():
    runner = toy()
    fill(runner, "sweep", rate, 3, runtime="CPython 3.11.7")
    side = read_experiment(report_json(runner, INFO).encode(), "a")
    assert {(subject.key, subject.worse) for subject in side.metrics} == {("throughput", DOWN)}
    assert len(side.metrics) == 9


# What is shipped.


def test_the_published_points_of_how_many_are_those_of_the_article_in_both_units():
    experiment = load("how-many")
    seconds = {10_000: 0.51, 100_000: 6.24}, {100: 2.12}
    for number, expected in enumerate(seconds):
        rates, times = experiment.table[2 * number : 2 * number + 2]
        assert (rates.reading, times.reading) == ("throughput", "cycle_seconds")
        assert times.series[0].published == expected
        found = rates.series[0].published
        assert found.keys() == expected.keys()
        for size, rate in found.items():
            assert rate == pytest.approx(size / expected[size], rel=1e-4)
