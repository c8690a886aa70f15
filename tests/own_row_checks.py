"""Checks of each place that should have the metrics of `tests.own_row`; `test_metrics` runs them."""

import csv
import io
import json

import pytest

from concwatch.charts.plot import LaneSeries, make_plot
from concwatch.charts.table import BY_METRIC
from concwatch.exporters.families import OF_FUNCTIONS
from concwatch.exporters.function_totals import FunctionTotals
from concwatch.links.agent_messages import AgentTick, GroupReport, Groups
from concwatch.measure.comparing.watched import read_watch, read_watch_recording
from concwatch.measure.watch_report import parse_watch_expectation, watch_report
from concwatch.monitor.groups.ranking import merge_groups
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import FileWriter
from concwatch.ui.sources.lane_row import combined_sample
from concwatch.ui.widgets.tables.group_table import COLUMNS as GROUP_COLUMNS
from tests.command_line import invoke
from tests.lab_driver import Bench
from tests.own_row import FIELD, GROUP_NAME, GROUP_TITLE, NAME, TITLE
from tests.screen import stage
from tests.watch_driver import WatchBench

MIB = 1 << 20


@pytest.fixture(scope="module")
def bench():
    bench = Bench("asyncio")
    bench.lab.set_target(bench.lab.lanes[0], 1_000)
    bench.pass_(5)
    return bench


@pytest.fixture
def run(tmp_path):
    """Return what ``concwatch run`` prints with some more arguments, after recording it."""

    def run(*arguments, record=tmp_path / "a.jsonl"):
        done = invoke("run", "asyncio", "--tasks", "1k", "--seconds", "0.1", "--record", record, *arguments)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def test_it_is_in_a_snapshot_and_combined_over_lanes(bench):
    sample = bench.snapshot("asyncio").sample
    assert sample.peak_rss == bench.snapshot("asyncio").status.peak_rss > MIB
    assert combined_sample([sample, sample], 0).peak_rss == 2 * sample.peak_rss


def test_it_has_a_series_and_a_chart(bench):
    (lane,) = bench.lab.lanes
    assert lane.series.last(FIELD) == bench.snapshot("asyncio").sample.peak_rss
    plot = make_plot(BY_METRIC[FIELD], [LaneSeries("asyncio", lane.series, "#ffffff")], bench.now, 5.0)
    assert plot.title == TITLE
    assert max(plot.lines[0].values) > MIB


async def test_it_is_on_the_screen_as_a_chart_and_in_the_cost_table():
    async with stage((160, 50)) as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(3)
        assert TITLE in s.chart_titles()
        header = next(line for line in s.lines() if "memory/task" in line)
        assert TITLE in header


@pytest.mark.usefixtures("fakes")
def test_run_prints_it_expects_it_and_has_it_in_json(run, tmp_path):
    assert TITLE in run("--expect", f"asyncio.{NAME} > 1MiB").splitlines()[0]
    found = json.loads(run("--json", record=tmp_path / "b.jsonl"))
    assert found["lanes"][0][NAME] > MIB


@pytest.mark.usefixtures("fakes")
def test_recordings_exports_and_comparisons_have_it(run, tmp_path):
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for path in paths:
        run(record=path)
    recorded = [sample.peak_rss for lane in load(paths[0]).lanes for sample in lane.samples()]
    assert max(filter(None, recorded)) > MIB
    rows = [*csv.DictReader(io.StringIO(invoke("export", paths[0], "--csv").stdout))]
    assert max(int(row[FIELD]) for row in rows if row[FIELD]) == max(filter(None, recorded))
    assert TITLE in invoke("export", paths[0], "--chart").stdout
    found = json.loads(invoke("compare", *paths, "--json").stdout)
    assert NAME in [figure["figure"] for figure in found["figures"]]


def test_the_help_lists_it():
    assert NAME in invoke("metrics").stdout
    assert NAME in invoke("run", "--help").stdout
    assert GROUP_NAME in invoke("metrics").stdout


# The metric of groups.


@pytest.fixture
def watched(tmp_path):
    """Return a program whose group had three cancelled tasks, and a recording of it."""
    bench, path = WatchBench(), tmp_path / "watched.jsonl"
    recorder = Recorder(path, FileWriter(path), "concwatch watch -- app.py", ())
    recorder.observe(bench.watching)
    agent = bench.agent(40)
    counts = {"created": 10, "live": 2, "ended": 8}
    for at in (1.0, 2.0):
        group = GroupReport(1, "fetch", "/srv/app.py", 10, live_peak=2, cancelled=3, **counts)
        agent.report(AgentTick(at, scan_time=at, **counts), Groups(at, (group,)))
        bench.advance(1.0)
    recorder.stop("done")
    return bench, load(path)


def test_it_is_in_a_snapshot_a_table_and_prometheus_for_each_group(watched):
    (lane,) = watched[0].watching.snapshot().lanes
    (merged,) = merge_groups([*lane.groups, *lane.groups])
    assert (lane.groups[0].figure("cancelled"), merged.figure("cancelled")) == (3, 6)
    (column,) = [column for column in GROUP_COLUMNS if column.title == GROUP_TITLE]
    assert (column.text(merged), column.value(merged)) == ("6", 6)
    totals = FunctionTotals()
    totals.update([lane])
    found = dict(totals.collect())
    assert [value for _, value in found[OF_FUNCTIONS[GROUP_NAME]]] == [3]


def test_it_is_in_the_report_of_a_program_and_can_be_expected_and_compared(watched):
    bench, recording = watched
    report = watch_report(bench.watching.snapshot(), ["app.py"], 0)
    assert report["processes"][0]["groups"][0][GROUP_NAME] == 3
    verdict = parse_watch_expectation(f"fetch.{GROUP_NAME} < 3").judge(report)
    assert (verdict.holds, verdict.measured) == (False, 3)
    assert recording.groups(0, 2.0)[0].cancelled == 3
    sides = (read_watch(json.dumps(report).encode(), "a"), read_watch_recording(recording, "b"))
    for side in sides:
        found = {subject.key: measured.median for subject, measured in side.metrics.items()}
        assert found[f"fetch: {GROUP_NAME}"] == 3
