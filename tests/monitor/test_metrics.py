"""Figures have the same name and value everywhere: screen, run, experiment, recording and comparison."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from concwatch.charts.table import BY_METRIC
from concwatch.commands.cli import main
from concwatch.links.agent_messages import AgentTick, GroupReport
from concwatch.links.messages import Tick
from concwatch.measure.comparing.recorded import read_recording
from concwatch.measure.comparing.side import COMPARED
from concwatch.measure.expect import EXPECTABLE
from concwatch.measure.experiments.cell import ExperimentCell, run_once
from concwatch.measure.run import EngineResult, RunSession
from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.group_status import GROUP_METRICS
from concwatch.monitor.metrics.metric import MetricSource
from concwatch.monitor.metrics.metrics import BY_NAME, CAVEATS, LISTED, METRICS, Sample
from concwatch.monitor.metrics.process_status import PROCESS_METRICS
from concwatch.monitor.metrics.settings import Settings
from concwatch.recordings.format import truncate_time
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import open_writer
from concwatch.system.child import ROOT
from concwatch.system.machine import Load
from concwatch.system.memory import Memory
from concwatch.system.process import Reading
from tests.fake_link import Costs, FakeWorkers
from tests.lab_driver import ENGINES, GIB
from tests.virtual_time import fast

KEYS = {
    "engine", "host", "runtime", "flags", "state", "reason", "limited_by", "failures", "traced", "gc",
    "tasks", "plus_minus", "marks", "uncertain",
}  # fmt: skip
"""Keys of a lane in ``run --json`` that are not figures."""


def test_each_figure_is_listed_once_with_its_meaning():
    listed_figures = json.loads(CliRunner().invoke(main, ["metrics", "--json"]).stdout)
    of_lanes = [each["name"] for each in listed_figures if each["of"] == "lanes"]
    assert of_lanes == [metric.name for metric in LISTED] == list(BY_NAME)
    assert len({(each["of"], each["name"]) for each in listed_figures}) == len(listed_figures)
    for each in listed_figures:
        assert each["meaning"].endswith(".")
        assert each["unit"]
    listed = CliRunner().invoke(main, ["metrics"]).stdout.splitlines()
    names = [line.split()[0] for line in listed if line and not line.startswith(" ")]
    assert names == [each["name"] for each in listed_figures]


def test_each_row_of_the_table_says_where_its_values_come_from_and_where_they_are_shown():
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in (*PROCESS_METRICS, *GROUP_METRICS):
        report = GroupReport if metric in GROUP_METRICS else AgentTick
        assert metric.meaning.endswith("."), metric.name
        assert metric.source is not MetricSource.TICK or hasattr(report, metric.field), metric.name
    for metric in METRICS:
        assert metric.meaning.endswith("."), metric.name
        assert metric.name in BY_NAME or not (metric.column or metric.run or metric.compared), metric.name
        for source, report in ((MetricSource.TICK, Tick), (MetricSource.READING, Reading)):
            assert metric.source is not source or hasattr(report, metric.field), metric.name
        assert not metric.chart or hasattr(Sample, metric.field), metric.name
        for other in (*metric.chart.fallbacks, metric.chart.alternative) if metric.chart else ():
            assert not other or other in BY_METRIC, metric.name
        assert not metric.caveats or {caveat.mark for caveat in metric.caveats} <= {
            caveat.mark for caveat in CAVEATS
        }
    row = EngineResult("asyncio", 5, [])
    row.results += fast(_measured(Settings(), 10, Costs()))[0].results
    assert set(row.as_json(())) - KEYS == set(EXPECTABLE)


@pytest.mark.real
def test_a_new_metric_is_one_row():
    """Run `tests.own_row_checks`, and this file, in a process whose table has one more row."""
    files = ("tests/own_row_checks.py", "tests/monitor/test_metrics.py")
    options = ("-q", "-n", "0", "-m", "not real", "-p", "tests.own_row")
    command = (sys.executable, "-m", "pytest", *options, *files)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def fake_lab(settings_, costs):
    clock = asyncio.get_running_loop().time
    return Lab(
        [ENGINES["asyncio"]],
        settings=settings_,
        open_link=FakeWorkers(costs={"asyncio": costs}),
        clock=clock,
        machine=LocalMachine(
            lambda: Memory(16 * GIB, 12 * GIB, "memory"), lambda: (), lambda: Load(clock(), 0.0, 0.0, 2)
        ),
    )


def near(value):
    """Approximate ``value`` within the rounding of a recording: 5 digits, microseconds of time."""
    return value if value is None else pytest.approx(value, rel=5.1e-5, abs=1e-5)


async def _measured(settings_, tasks, costs, path=None):
    """Run tasks like ``concwatch run``, recorded into ``path``; return the row and the snapshots."""
    seen, session = [], RunSession([ENGINES["asyncio"]], [tasks], 1.0)
    recorder = Recorder(path, open_writer(path), "concwatch", session.engines) if path else None

    def make_lab(_):
        lab = fake_lab(settings_, costs)
        lab.observers.append(seen.append)
        if recorder:
            recorder.observe(lab)
        return lab

    await session.run(make_lab, lambda lab, lane, text: None)
    if recorder:
        recorder.stop("done")
    return session.rows[0], seen


@given(
    workload=st.sampled_from(("sleep:10", "sleep:0.3", "hold", "payload:4KiB")),
    trace=st.booleans(),
    tasks=st.integers(1, 5_000),
    costs=st.builds(Costs, task=st.integers(100, 20_000), create_rate=st.floats(50_000, 500_000)),
)
@settings(max_examples=10, deadline=None)
def test_screen_run_experiment_and_recording_have_the_same_figures(workload, trace, tasks, costs):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        row, seen = fast(_measured(Settings(workload, trace=trace), tasks, costs, path))
        recording = load(path)
    result = row.results[0]
    snapshots = {snapshot.lanes[0]: snapshot.time for snapshot in seen}
    cell = ExperimentCell("asyncio", tasks, "hold", workload, trace=trace)

    async def experiment():
        return await run_once(fake_lab(cell.settings, costs), cell)

    again = fast(experiment())
    for metric in LISTED:
        if metric.burst_only:
            continue
        lane = result.last if metric.at_end else result.held
        # The screen computes metrics of a lab's snapshot, a replay of the recording's.
        read = recording.snapshot(truncate_time(snapshots[lane])).lanes[0]
        expected = metric.value(lane)
        assert row.median(metric.name) == expected, metric.name
        assert metric.value(read) == near(expected), metric.name
        if not metric.at_end:
            assert again.metrics[metric.name] == expected, metric.name
    compared = {subject.key: measured for subject, measured in read_recording(recording, "a").metrics.items()}
    for metric in COMPARED:
        median = row.median(metric.name)
        assert (median is None) == (metric.name not in compared), metric.name
        if median is not None:
            assert compared[metric.name].median == near(median), metric.name
