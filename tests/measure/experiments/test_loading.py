"""The shipped experiments: each file is valid, and each experiment runs."""

import asyncio
import hashlib

import msgspec
import pytest

from concwatch.commands.basics.lab import open_process
from concwatch.measure.experiments.experiment import Experiment
from concwatch.measure.experiments.loading import load, shipped
from concwatch.measure.experiments.runner import CellState, Runner, Selection
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.unit import SCALES
from concwatch.monitor.workers.catalog import AT, PYTHONS

NAMES = [path.stem for path in shipped()]
LONGEST_TITLE = 60
MB, KB = 1e6, 1e3

# Bounds of each reading at an experiment's smallest sizes on any machine, however busy; in bytes, seconds and
# tasks a second.
EXPECTED: dict[str, dict[str, tuple[float, float]]] = {
    "memory-per-task": {
        "traced_added": (500, 100 * KB),
        "rss": (5 * MB, 200 * MB),
        "rss_added": (0, 5 * MB),
        "memory_per_task": (500, 100 * KB),
        "virtual_added": (32 * KB, 500 * MB),
    },
    # Twenty downloads of 0.15 s: all at once at best, one after another at worst.
    "parallel-io": {"burst_seconds": (0.15, 80), "peak_rss": (5 * MB, 300 * MB)},
    "million-tasks": {"peak_rss": (1 * MB, 200 * MB), "memory_per_task": (50, 200 * KB)},
    "connections": {
        "memory_per_task": (1 * KB, 300 * KB),
        "rss_per_task": (100, 200 * KB),
        "kernel_per_task": (1 * KB, 100 * KB),
    },
    "batching": {"burst_seconds": (0.15, 40)},
    "creation-rate": {
        "create_rate_cpu": (1e3, 1e8),
        "finish_rate_cpu": (1e3, 1e8),
        "traced_added": (2_000 * 500, 2_000 * 5_000),
        "traced_per_task": (500, 5_000),
    },
    # 100 tasks of 0.3 s, or five downloads of 0.15 s, at once at best.
    "how-many": {"throughput": (0.1, 400), "cycle_seconds": (0.1, 60)},
    # Ten tasks of 0.1 s at once at best.
    "known-knee": {"throughput": (0.1, 110), "duration_p99": (0.09, 60)},
    "gc-cost": {"create_seconds": (0.05, 60), "gc_seconds": (0, 30), "longest_stall": (0, 30)},
    "eager-tasks": {
        "burst_seconds": (0.001, 60),
        "finish_rate_cpu": (1e3, 1e8),
        "create_seconds": (0.001, 60),
    },
    "event-loops": {
        "burst_seconds": (0.001, 60),
        "finish_rate_cpu": (1e3, 1e8),
        "rss_added": (2 * MB, 200 * MB),
    },
    "parallel-python": {"burst_seconds": (0.05, 60), "rss": (5 * MB, 300 * MB)},
    "collectors": {
        "create_seconds": (0.05, 60),
        "gc_seconds": (0, 30),
        "longest_stall": (0, 30),
        "peak_rss": (50 * MB, 500 * MB),
    },
    "pinned-threads": {"burst_seconds": (0.01, 60)},
    "go-collectors": {"gc_seconds": (0, 60), "burst_seconds": (0.01, 60)},
    "tracing-cost": {
        "create_seconds": (0.01, 60),
        "rss_added": (2 * MB, 200 * MB),
        "traced_added": (0.5 * MB, 100 * MB),
        "tracer": (0.1 * MB, 100 * MB),
    },
}


# Files.


def test_every_shipped_experiment_has_expected_ranges():
    assert sorted(EXPECTED) == NAMES, "a file was added or removed: update EXPECTED"


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_file_has_its_experiments_name_full_sentences_and_measured_sizes(name):
    experiment = load(name)
    assert experiment.name == name
    assert {table.reading for table in experiment.table} == set(EXPECTED[name])
    titles = [table.title for table in experiment.table]
    assert len(set(titles)) == len(titles)
    assert max(map(len, (experiment.title, *titles))) <= LONGEST_TITLE
    notes = [table.note for table in experiment.table if table.note]
    for text in (experiment.about, experiment.method, *notes):
        assert text.endswith(".")
        assert not any(space in text for space in ("\n", "  "))
    for series in (series for table in experiment.table for series in table.series):
        assert {*series.published, *(series.quick or ())} <= set(series.sizes)


def test_quick_runs_of_the_first_articles_are_estimated_below_two_minutes():
    names = ("memory-per-task", "parallel-io", "million-tasks", "batching", "creation-rate")
    runners = [Runner(load(name), Selection(quick=True), Lab) for name in names]
    assert sum(runner.seconds_left for runner in runners) < 120


# Published figures.

CHECKED = {
    "batching": "053982418b38",
    "collectors": "4f53cda18c2b",
    "creation-rate": "5cafc419da63",
    "eager-tasks": "4385b91583f8",
    "event-loops": "8ff80490b5ca",
    "go-collectors": "4f53cda18c2b",
    "how-many": "72b763315f7c",
    "memory-per-task": "34686ca8c334",
    "million-tasks": "4a336fcab66c",
    "parallel-io": "be2a212b8665",
    "parallel-python": "a502a2c4f890",
    "pinned-threads": "8b93428d1c41",
}
"""Digest of each experiment's published figures when they were last compared with the source."""


def digest(experiment):
    figures = [
        (table.title, series.name, size, figure)
        for table in experiment.table
        for series in table.series
        for size, figure in sorted(series.published.items())
    ]
    return hashlib.sha256(repr(figures).encode()).hexdigest()[:12]


@pytest.mark.parametrize("name", NAMES)
def test_published_figures_are_as_last_checked_and_have_a_dated_source(name):
    experiment = load(name)
    source = experiment.source
    if source is None:
        assert name not in CHECKED
        return
    assert digest(experiment) == CHECKED[name], "compare the published figures with the source again"
    assert source.date.startswith(str(source.year)) or not source.date
    if source.site.startswith("https://"):
        assert source.year
        assert source.author != "not stated"
        for table in experiment.table:
            if not any(series.published for series in table.series):
                assert table.note.startswith("No published figure")


# Runs.


MOST_TASKS = {"http": 20}
"""Most tasks of a workload, since one engine downloads one page after another."""

SHORTER = {"sleep:10": "sleep:1", "ticks:1x10": "ticks:1x1"}
"""Workloads that are replaced by shorter ones."""


def smallest(experiment: Experiment) -> Experiment:
    """Return the experiment with only the smallest size of each series.

    Only three engines of other languages are kept, and no workload of ten seconds; test_program.py
    runs the programs that sleep for ten seconds.
    """
    replace = msgspec.structs.replace
    known = {engine.name for engine in PYTHONS} | {"go", "rust-threads", "java-virtual"}
    tables = [
        replace(
            table,
            compare=None,
            series=tuple(
                replace(
                    series,
                    quick=None,
                    workload=SHORTER.get(series.workload, series.workload),
                    sizes=(min(series.sizes[0], MOST_TASKS.get(series.workload, series.sizes[0])),),
                )
                for series in table.series
                if (series.engine.partition(AT)[0] in known or series.optional)
                and (series.program is None or series.workload == "http")
            ),
        )
        for table in experiment.table
    ]
    return replace(experiment, table=tuple(tables))


@pytest.fixture(scope="module")
def runners():
    """Run every shipped experiment at its smallest sizes with real workers, all at the same time."""
    selection = Selection(quick=True, repeats=1)

    def make_lab(engines, settings, **options):
        return Lab(engines, open_link=open_process, settings=settings, **options)

    runners = {name: Runner(smallest(load(name)), selection, make_lab) for name in NAMES}

    async def run_all():
        await asyncio.gather(*(runner.run() for runner in runners.values()))

    asyncio.run(run_all())
    return runners


@pytest.mark.real
@pytest.mark.apart
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_runs_at_its_smallest_sizes(name, runners):
    runner = runners[name]
    assert runner.finished
    assert not runner.partial
    missing = set()
    for figure in runner.figures():
        table, series = figure.entry.table, figure.entry.series
        where = f"{table.title}, {series.name}, {figure.entry.size}"
        if figure.state is CellState.ABSENT:
            assert series.optional, where
        elif figure.state is CellState.SKIPPED and " install " in figure.reason:
            missing.add(figure.reason)
        else:
            assert figure.state is CellState.DONE, f"{where}: {figure.reason}"
            low, high = EXPECTED[name][table.reading]
            assert low <= figure.here * SCALES[table.unit][1] <= high, f"{where}: {figure.here} {table.unit}"
    if missing:
        pytest.skip("; ".join(sorted(missing)))
