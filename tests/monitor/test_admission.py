"""Admission control: forecasts, growth within the budget, and the dialog for too many tasks."""

import contextlib
import sys

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from concwatch.commands.cli import main
from concwatch.monitor.lanes import forecast as forecasting
from concwatch.monitor.lanes.admission import LONGEST, SHORTEST, step_interval
from concwatch.monitor.lanes.forecast import (
    CONNECTION_BYTES,
    FILES_KEPT,
    MARGIN,
    OFFERED,
    Demand,
    Forecast,
    demand,
    forecast,
    limit_fits,
    task_demand,
    why_too_many,
)
from concwatch.monitor.lanes.servers import SERVERS, Server
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import Engine, find_engines
from concwatch.monitor.workers.cost import Cost
from concwatch.portable.machine.limits import SystemLimit
from concwatch.system.memory import BUDGET, Memory, memory_now
from concwatch.ui.dialogs.fit_dialog import FitDialog
from concwatch.ui.screens.monitor import MonitorScreen
from tests.fake_link import Costs, FakeWorkers
from tests.lab_driver import ENGINES, Bench, use_lab
from tests.screen import stage
from tests.worker_driver import running_lab, until

MIB, GIB = 1 << 20, 1 << 30
TOY = Engine("toy", "", 1_000, traced_factor=2.0)
QUEUE = Engine("queue", "", 1_000, queues=True)
LIMITS = (SystemLimit("vm.max_map_count", 65_530, 130), SystemLimit("pid_max", 4_194_304, 500))
STACKS = (SystemLimit("virtual memory (ulimit -v)", 16 * GIB, 8 * GIB, 8 * MIB),)


# Forecasts.


@pytest.mark.parametrize(
    ("engine", "settings", "tasks", "expected"),
    [
        (TOY, Settings(), 10, 10 * 1_000 * MARGIN),
        (TOY, Settings(trace=True), 10, 10 * 2_000 * MARGIN),
        (TOY, Settings("payload:4KiB"), 10, 10 * (1_000 * MARGIN + 4096)),
        (TOY, Settings("http"), 10, 10 * (1_000 * MARGIN + CONNECTION_BYTES["http"])),
        (TOY, Settings("connect:1s"), 10, 10 * (1_000 * MARGIN + CONNECTION_BYTES["connect"])),
        (QUEUE, Settings("payload:1MiB", threads=3), 2, 2 * (1_000 * MARGIN + MIB)),
        (QUEUE, Settings("payload:1MiB", threads=3), 100, 100 * 1_000 * MARGIN + 3 * MIB),
    ],
)
def test_the_demand_of_tasks_includes_margin_tracing_payload_and_connections(
    engine, settings, tasks, expected
):
    assert task_demand(engine, settings).added(tasks) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("engine", "settings", "clean", "measured"),
    [
        (TOY, Settings(), True, True),
        (TOY, Settings(), False, False),
        (TOY, Settings(trace=True), True, False),
        (QUEUE, Settings(), True, True),
        (QUEUE, Settings("payload:1KiB"), True, False),  # queued tasks do not hold it
    ],
)
def test_a_measured_cost_replaces_the_estimate_only_under_the_same_settings(
    engine, settings, clean, measured
):
    found = task_demand(
        engine, settings, Cost(2_000.0, 600.0, 300.0, 100.0, None, 500, tracing=False, clean=clean)
    )
    assert (found.measured, found.added(10) == 30_000) == (measured, measured)


def demand_of(name, workload="sleep:10", limits=LIMITS):
    return demand(ENGINES[name], Settings(workload), limits)


@pytest.mark.parametrize(
    ("tasks", "one", "room", "others", "bound", "fitting", "why"),
    [
        (1_000, demand_of("asyncio"), GIB, 0, BUDGET, 1_000, ""),
        (30_000, demand_of("asyncio"), 16 * GIB, 0, BUDGET, 30_000, ""),
        (
            1_000_000, demand_of("asyncio"), 300 * MIB, 0, BUDGET, 187_000,
            "needs about 1.43 GiB, the memory budget is 300 MiB",
        ),
        (
            1_000_000, demand_of("asyncio"), GIB, 100 * MIB, "memory", 605_000,
            "needs about 1.53 GiB with 100 MiB for the other lanes, workers may use 1 GiB of memory",
        ),
        (
            30_000, demand_of("threads"), 16 * GIB, 0, BUDGET, 21_800,
            "this machine can hold 21,800 threads, limited by vm.max_map_count",
        ),
        # A limit on the memory of threads does not depend on the budget.
        (
            30_000, demand_of("threads", limits=STACKS), 16 * GIB, 0, BUDGET, 1_020,
            "this machine can hold 1,020 threads, limited by virtual memory (ulimit -v)",
        ),
        # If tasks end as fast as they start, hardly any are live.
        (10_000_000, demand_of("threads", "nop"), 100 * MIB, 0, BUDGET, 10_000_000, ""),
        (
            10_000_000, demand_of("pool", "nop"), 100 * MIB, 0, BUDGET, 32_800,
            "needs about 22.9 GiB, the memory budget is 100 MiB",
        ),
    ],
)  # fmt: skip
def test_a_forecast_gives_how_many_tasks_fit_and_the_reason(tasks, one, room, others, bound, fitting, why):
    found = forecast(tasks, [one], room, others, bound)
    assert (found.fitting, found.fits, found.measured) == (fitting, not why, False)
    assert why in ("", found.why())


@pytest.mark.parametrize("workload", ["http", "connect", "connect:1s"])
def test_connections_are_limited_by_open_files(monkeypatch, workload):
    monkeypatch.setattr(forecasting, "most_files", lambda: 1_000)
    found = forecast(5_000, [demand(TOY, Settings(workload), ())], 100 * GIB)
    assert found.fitting == 1_000 - FILES_KEPT
    assert found.why() == f"this machine can hold {1_000 - FILES_KEPT} connections, limited by ulimit -n"
    assert limit_fits(QUEUE, Settings(workload), ()) == ()  # it has no more connections than threads


@given(
    tasks=st.integers(0, 10**9),
    each=st.floats(1, 1e7),
    held=st.floats(0, 1e9),
    begun=st.none() | st.integers(1, 1_000),
    room=st.integers(0, 1 << 40),
    others=st.integers(0, 1 << 40),
    limit=st.integers(0, 10**9),
)
def test_the_number_of_tasks_in_a_forecast_fits_and_is_close_to_the_maximum(
    tasks, each, held, begun, room, others, limit
):
    one = Demand(each, held, begun, limits=(Fit(limit, "pid_max"),))
    found = forecast(tasks, [one], room, others)
    assert 0 <= found.fitting <= min(tasks, limit)
    assert found.fits == (found.fitting == tasks)
    assert found.fitting == 0 or others + one.bytes(found.fitting) <= room
    if found.memory:
        assert others + one.bytes(int(found.fitting * 1.011) + 1) > room * OFFERED
    assert found.why()


# Forecasts of a lab.


def test_a_forecast_includes_the_targets_of_other_lanes():
    bench = Bench("asyncio", "uvloop", budget=1 * GIB)
    first, second = bench.lab.lanes
    capacity = bench.lab.fleet.local.capacity
    assert capacity.forecast(first, 500_000).fits
    bench.lab.set_target(second, 400_000)
    beside = capacity.forecast(first, 500_000)
    assert not beside.fits
    assert 400_000 * 1_570 < beside.others < 400_000 * 1_570 * 1.3
    bench.until(lambda: second.live == 400_000)
    bench.lab.switch(second, False)
    assert capacity.forecast(first, 500_000).others == 0


def test_a_forecast_uses_the_measured_cost_and_does_not_count_memory_twice():
    bench = Bench("asyncio", links=FakeWorkers(costs={"asyncio": Costs(task=5_000)}), budget=400 * MIB)
    (lane,), capacity = bench.lab.lanes, bench.lab.fleet.local.capacity
    bench.lab.set_target(lane, 50_000)
    bench.until(lambda: lane.live == 50_000)
    bench.pass_(2)
    found = capacity.forecast(lane, 100_000)
    assert found.measured
    assert found.need == pytest.approx(100_000 * 5_000 + (20 << 20), rel=0.01)
    bench.lab.set_target(lane, 0)
    bench.until(lambda: lane.live == 0)
    assert lane.worker.stats.rss > 100 * MIB
    assert capacity.forecast(lane, 50_000).need == pytest.approx(50_000 * 5_000 + (20 << 20), rel=0.01)


@pytest.mark.parametrize("name", ["asyncio", "threads"])
def test_as_many_tasks_as_offered_fit(name):
    bench = Bench(name, budget=300 * MIB)
    (lane,) = bench.lab.lanes
    bench.lab.set_target(lane, 1_000)
    bench.until(lambda: lane.live == 1_000)
    bench.pass_(2)
    offered = bench.lab.fleet.local.capacity.forecast(lane, 1_000_000).fitting
    grow(lane, bench, offered)
    assert (lane.live, lane.target.limit) == (offered, None)
    assert bench.lab.fleet.memory > 285 * MIB


# Growth within the budget.


def sent_targets(link):
    """Return the targets that a worker was sent."""
    return [fields["tasks"] for name, fields in link.sent if name == "target"]


def grow(lane, bench, tasks):
    """Set the target, step at its interval until growth ends, and return the highest RSS."""
    bench.lab.set_target(lane, tasks)
    most = 0
    for _ in range(10_000):
        bench.pass_(bench.lab.fleet.local.admission.interval, bench.lab.fleet.local.admission.interval)
        most = max(most, bench.lab.fleet.memory)
        if lane.target.reached or lane.target.limit:
            return most
    raise AssertionError(bench.texts())


def growing(budget=300 * MIB, **costs):
    """Return a bench with a running lane, the lane, and its worker, which creates 2 M tasks a second."""
    costs = {"asyncio": Costs(**({"create_rate": 2e6} | costs))}
    bench = Bench("asyncio", links=FakeWorkers(costs=costs), budget=budget, settings=Settings("hold"))
    (lane,) = bench.lab.lanes
    bench.lab.switch(lane, True)
    bench.until(lambda: lane.state is State.RUNNING)
    return bench, lane, bench.links.links["asyncio"]


def test_a_target_near_the_budget_is_sent_in_parts_and_a_smaller_one_at_once():
    bench, lane, link = growing()
    grow(lane, bench, 100_000)
    assert sent_targets(link) == [100_000]
    grow(lane, bench, 0)
    link.sent.clear()
    count = len(bench.texts())
    grow(lane, bench, 200_000)
    assert len(sent_targets(link)) > 1
    assert sent_targets(link) == sorted(sent_targets(link))
    reached = lane.target.reached
    assert lane.live == reached.created == reached.target == 200_000
    assert lane.target.limit is None
    (text,) = bench.texts()[count:]
    assert text.startswith("200,000 tasks live after ")
    assert lane.worker.status.create_rate == pytest.approx(200_000 / reached.seconds)
    grow(lane, bench, 100)
    assert (sent_targets(link)[-1], lane.target.reached.cancelled) == (100, 199_900)


class RareReadings:
    """The readings of a worker on another host, which are as old as 0.1 s."""

    def __init__(self, read, bench):
        self._read, self._bench = read, bench
        self._at, self._last = 0.0, None

    def __call__(self):
        if self._bench.now >= self._at + 0.1:
            self._at, self._last = self._bench.now, self._read()
        return self._last


@pytest.mark.parametrize("rare", [False, True], ids=["here", "on another host"])
@pytest.mark.parametrize("budget", [60 * MIB, 4 * GIB])
@pytest.mark.parametrize(
    ("workload", "task"), [("hold", 400), ("hold", 1_900), ("payload:64KiB", 1_260), ("app:job", 70_000)]
)
def test_fast_growth_of_tasks_of_any_size_never_exceeds_the_budget(budget, workload, task, rare, monkeypatch):
    bench, lane, link = growing(budget, task=task)
    if rare:
        monkeypatch.setattr(link, "reading", RareReadings(link.reading, bench))
        bench.pass_(0.3)
    bench.lab.settings.set_workload(workload)
    assert grow(lane, bench, 50_000_000) <= budget
    assert lane.target.limit.name == BUDGET
    assert lane.live == lane.target.tasks
    bench.pass_(3)
    assert 0.9 * budget < bench.lab.fleet.memory <= budget


# Memory of the machine.


class SimulatedMachine:
    """The memory of a machine, set by a test; counts the readings."""

    def __init__(self, left=10 * GIB, bound="memory"):
        self.left, self.bound = left, bound
        self.readings = 0

    def __call__(self):
        self.readings += 1
        return Memory(16 * GIB, self.left, self.bound)


def test_memory_used_by_other_programs_is_not_available_to_workers():
    machine = SimulatedMachine(12 * GIB, "cgroup memory")
    bench = Bench("asyncio", memory=machine)
    (lane,), capacity = bench.lab.lanes, bench.lab.fleet.local.capacity
    assert capacity.forecast(lane, 5_000_000).fits
    machine.left = 1 * GIB
    bench.pass_(1.5)
    found = capacity.forecast(lane, 5_000_000)
    assert found.limit == "cgroup memory"
    assert "workers may use 410 MiB of cgroup memory" in found.why()  # 1 GiB less 5 % of 12 GiB


def three_lanes(machine):
    """Return a bench whose lanes hold 100, 50,000 and 20,000 tasks."""
    bench = Bench("pool", "asyncio", "uvloop", memory=machine)
    for lane, tasks in zip(bench.lab.lanes, (100, 50_000, 20_000), strict=True):
        bench.lab.set_target(lane, tasks)
    bench.until(lambda: all(lane.live == lane.target.tasks > 0 for lane in bench.lab.lanes))
    bench.pass_(2)
    return bench


def test_at_95_percent_the_largest_lane_is_stopped_and_the_figures_are_logged():
    machine = SimulatedMachine()
    bench = three_lanes(machine)
    small, large, other = bench.lab.lanes
    machine.left = 600 * MIB
    bench.pass_(2)
    assert all(lane.on for lane in bench.lab.lanes)
    machine.left = 500 * MIB
    bench.until(lambda: not large.on, 1.5)
    machine.left = 900 * MIB
    bench.pass_(10)
    assert (small.on, large.state, other.on) == (True, State.FAILED, True)
    text = "memory: 500 MiB left of the 10 GiB available at the start, less than 5 %; the largest lane is "
    assert bench.texts()[-2] == f"{text}stopped"
    (error,) = bench.texts("error")
    assert error.startswith(
        "failed: stopped at 50,000 tasks, since 15.5 GiB of 16 GiB of the machine are used ("
    )
    assert error.endswith(" (80.1 MiB RSS, 80.5 KiB kernel)")
    bench.lab.set_target(large, 10)
    bench.until(lambda: large.live == 10)


def test_lanes_are_stopped_one_at_a_time_while_memory_stays_short(monkeypatch):
    machine = SimulatedMachine()
    bench = three_lanes(machine)
    small, large, other = bench.lab.lanes
    stopped = []

    def observe(snapshot):
        stopped.extend(lane for lane in bench.lab.lanes if not lane.on and lane not in stopped)

    bench.lab.observers.append(observe)
    monkeypatch.setattr(bench.links.links["asyncio"], "kill", lambda: None)
    machine.left = 100 * MIB
    bench.pass_(4)  # the largest lane gets time to end, but does not
    assert (stopped, large.idle) == ([large], False)
    bench.pass_(5)
    assert stopped == [large, other, small]
    count = len(bench.texts())
    bench.pass_(5)
    assert len(bench.texts()) == count  # no lane is left to stop


def test_memory_is_read_more_often_during_growth_and_when_little_is_left():
    assert step_interval(100 * GIB) == LONGEST
    assert SHORTEST < step_interval(400 * MIB) < LONGEST
    assert step_interval(0) == step_interval(-GIB) == SHORTEST
    machine = SimulatedMachine()
    bench = Bench("asyncio", memory=machine, budget=900 * MIB)
    bench.pass_(10)
    assert 9 <= machine.readings <= 12
    assert bench.lab.fleet.local.admission.interval == LONGEST
    (lane,) = bench.lab.lanes
    bench.lab.set_target(lane, 500_000)
    bench.until(lambda: lane.live > 0)
    assert bench.lab.fleet.local.admission.interval <= LONGEST
    before = machine.readings
    bench.pass_(2)
    assert machine.readings - before == 20


# The out-of-memory killer.


@pytest.mark.real
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="oom_score_adj exists on Linux only")
@pytest.mark.parametrize("word", SERVERS)
async def test_workers_and_servers_are_the_first_the_kernel_kills_without_memory(word):
    def score(pid):
        with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
            return int(file.read())

    own = score("self")
    with contextlib.closing(Server(word)) as server:
        async with running_lab(find_engines(["asyncio"])) as lab:
            lab.switch(lab.lanes[0], True)
            await until(lambda: lab.lanes[0].worker.stats.ready, "ready")
            assert score(lab.lanes[0].worker.stats.ready.pid) == score(server.pid) == 1000
            assert score("self") == own


# The command ``run``.


@pytest.mark.parametrize(
    ("engines", "tasks", "together", "budget", "expected"),
    [
        (["asyncio", "uvloop"], 1_000_000, False, None, None),
        (["threads"], 21_800, False, None, None),
        (["asyncio", "uvloop"], 400_000, False, GIB, None),
        (
            ["asyncio", "uvloop"], 400_000, True, GIB,
            "asyncio and uvloop: 400,000 tasks each do not fit (needs about 1.3 GiB, the memory budget is "
            "1 GiB). Ask for at most 294,000",
        ),
        (
            ["asyncio", "threads"], 30_000, False, None,
            "threads: 30,000 tasks do not fit (this machine can hold 21,800 threads, limited by vm.max_map_"
            "count). Ask for at most 21,800",
        ),
        (
            ["asyncio"], 20_000_000, False, 16 * GIB,
            "asyncio: 20,000,000 tasks do not fit (needs about 28.2 GiB, workers may use 11.4 GiB of memory)"
            ". Ask for at most 7,830,000",
        ),
    ],
)  # fmt: skip
def test_a_run_is_rejected_if_its_simultaneous_tasks_do_not_fit(engines, tasks, together, budget, expected):
    rows, machine = find_engines(engines), SimulatedMachine(12 * GIB)
    assert why_too_many(rows, Settings(), tasks, together, budget, machine, lambda: LIMITS) == expected


@pytest.mark.parametrize(
    ("tasks", "budget", "expected"),
    [
        (
            "1M",
            "300MiB",
            "asyncio: 1,000,000 tasks do not fit (needs about 1.43 GiB, the memory budget is 300 MiB",
        ),
        ("1M", "300MiB", "Ask for at most 187,000, or use --force to start as many as fit"),
        *(
            ("5", text, "expected a positive number of bytes")
            for text in ("0", "-5MB", "0%", "101%", "2XB", "", "nan", "1e3", "60 percent")
        ),
        ("5", str(2 * memory_now().total), "is more memory than this machine has ("),
    ],
)
def test_run_rejects_an_invalid_or_exceeded_budget_in_one_line(monkeypatch, tasks, budget, expected):
    monkeypatch.setattr("concwatch.commands.measuring.measuring_session.create_lab", None)
    use_lab(monkeypatch)  # so that no trial is run
    result = CliRunner().invoke(main, ["run", "asyncio", "--tasks", tasks, f"--max-memory={budget}"])
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert expected in line


# The dialog.


def dialog_open(s):
    return isinstance(s.app.screen, FitDialog)


async def test_a_target_beyond_the_budget_must_be_confirmed_and_can_be_cancelled():
    async with stage(budget=300 * MIB) as s:
        for keys in [("escape",), ("down", "down", "enter"), ("end", "enter")]:
            await s.press("3", "end", *keys)
            assert not dialog_open(s)
            lane = s.lane("asyncio")
            assert (lane.state, lane.target.tasks, s.slider("asyncio").value) == (State.OFF, 0, 0)
        await s.drag("asyncio", 1_000_000, via=(500_000,))
        assert not dialog_open(s)
        await s.drop("asyncio", 1_000_000)
        assert dialog_open(s)
        await s.press("escape")
        assert s.slider("asyncio").value == 0
        await s.press("3", "plus")
        assert (dialog_open(s), s.lane("asyncio").target.tasks) == (False, 10_000)
        await s.run(2)
        await s.press("end")
        assert dialog_open(s)
        await s.sees(
            "asyncio: 1,000,000 tasks will not fit", "the memory budget is 300 MiB", "as many as fit"
        )
        await s.sees("growth stops at the limit; no task ends", "the target stays at 10,000")
        assert (s.slider("asyncio").value, s.lane("asyncio").target.tasks) == (10_000, 10_000)
        await s.press("enter")
        assert isinstance(s.app.screen, MonitorScreen)
        assert (
            220_000 < s.lane("asyncio").target.tasks < 300 * MIB / 1_260
        )  # the measured cost, without a margin


async def test_rapid_keys_open_one_dialog_and_starting_all_grows_up_to_the_budget():
    async with stage(budget=100 * MIB) as s:
        s.app.simulate_key("3")
        for _ in range(12):
            s.app.simulate_key("plus")
        await s.settle()
        assert [type(screen) for screen in s.app.screen_stack].count(FitDialog) == 1
        await s.press("escape", "end", "down", "enter")
        lane = s.lane("asyncio")
        assert lane.target.tasks == 1_000_000
        await s.run(5)
        assert (lane.target.limit.name, lane.on) == (BUDGET, True)
        target = lane.target.tasks
        await s.press("minus")
        assert (dialog_open(s), lane.target.tasks) == (False, target - 10_000)


async def test_a_typed_target_must_be_confirmed_and_zero_fitting_tasks_are_not_offered():
    async with stage() as s:
        await s.press("1", "enter")
        await s.enter("30000")
        await s.press("enter")
        await s.sees("threads: 30,000 tasks will not fit", "This machine can hold 21,800 threads, limited by")
        assert "Not measured" not in s.text()
        await s.press("enter")
        assert s.lane("threads").target.tasks == 21_800
        found = Forecast(2_000, 900, "memory", 3 * MIB, 2 * MIB, bound="memory")
        answers = []
        s.app.push_screen(FitDialog("asyncio", found, 1_000), answers.append)
        await s.sees("start 2,000 the lane is stopped at 95 % of the memory", "cancel")
        assert "as many as fit" not in s.text()
        await s.press("enter")
        assert answers == [None]


@pytest.mark.parametrize("size", [(80, 24), (20, 5)])
async def test_the_dialog_can_be_answered_at_every_screen_size(size):
    async with stage(size, budget=100 * MIB) as s:
        await s.press("3", "end")
        assert dialog_open(s)
        if size >= (80, 24):
            await s.sees("will not fit", "as many as fit", "cancel")
        await s.press("enter")
        assert 0 < s.lane("asyncio").target.tasks < 100_000
