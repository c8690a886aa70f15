"""The experiments screen, with fake workers on a clock that runs many times faster."""

import math

import pytest

import concwatch.measure.experiments.loading as files
from concwatch.charts.colors import ON_DARK, lane_colors
from concwatch.links.link import Ended
from concwatch.measure.experiments.loading import shipped
from concwatch.measure.experiments.runner import CellState, Runner
from concwatch.measure.result import Result
from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.workers.catalog import CATALOG, SHOWN
from concwatch.portable.protocol.units import format_forecast
from concwatch.ui.dialogs.help import HelpScreen, ReadDialog
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.sources.chosen_experiment import ChosenExperiment
from concwatch.ui.sources.experiment_runs import ExperimentRuns
from concwatch.ui.widgets.charts.experiment_charts import RunChart, SizeChart
from tests import virtual_time
from tests.fake_link import FakeWorkers
from tests.screen import GIB, GOLDEN, LIMITS, MEMORY, assert_golden, stage

SPEED = 50
"""How much faster the clock of an experiment's lab runs."""

SMALL = """
name = "small"
title = "Are two engines alike?"
about = "Tasks that sleep."
method = "Each size in a fresh process."
[source]
article = "Two Engines"
author = "A. Writer"
year = 2020
machine = "one machine"
version = "Python 3.9"
[[table]]
title = "Traced memory"
reading = "traced_added"
unit = "KiB"
workload = "sleep:1"
trace = true
read_after = 0.5
sizes = [10, 100, 1000]
quick = [10, 100]
repeats = 2
note = "Python's own allocations alone."
compare = { this = "threads", that = "coroutines" }
[[table.series]]
engine = "threads"
published = { 10 = 40.5, 100 = 300.25, 1000 = 3000 }
[[table.series]]
label = "coroutines"
engine = "asyncio"
published = { 10 = 15, 100 = 140.5, 1000 = 1368 }
[[table.series]]
label = "another language"
engine = "no-such-engine"
optional = true
published = { 10 = 1.5, 1000 = 150 }
[[table]]
title = "The whole process"
reading = "rss"
unit = "MB"
action = "hold"
seconds = 0
repeats = 1
workload = "sleep:3600"
sizes = [1000]
[[table.series]]
engine = "asyncio"
published = { 1000 = 16 }
"""

LONG = """
name = "long"
title = "Does it ever end?"
about = "Tasks that sleep for an hour."
method = "Wait."
[[table]]
title = "Time"
reading = "burst_seconds"
unit = "s"
sizes = [10, 20, 1000000]
quick = [10, 20]
repeats = 1
[[table.series]]
engine = "threads"
workload = "nop"
sizes = [10]
[[table.series]]
engine = "asyncio"
workload = "sleep:3600"
"""


@pytest.fixture
def small_experiments(tmp_path, monkeypatch):
    """Replace the shipped experiments with two small ones. Return their folder."""
    for name, text in (("small", SMALL), ("long", LONG)):
        (tmp_path / f"{name}.toml").write_text(text)
    monkeypatch.setattr(files, "SHIPPED", tmp_path)
    monkeypatch.setattr("concwatch.measure.measurement.SETTLE", 0.0)  # fake workers need no time to settle
    return tmp_path


def fast_lab(workers=None, budget=4 * GIB):
    """Return a function that makes labs with fake workers on a fast clock."""

    def make(engines, settings):
        return Lab(
            engines,
            settings=settings,
            hz=50,
            budget=budget,
            open_link=workers or FakeWorkers(),
            clock=lambda: virtual_time.now() * SPEED,
            machine=LocalMachine(lambda: MEMORY, lambda: LIMITS),
        )

    return make


def experiments(size=(120, 40), **options):
    return stage(size, engines=SHOWN, **{"make_run_lab": fast_lab(), **options})


async def open_experiments(s) -> ExperimentRuns:
    await s.press("e")
    await s.sees("enter runs it", within=lambda: s.query("RunBar"))
    return s.app.measurements.runs


async def finish(s, name):
    await s.until(lambda: s.app.measurements.runs.running is None, f"{name} ends")
    s.app.screen.update_now()
    await s.settle()


def table(s):
    return s.query("ResultTable")


async def test_every_shipped_experiment_is_listed_and_described():
    async with experiments() as s:
        runs = await open_experiments(s)
        assert runs.broken == []
        assert list(runs.experiments) == [path.stem for path in shipped()]
        for name, experiment in runs.experiments.items():
            await s.sees(name, within=s.query("ExperimentList"))
            await s.sees(experiment.title, experiment.about.split()[0], within=s.query("AboutPanel"))
            await s.sees(experiment.table[0].title[:40], within=table(s))
            await s.press("down")
        assert s.app.screen.chosen.index == 0, "the selection wraps around"


def test_another_experiment_begins_with_its_first_table(small_experiments):
    chosen = ChosenExperiment(ExperimentRuns(fast_lab(), print))
    chosen.select_next(1)
    assert chosen.name == "small"
    chosen.next_table(-1)
    assert chosen.table.title == "The whole process", "the tables wrap around"
    chosen.select(1)
    assert chosen.table_index == 1, "it is chosen already"
    chosen.select_next(1)
    assert (chosen.name, chosen.table_index) == ("long", 0)


async def test_quick_and_full_runs_fill_table_and_charts(small_experiments, monkeypatch):
    monkeypatch.setattr("concwatch.ui.widgets.bars.status_bar.MACHINE", "CPython 3.11.7 · 2 cores")
    async with experiments() as s:
        runs = await open_experiments(s)
        await s.press("down")
        await s.sees("enter runs it: 13 runs, about", "k for a quick run: 5 runs", within=s.query("RunBar"))
        await s.press("k", "enter")
        assert runs.running == "small"
        await s.until(lambda: s.app.screen.query_one(RunChart).plot.lines, "memory is drawn during the run")
        await finish(s, "small")
        await s.sees("✓ done", within=s.query("ExperimentList"))
        await s.sees("done (quick): 5 of 5 cells measured", within=s.query("RunBar"))
        await s.sees("100 threads 300.25 312.5 1.04 × one run", "published only", within=table(s))
        await s.sees("threads = 2.3 × coroutines", within=table(s))
        measured = [line for line in s.app.screen.query_one(SizeChart).plot.lines if line.mark == "●"]
        assert [line.values for line in measured] == [[32_000.0, 320_000.0], [14_000.0, 140_000.0]]
        await s.press("right")
        await s.sees("The whole process", "1,000 asyncio 16", within=table(s))
        await s.press("right", "k", "enter")
        assert runs.running == "small"
        await finish(s, "small")
        await s.sees("done: 7 of 7 cells measured", within=s.query("RunBar"))
        await s.sees("1,000 threads 3,000 3,125 1.04 × 0 %", within=table(s))
        # Only the duration and the times of memory samples differ between two runs: fix them.
        monkeypatch.setattr(Runner, "seconds", property(lambda self: 12.0))
        for cell, outcome in runs.shown("small").outcomes.items():
            for run in outcome.runs:
                run.rss_curve = [(second / 4, (20 << 20) + cell.size * 4_000 * second) for second in range(9)]
        s.app.screen.update_now()
        await s.sees("in 12 s")
        assert_golden(s.lines(), GOLDEN / "experiments-120x40.txt")


KNEE = """
name = "knee"
title = "How many at once?"
about = "A semaphore of 50."
method = "A sweep."
[[table]]
title = "Throughput"
reading = "throughput"
unit = "tasks/s"
action = "sweep"
workload = "sleep:0.1"
sizes = [10, 20, 50, 100, 200]
[[table.series]]
engine = "asyncio"
published = { 100 = 480 }
"""


async def test_how_many_are_enough_is_said_and_marked_in_the_chart(small_experiments):
    (small_experiments / "knee.toml").write_text(KNEE)
    async with experiments() as s:
        runs = await open_experiments(s)
        for cell, outcome in runs.shown("knee").outcomes.items():
            rate = min(10.0 * cell.size, 500.0)
            outcome.state, outcome.runs = CellState.DONE, [Result("asyncio", metrics={"throughput": rate})]
        s.app.screen.update_now()
        await s.sees("48 at once are enough: 480/s of at most 500/s", within=table(s))
        await s.sees("100 asyncio 480 500.0 1.04 ×", within=table(s))
        (mark,) = s.app.screen.query_one(SizeChart).plot.annotations
        assert (mark.text, mark.time) == ("48", pytest.approx(math.log10(48)))


async def test_a_run_continues_behind_the_monitor_and_keeps_its_results_when_stopped(
    small_experiments,
):
    async with experiments() as s:
        runs = await open_experiments(s)
        await s.press("enter")
        await s.sees("▸ 1 of 1", within=table(s))
        await s.sees("asyncio 10, run 1 of 1", "left", within=s.query("RunBar"))
        for back in ("escape", "e"):
            await s.press(back)
            assert isinstance(s.app.screen, MonitorScreen)
            s.monitor.show_snapshot()
            await s.sees("experiment", "%", within=s.query("StatusBar"))
            await s.press("e")
            await s.sees("run 1 of 1", within=lambda: s.query("RunBar"))
        assert runs is s.app.measurements.runs
        await s.press("down", "enter")
        assert (runs.running, s.app.screen.chosen.index) == ("long", 0), "the running one is selected"
        await s.press("x")
        await finish(s, "long")
        await s.sees("◐ partial", within=s.query("ExperimentList"))
        await s.sees("partial: 1 of 4 cells measured", within=s.query("RunBar"))
        await s.sees("10 threads", "one run", "10 asyncio – – – not run", within=table(s))
        assert all(lane.idle for taken in runs.snapshots() for lane in taken.lanes)
        await s.press("escape")
        s.monitor.show_snapshot()
        await s.settle()
        assert "experiment" not in s.text(s.query("StatusBar"))


async def test_quitting_stops_the_running_experiment(small_experiments):
    async with experiments() as s:
        runs = await open_experiments(s)
        await s.press("enter")
        await s.sees("asyncio 10, run 1 of 1", within=s.query("RunBar"))
        await s.press("ctrl+c")
    assert runs.running is None
    assert runs.shown("long").finished
    assert all(lane.idle for taken in runs.snapshots() for lane in taken.lanes)


async def test_failed_and_skipped_cells_show_why(small_experiments):
    workers = FakeWorkers(answers={"threads": {("burst", 100): Ended("killed by SIGKILL")}})
    async with experiments(make_run_lab=fast_lab(workers, budget=30 << 20)) as s:
        await open_experiments(s)
        await s.press("down", "enter")
        await finish(s, "small")
        await s.sees("failed: ", "killed by SIGKILL", within=table(s))
        await s.sees("skipped: needs about", "the memory budget is 30 MiB", within=table(s))
        await s.sees("skipped", "failed", within=s.query("RunBar"))


async def test_a_run_that_raises_and_an_invalid_file_are_reported(small_experiments):
    def broken(engines, settings):
        raise OSError("no room for a lab")

    (small_experiments / "bad.toml").write_text("name = 3")
    async with experiments(make_run_lab=broken) as s:
        runs = await open_experiments(s)
        assert list(runs.experiments) == ["long", "small"]
        await s.sees("bad.toml", within=s.toast)
        await s.press("enter")
        await finish(s, "long")
        await s.sees("failed: no room for a lab", "✕ failed")
        (event,) = [event for event in s.lab.events.since(0) if event.severity == "error"]
        assert event.text.startswith("experiment long failed: no room for a lab\nTraceback")
        assert event.text.endswith("OSError: no room for a lab")


async def test_the_mouse_selects_runs_and_stops_an_experiment(small_experiments):
    async with experiments() as s:
        runs = await open_experiments(s)
        experiment_list = s.query("ExperimentList")
        await s.click(experiment_list, 5, 5)
        await s.settle()
        assert s.app.screen.chosen.index == 1
        bar, results = s.query("RunBar"), table(s)
        line = s.lines()[results.region.y]
        await s.click(results, line.index(" 2 ") + 1 - results.region.x)
        await s.sees("The whole process", within=results)
        await s.click(bar, s.lines()[bar.region.y].index("quick") - bar.region.x)
        assert runs.quick
        await s.click(experiment_list, 5, 1)
        await s.settle()
        await s.click(bar, s.lines()[bar.region.y].index("run") - bar.region.x)
        assert runs.running == "long"
        await s.sees("stop", within=bar)
        await s.click(bar, s.lines()[bar.region.y].index("stop") - bar.region.x)
        await finish(s, "long")


async def test_running_lanes_are_reported_and_can_be_stopped(small_experiments):
    async with experiments() as s:
        await s.switch_on("asyncio", tasks=20_000)
        await open_experiments(s)
        await s.sees("tasks distort the figures", within=s.query("RunBar"))
        await s.press("0")
        for _ in range(10):
            s.clock.now += 0.1
            s.lab.step()
        s.app.update_now()  # as before a screenshot
        await s.settle()
        assert "lanes" not in s.text(s.query("RunBar"))
        assert not s.lane("asyncio").on


async def test_details_help_and_every_size(small_experiments):
    async with experiments() as s:
        await open_experiments(s)
        await s.press("down", "d")
        assert isinstance(s.app.screen, ReadDialog)
        await s.sees("A. Writer, 2020: Two Engines", "one machine; Python 3.9", "fresh process", "alone.")
        await s.press("escape", "question_mark")
        assert isinstance(s.app.screen, HelpScreen)
        await s.sees("keep what has been measured", "Here ÷ published", "median")
        await s.press("escape")
        for size in ((20, 6), (200, 60)):
            await s.resize(*size)
            for key in ("c", "right", "d", "escape", "question_mark", "escape"):
                await s.press(key)
                assert s.lines()
        # A small terminal shows one pane at a time.
        await s.resize(80, 24)
        await s.press("c")  # back to the first
        await s.sees("2 of 2 small Are two engines alike?", within=s.query("ExperimentList"))
        panes = [table(s), s.query("SizeChart"), s.query("RunChart")]
        for visible in (*panes, panes[0]):
            assert [pane for pane in panes if pane.region.height] == [visible]
            assert visible.region.height > 9
            await s.press("c")


def test_an_engine_has_the_same_colour_on_every_screen_and_no_two_series_have_one():
    for names in (["asyncio", "threads"], ["threads", "pool", "asyncio", "uvloop"], ["go", "asyncio@3.13"]):
        colors = dict(zip(names, lane_colors(names, dark=True), strict=True))
        assert {name: colors.get(name, color) for name, color in EVERYWHERE.items()} == EVERYWHERE
    hosts = lane_colors(["asyncio · web1", "asyncio · web2", "go", "threads"], dark=True)
    assert (hosts[0], hosts[3]) == (EVERYWHERE["asyncio"], EVERYWHERE["threads"])
    assert len(set(hosts)) == 4
    assert len(lane_colors(["go"] * 40, dark=False)) == 40
    every = [engine.name for engine in CATALOG]
    assert len(set(lane_colors(every, dark=True))) == len(every)
    assert len(set(lane_colors(["threads", "gevent", "asyncio", "go"], dark=True, few=True))) == 4


EVERYWHERE = {"threads": ON_DARK[0], "pool": ON_DARK[1], "asyncio": ON_DARK[2], "uvloop": ON_DARK[3]}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3, "a few seconds"),
        (21, "about 25 s"),
        (100, "about 2 min"),
        (3_590, "about 1 h 00 min"),
        (4_500, "about 1 h 15 min"),
    ],
)
def test_a_forecast_is_rounded(seconds, text):
    assert format_forecast(seconds) == text
