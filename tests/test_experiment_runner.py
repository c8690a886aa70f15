"""The runner by fake workers with scripted figures, on an event loop whose time jumps instead of passing."""

import asyncio
import importlib.util
import selectors
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from concwatch.experiments.loading import decode
from concwatch.experiments.runner import CellState, Choice, Runner
from concwatch.lab.lab import CLOSE_LIMIT, Lab
from concwatch.links.link import Ended
from concwatch.links.messages import Error
from concwatch.measure.measured import Measured
from concwatch.system.memory import Memory
from concwatch.system.walls import Wall
from tests.fake import Costs, FakeLink, FakeWorkers, Fault

GIB = 1 << 30


class FastLoop(asyncio.SelectorEventLoop):
    """An event loop on which nothing but its own timers happens, so that it need not wait for them."""

    def __init__(self):
        self.now = 0.0
        super().__init__(Jumping(self))

    def time(self):
        return self.now


class Jumping(selectors.DefaultSelector):
    def __init__(self, loop):
        super().__init__()
        self._loop = loop

    def select(self, timeout=None):
        assert timeout is not None, "everything waits for ever"
        self._loop.now += max(0.0, timeout)
        return super().select(0)


def fast(work):
    """Run a coroutine in no time."""
    with asyncio.Runner(loop_factory=FastLoop) as runner:
        return runner.run(work)


class Scripted:
    """Opens fake links; each start of an engine takes the next of its costs, the last for ever."""

    def __init__(self, **costs):
        self._costs = {name: list(each) for name, each in costs.items()}
        self.starts = []
        self.links = []

    def __call__(self, engine):
        self.starts.append(engine.name)
        costs = self._costs.get(engine.name, [])
        self.links.append(FakeLink(engine, costs.pop(0) if len(costs) > 1 else next(iter(costs), None)))
        return self.links[-1]


TABLE = """
name = "toy"
title = "A toy"
about = "a"
method = "m"
[[table]]
title = "{reading}"
reading = "{reading}"
unit = "{unit}"
workload = "{workload}"
action = "{action}"
sizes = {sizes}
trace = {trace}
{read_after}
series = [{series}]
"""


def experiment(*series, reading="create_rate_cpu", unit="tasks/s", sizes=(1000,), workload="sleep:1", **how):
    """Read an experiment of one table; a series is an engine's name, or the inside of a table."""
    rows = [each if "=" in each else f'engine = "{each}"' for each in series]
    text = TABLE.format(
        reading=reading,
        unit=unit,
        sizes=list(sizes),
        workload=workload,
        action=how.get("action", "burst"),
        trace="true" if how.get("trace") else "false",
        read_after=f"read_after = {how['read_after']}" if "read_after" in how else "",
        series=", ".join(f"{{ {row} }}" for row in rows),
    )
    return decode(text.encode(), "toy.toml")


def prepare(what, links, *, budget=None, walls=(), **choice):
    """Return a runner whose labs are all arithmetic, on the running loop's clock."""

    def make_lab(engines, settings):
        return Lab(
            engines,
            settings=settings,
            budget=budget,
            open_link=links,
            clock=lambda: asyncio.get_running_loop().time(),
            memory=lambda: Memory(16 * GIB, 12 * GIB, "memory"),
            walls=lambda: walls,
        )

    return Runner(what, Choice(**choice), make_lab)


def run(what, links=None, **how):
    """Run to the end, and give the runner."""
    runner = prepare(what, links or FakeWorkers(), **how)
    fast(runner.run())
    assert runner.over
    return runner


def rates(*values):
    return [Costs(create_rate=value) for value in values]


# What is measured.


def test_median_and_spread_are_over_all_repeats():
    links = Scripted(asyncio=rates(100_000, 104_000, 98_000))
    (figure,) = run(experiment("asyncio"), links).figures()
    assert figure.state is CellState.DONE
    assert figure.runs == pytest.approx((100_000, 104_000, 98_000))
    assert figure.here == pytest.approx(100_000)
    assert figure.spread == pytest.approx(0.06)
    assert not figure.unsteady
    assert links.starts == ["asyncio"] * 3  # a fresh worker each


@pytest.mark.parametrize(("highest", "unsteady"), [(109_900, False), (110_100, True)])
def test_a_spread_over_ten_percent_is_marked(highest, unsteady):
    links = Scripted(asyncio=rates(100_000, highest, 100_000))
    (figure,) = run(experiment("asyncio"), links).figures()
    assert figure.unsteady is unsteady


def test_nothing_is_discarded_however_far_out_it_is():
    links = Scripted(asyncio=rates(100_000, 1_000, 100_000))
    runner = run(experiment("asyncio"), links)
    (outcome,) = runner.outcomes.values()
    measured = Measured.of_runs(outcome.runs, "create_rate_cpu")
    assert measured.values == pytest.approx((100_000, 1_000, 100_000))
    assert measured.median == pytest.approx(100_000)


def test_a_single_run_has_no_spread():
    (figure,) = run(experiment("asyncio"), quick=True).figures()
    assert (len(figure.runs), figure.spread, figure.unsteady) == (1, None, False)


def test_the_figure_is_held_against_the_published_one_in_its_unit():
    what = experiment(
        'engine = "asyncio", published = { 1000 = 2048 }',
        reading="traced_added",
        unit="KiB",
        workload="ticks:10x0.1",
        trace=True,
        read_after=0.5,
    )
    (figure,) = run(what).figures()
    assert figure.here == pytest.approx(1_400 * 1_000 / 1_024)
    assert figure.ratio == pytest.approx(figure.here / 2_048)


def test_what_is_held_is_read_from_outside():
    what = experiment("asyncio", reading="rss_per_task", unit="B", action="hold", workload="hold")
    (figure,) = run(what, repeats=1).figures()
    assert figure.here == pytest.approx(1_260, rel=0.01)


def test_two_tables_that_read_the_same_cell_share_its_runs():
    text = b"""
        name = "toy"
        title = "A toy"
        about = "a"
        method = "m"
        [[table]]
        title = "one"
        reading = "create_rate_cpu"
        unit = "tasks/s"
        sizes = [10]
        series = [{ engine = "asyncio" }]
        [[table]]
        title = "two"
        reading = "burst_seconds"
        unit = "ms"
        sizes = [10]
        series = [{ engine = "asyncio" }]
    """
    links = Scripted()
    one, two = run(decode(text, "toy.toml"), links, repeats=2).figures()
    assert one.entry.cell == two.entry.cell
    assert links.starts == ["asyncio"] * 2
    assert two.here == pytest.approx(10_000, rel=0.01)


def test_sizes_repeats_and_the_quick_look_are_the_callers_choice():
    what = experiment("asyncio", sizes=(10, 100, 1000))
    assert [figure.entry.size for figure in run(what, quick=True).figures()] == [10]
    links = Scripted()
    assert [figure.entry.size for figure in run(what, links, sizes=(5, 7), repeats=4).figures()] == [5, 7]
    assert len(links.starts) == 8


# What is not.


def test_what_the_memory_budget_cannot_hold_is_skipped_and_never_started():
    links = Scripted()
    runner = run(experiment("asyncio", sizes=(1000, 100_000)), links, budget=100 << 20, repeats=1)
    small, large = runner.figures()
    assert (small.state, large.state) == (CellState.DONE, CellState.SKIPPED)
    assert large.reason == "needs about 164 MiB, the memory budget is 100 MiB"
    assert large.here is None
    assert len(links.starts) == 1
    assert not runner.partial  # it has been tried, and cannot be had


def test_what_a_wall_on_threads_cannot_hold_is_skipped_with_the_wall():
    links = Scripted()
    walls = (Wall("pid_max", 32_768, 32_000),)
    runner = run(experiment("threads", "asyncio", sizes=(700, 1000)), links, walls=walls, repeats=1)
    assert [figure.state.value for figure in runner.figures()] == ["done", "skipped", "done", "done"]
    assert runner.figures()[1].reason == "this machine holds 768 threads, then pid_max is in the way"
    assert links.starts == ["threads", "asyncio", "asyncio"]


def test_an_engine_that_is_not_installed_is_skipped_with_what_to_install(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "uvloop" else real(name, *rest)
    )
    missing, there = run(experiment("uvloop", "asyncio"), repeats=1).figures()
    assert (missing.state, there.state) == (CellState.SKIPPED, CellState.DONE)
    assert missing.reason == "needs uvloop: pip install uvloop"


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        ("asyncio@9.9t", "needs Python 9.9t: uv python install 9.9t, or pyenv install 9.9t"),
        ("asyncio@/nowhere/python", '"/nowhere/python": no such Python: expected a path'),
        ("java-virtual@99", "needs java 99"),
    ],
)
def test_a_variant_whose_runtime_is_not_here_is_skipped_with_how_to_get_it(engine, reason):
    missing, there = run(experiment(engine, "asyncio"), repeats=1).figures()
    assert (missing.state, there.state) == (CellState.SKIPPED, CellState.DONE)
    assert missing.reason.startswith(reason)
    assert len(missing.reason.splitlines()) == 1


def test_a_worker_has_the_variables_of_its_series():
    seen = []
    links = FakeWorkers()

    def open_link(engine):
        seen.append(engine.environment)
        return links(engine)

    what = experiment("asyncio", 'engine = "asyncio", label = "other", environment = { B = "2", A = "1" }')
    plain, other = run(what, open_link, repeats=1).figures()
    assert (plain.state, other.state) == (CellState.DONE, CellState.DONE)
    assert plain.entry.cell != other.entry.cell
    assert seen == [(), (("A", "1"), ("B", "2"))]


def test_an_engine_that_there_is_none_of_stands_with_what_was_published():
    what = experiment('engine = "smalltalk", optional = true, published = { 1000 = 77.5 }', "asyncio")
    absent, there = run(what, repeats=1).figures()
    assert (absent.state, absent.entry.published, absent.here) == (CellState.ABSENT, 77.5, None)
    assert there.state is CellState.DONE


def test_a_lab_that_cannot_be_made_skips_its_cell():
    def make_lab(engines, settings):
        raise ValueError("no page can be served")

    runner = Runner(experiment("asyncio"), Choice(), make_lab)
    fast(runner.run())
    (figure,) = runner.figures()
    assert (figure.state, figure.reason) == (CellState.SKIPPED, "no page can be served")


def test_a_wall_that_is_hit_fails_the_cell_with_its_name():
    links = Scripted(asyncio=[Costs(most=300, wall="pid_max")])
    what = experiment("asyncio", reading="rss", unit="MB", action="hold", workload="hold")
    (figure,) = run(what, links).figures()
    assert (figure.state, figure.here) == (CellState.FAILED, None)
    assert figure.reason == "pid_max (65,530): 300 of 1,000 live"


class Failing(FakeLink):
    """A worker of whose tasks seven fail."""

    def _tick(self):
        tick = super()._tick()
        return replace(tick, created=tick.created + 7, failed=7) if tick.created else tick


def test_failed_tasks_fail_the_cell_with_the_first_reason():
    def links(engine):
        faults = [Fault(0.2, Error("a task failed: KeyError: 7", None, "Traceback"))]
        return (Failing if engine.name == "uvloop" else FakeLink)(engine, None, faults)

    failed, done = run(experiment("uvloop", "asyncio"), links, repeats=1).figures()
    assert (failed.state, done.state) == (CellState.FAILED, CellState.DONE)
    assert failed.reason == "7 tasks failed: a task failed: KeyError: 7"


def test_a_worker_that_is_killed_fails_its_cell_while_the_rest_runs():
    faults = {"uvloop": [Fault(0.6, Ended("killed by SIGKILL"))]}
    runner = run(experiment("uvloop", "asyncio"), FakeWorkers(faults=faults), repeats=2)
    killed, done = runner.figures()
    assert (killed.state, killed.reason, killed.runs) == (CellState.FAILED, "killed by SIGKILL", ())
    assert (done.state, len(done.runs)) == (CellState.DONE, 2)
    assert not runner.partial


def test_runs_before_a_failure_are_kept():
    links = Scripted(asyncio=[Costs(), Costs(most=3)])
    what = experiment("asyncio", reading="rss", unit="MB", action="hold", workload="hold")
    (figure,) = run(what, links).figures()
    assert (figure.state, len(figure.runs)) == (CellState.FAILED, 1)


# How far it is, and how it is stopped.


async def reaches(condition, limit=60.0):
    """Wait until ``condition()``, for so many seconds of the fast loop at most."""
    end = asyncio.get_running_loop().time() + limit
    while not condition():
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.01)


def test_cancelled_it_keeps_what_was_measured_and_is_partial():
    runner = prepare(experiment("asyncio", "uvloop", "threads"), FakeWorkers(), repeats=2)
    seen = SimpleNamespace()

    async def stopped():
        task = asyncio.get_running_loop().create_task(runner.run())
        second = list(runner.outcomes.values())[1]
        await reaches(lambda: len(second.runs) == 1 and runner.lab.lanes[0].live)
        seen.share, seen.left, seen.lab = runner.share, runner.seconds_left, runner.lab
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    fast(stopped())
    assert runner.over
    assert runner.partial
    assert [figure.state.value for figure in runner.figures()] == ["done", "waiting", "waiting"]
    assert [len(figure.runs) for figure in runner.figures()] == [2, 1, 0]
    assert 0.4 < seen.share < 0.6
    assert 3 < seen.left < 9
    assert seen.lab.lanes[0].idle  # no worker is left


def test_cancelled_again_while_a_deaf_worker_is_waited_for_it_kills_and_ends():
    links = FakeWorkers(faults={"asyncio": [Fault(0.6, silence=1e6)]})
    runner = prepare(experiment("asyncio"), links)

    async def stopped():
        loop = asyncio.get_running_loop()
        task = loop.create_task(runner.run())
        await reaches(lambda: loop.time() > 1)
        task.cancel()
        asked = loop.time()
        await asyncio.sleep(0.1)
        assert not runner.lab.lanes[0].idle
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert loop.time() < asked + CLOSE_LIMIT / 2

    fast(stopped())
    assert runner.lab.lanes[0].idle


def test_the_share_grows_to_all_of_it_and_the_forecast_falls_to_nothing():
    runner = prepare(experiment("asyncio", "threads"), FakeWorkers(), repeats=2)
    shares, left = [], []

    async def watched():
        task = asyncio.get_running_loop().create_task(runner.run())
        while not task.done():
            shares.append(runner.share)
            left.append(runner.seconds_left)
            await asyncio.sleep(0.25)

    fast(watched())
    assert shares[0] < 0.1
    assert runner.share == 1.0
    assert runner.seconds_left == 0.0
    assert left[0] > left[len(left) // 2] > left[-1]
    assert left[1] > left[2]  # within a run as well


def test_a_lab_that_breaks_down_ends_the_run(monkeypatch):
    runner = prepare(experiment("asyncio"), FakeWorkers())
    monkeypatch.setattr(Lab, "step", lambda lab, now=None: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fast(runner.run())
    assert runner.over
