"""The experiment runner, with fake workers with scripted figures, on virtual time."""

import asyncio
import importlib.util

import pytest
from msgspec.structs import replace

from concwatch.links.link import Ended
from concwatch.links.messages import Error
from concwatch.measure.experiments.loading import decode
from concwatch.measure.experiments.runner import CellState, Runner, Selection
from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import CLOSE_LIMIT, Lab
from concwatch.portable.machine.limits import SystemLimit
from concwatch.system.memory import Memory
from tests.fake_link import Costs, FakeLink, FakeWorkers, Fault
from tests.virtual_time import fast, now

GIB = 1 << 30
DONE, FAILED, SKIPPED = CellState.DONE, CellState.FAILED, CellState.SKIPPED


class ScriptedWorkers:
    """Opens fake links; each start of an engine uses the next of its costs, and the last one repeatedly."""

    def __init__(self, **costs):
        self._costs = {name: list(values) for name, values in costs.items()}
        self.engines = []

    def __call__(self, engine):
        self.engines.append(engine)
        costs = self._costs.get(engine.name, [])
        return FakeLink(engine, costs.pop(0) if len(costs) > 1 else next(iter(costs), None))

    @property
    def starts(self):
        return [engine.name for engine in self.engines]


def experiment(*series, reading="create_rate_cpu", unit="tasks/s", sizes=(1000,), workload="sleep:1", **how):
    """Return an experiment of one table; each series is an engine's name or the content of a TOML table."""
    rows = [row if "=" in row else f'engine = "{row}"' for row in series]
    lines = [f"{key} = {value}" for key, value in how.items()]
    text = f"""
        name = "toy"
        title = "A toy"
        about = "a"
        method = "m"
        [[table]]
        title = "{reading}"
        reading = "{reading}"
        unit = "{unit}"
        workload = "{workload}"
        sizes = {list(sizes)}
        series = [{", ".join(f"{{ {row} }}" for row in rows)}]
    """
    return decode("\n".join([text, *lines]).encode(), "toy.toml")


def hold_experiment(*series, **how):
    return experiment(*series, reading="rss", unit="MB", action='"hold"', workload="hold", **how)


def prepare(what, links, *, budget=None, limits=(), **choice):
    """Return a runner with labs of fake workers, on the running loop's clock."""

    def make_lab(engines, settings, **options):
        return Lab(
            engines,
            settings=settings,
            budget=budget,
            open_link=links,
            clock=now,
            machine=LocalMachine(lambda: Memory(16 * GIB, 12 * GIB, "memory"), lambda: limits),
            **options,
        )

    return Runner(what, Selection(**choice), make_lab)


def run(what, links=None, **how):
    """Run an experiment to its end. Return the runner."""
    runner = prepare(what, links or FakeWorkers(), **how)
    fast(runner.run())
    assert runner.finished
    return runner


# Figures.


@pytest.mark.parametrize(
    ("rates", "here", "spread", "unsteady"),
    [
        ((100_000, 104_000, 98_000), 100_000, 0.06, False),
        ((100_000, 109_900, 100_000), 100_000, 0.099, False),
        ((100_000, 110_100, 100_000), 100_000, 0.101, True),
        ((100_000, 1_000, 100_000), 100_000, 0.99, True),  # no outliers are discarded
        ((100_000,), 100_000, None, False),
    ],
)
def test_median_and_spread_cover_all_runs_each_in_a_fresh_worker(rates, here, spread, unsteady):
    links = ScriptedWorkers(asyncio=[Costs(create_rate=rate) for rate in rates])
    (figure,) = run(experiment("asyncio"), links, repeats=len(rates)).figures()
    assert figure.state is DONE
    assert figure.runs == pytest.approx(rates)
    assert figure.here == pytest.approx(here)
    assert figure.spread == (spread and pytest.approx(spread))
    assert figure.unsteady is unsteady
    assert links.starts == ["asyncio"] * len(rates)


def test_a_figure_is_in_its_tables_unit_and_compared_with_the_published_one():
    what = experiment(
        'engine = "asyncio", published = { 1000 = 2048 }',
        reading="traced_added", unit="KiB", workload="ticks:10x0.1", trace="true", read_after=0.5,
    )  # fmt: skip
    (figure,) = run(what).figures()
    assert figure.here == pytest.approx(1_400 * 1_000 / 1_024)
    assert figure.ratio == pytest.approx(figure.here / 2_048)
    what = experiment("asyncio", reading="rss_per_task", unit="B", action='"hold"', workload="hold")
    (figure,) = run(what, repeats=1).figures()
    assert figure.here == pytest.approx(1_260, rel=0.01)


def test_a_quick_run_is_one_run_of_the_smallest_size():
    what = experiment("asyncio", sizes=(10, 100, 1000))
    (figure,) = run(what, quick=True).figures()
    assert (figure.entry.size, len(figure.runs)) == (10, 1)


def test_a_worker_gets_its_series_environment():
    links = ScriptedWorkers()
    what = experiment("asyncio", 'engine = "asyncio", label = "other", environment = { B = "2", A = "1" }')
    assert [figure.state for figure in run(what, links, repeats=1).figures()] == [DONE, DONE]
    assert [engine.environment for engine in links.engines] == [(), (("A", "1"), ("B", "2"))]


# Skipped and failed cells.


def test_cells_that_do_not_fit_the_machine_are_skipped_without_a_start():
    links = ScriptedWorkers()
    runner = run(experiment("asyncio", sizes=(1000, 100_000)), links, budget=100 << 20, repeats=1)
    small, large = runner.figures()
    assert (small.state, large.state, large.here) == (DONE, SKIPPED, None)
    assert large.reason == "needs about 164 MiB, the memory budget is 100 MiB"
    assert len(links.starts) == 1
    assert not runner.partial
    links = ScriptedWorkers()
    what = experiment("threads", "asyncio", sizes=(700, 1000))
    figures = run(what, links, limits=(SystemLimit("pid_max", 32_768, 32_000),), repeats=1).figures()
    assert [figure.state for figure in figures] == [DONE, SKIPPED, DONE, DONE]
    assert figures[1].reason == "this machine can hold 768 threads, limited by pid_max"
    assert links.starts == ["threads", "asyncio", "asyncio"]


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        ("uvloop", "needs uvloop: pip install uvloop"),
        ("asyncio@9.9t", "needs Python 9.9t: uv python install 9.9t, or pyenv install 9.9t"),
        ("asyncio@/nowhere/python", 'no Python "/nowhere/python"; give a path'),
        ("java-virtual@99", "needs java 99"),
    ],
)
def test_a_missing_engine_is_skipped_with_how_to_install_it(engine, reason, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "uvloop" else real(name, *rest)
    )
    missing, available = run(experiment(engine, "asyncio"), repeats=1).figures()
    assert (missing.state, available.state) == (SKIPPED, DONE)
    assert missing.reason.startswith(reason)
    assert len(missing.reason.splitlines()) == 1


def test_a_lab_that_cannot_be_created_skips_its_cell_and_an_internal_error_ends_the_run(monkeypatch):
    def make_lab(engines, settings):
        raise ValueError("no page can be served")

    runner = Runner(experiment("asyncio"), Selection(), make_lab)
    fast(runner.run())
    (figure,) = runner.figures()
    assert (figure.state, figure.reason) == (SKIPPED, "no page can be served")
    runner = prepare(experiment("asyncio"), FakeWorkers())
    monkeypatch.setattr(Lab, "step", lambda lab, now=None: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fast(runner.run())
    assert runner.finished


class FailingTasks(FakeLink):
    """A worker with seven failed tasks."""

    def tick(self):
        tick = super().tick()
        return replace(tick, created=tick.created + 7, failed=7) if tick.created else tick


def failing(engine):
    faults = [Fault(0.2, Error("a task failed: KeyError: 7", None, "Traceback"))]
    return (FailingTasks if engine.name == "uvloop" else FakeLink)(engine, None, faults)


@pytest.mark.parametrize(
    ("what", "links", "reason"),
    [
        (experiment, failing, "7 tasks failed: a task failed: KeyError: 7"),
        (experiment, FakeWorkers(faults={"uvloop": [Fault(0.6, Ended("killed by SIGKILL"))]}),
         "killed by SIGKILL"),
        (hold_experiment, ScriptedWorkers(uvloop=[Costs(most=300, limit="pid_max")]),
         "pid_max (65,530): 300 of 1,000 live"),
    ],
)  # fmt: skip
def test_a_failed_cell_has_a_reason_and_the_rest_runs(what, links, reason):
    runner = run(what("uvloop", "asyncio"), links, repeats=2)
    failed, done = runner.figures()
    assert (failed.state, failed.here, failed.runs, failed.reason) == (FAILED, None, (), reason)
    assert (done.state, len(done.runs)) == (DONE, 2)
    assert not runner.partial


# Progress and cancellation.


async def wait_until(condition, limit=60.0):
    """Wait for a condition, at most ``limit`` seconds of virtual time."""
    end = now() + limit
    while not condition():
        assert now() < end
        await asyncio.sleep(0.01)


def test_a_cancelled_run_keeps_its_results_and_is_partial():
    runner = prepare(experiment("asyncio", "uvloop", "threads"), FakeWorkers(), repeats=2)

    async def cancel():
        task = asyncio.get_running_loop().create_task(runner.run())
        second = list(runner.outcomes.values())[1]
        await wait_until(lambda: len(second.runs) == 1 and runner.lab.lanes[0].live)
        progress = runner.share, runner.seconds_left
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return progress

    share, left = fast(cancel())
    assert runner.finished
    assert runner.partial
    assert [figure.state.value for figure in runner.figures()] == ["done", "waiting", "waiting"]
    assert [len(figure.runs) for figure in runner.figures()] == [2, 1, 0]
    assert 0.4 < share < 0.6
    assert 3 < left < 9
    assert runner.lab.lanes[0].idle  # no worker is left


def test_a_second_cancel_kills_a_worker_that_does_not_respond():
    links = FakeWorkers(faults={"asyncio": [Fault(0.6, silence=1e6)]})
    runner = prepare(experiment("asyncio"), links)

    async def cancel_twice():
        task = asyncio.get_running_loop().create_task(runner.run())
        await wait_until(lambda: now() > 1)
        task.cancel()
        cancelled = now()
        await asyncio.sleep(0.1)
        assert not runner.lab.lanes[0].idle
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert now() < cancelled + CLOSE_LIMIT / 2

    fast(cancel_twice())
    assert runner.lab.lanes[0].idle


def test_the_share_grows_to_1_and_the_time_left_falls_to_0():
    runner = prepare(experiment("asyncio", "threads"), FakeWorkers(), repeats=2)
    shares, left = [], []

    async def observe():
        task = asyncio.get_running_loop().create_task(runner.run())
        while not task.done():
            shares.append(runner.share)
            left.append(runner.seconds_left)
            await asyncio.sleep(0.25)

    fast(observe())
    assert shares[0] < 0.1
    assert (runner.share, runner.seconds_left) == (1.0, 0.0)
    assert left[0] > left[len(left) // 2] > left[-1]
    assert left[1] > left[2]  # also within a run
