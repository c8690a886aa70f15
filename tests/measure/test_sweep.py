"""A sweep: the law, how many tasks are enough, the numbers of tasks, and the throughput of a step."""

import math
import random
import re

import pytest

from concwatch.links.link import Ended
from concwatch.measure.measurement import while_stepping
from concwatch.measure.sweep.engine_sweep import HZ, EngineSweep
from concwatch.measure.sweep.knee import find_knee, fit_law, more_is_slower
from concwatch.measure.sweep.ladder import finer, sizes
from concwatch.measure.sweep.law import Law, Point, fit
from concwatch.measure.sweep.repeats import merge
from concwatch.measure.sweep.sweep_result import POOL_THREADS, Step, SweepResult
from concwatch.measure.sweep.throughput import throughput
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import find_engines
from tests.fake_link import Costs, FakeWorkers, Fault
from tests.virtual_time import fast, now

SIZES = sizes(1, 1_000)


def curve(function, tasks=SIZES, noise=0.01):
    """Return points of a function of the number of tasks, with random errors."""
    draw = random.Random(7)
    return [Point(n, function(n) * draw.gauss(1, noise), noise * function(n)) for n in tasks]


def densified(function):
    """Return the points that a sweep would measure."""
    points, added = curve(function), 0
    while (more := finer(points, added)) is not None:
        added += 1
        points = sorted([*points, *curve(function, [more])], key=lambda point: point.tasks)
    return points


def closed_network(others, service):
    """Return the throughput of tasks that share a server, by mean value analysis."""

    def rate(tasks):
        queue = found = 0.0
        for number in range(1, tasks + 1):
            response = service * (1 + queue)
            found = number / (others + response)
            queue = found * response
        return found

    return rate


@pytest.mark.parametrize(
    ("rate", "contention", "crosstalk"), [(50, 0.05, 0), (50, 0.05, 1e-4), (200, 0.02, 1e-3), (10, 0.5, 0)]
)
def test_the_law_is_found_again(rate, contention, crosstalk):
    true = Law(rate, contention, crosstalk)
    found = fit(curve(true.throughput))
    assert found.bend == 1
    assert found.rate == pytest.approx(rate, rel=0.03)
    assert found.contention == pytest.approx(contention, rel=0.05)
    assert found.crosstalk == pytest.approx(crosstalk, rel=0.05, abs=1e-6)
    if crosstalk:
        assert found.peak == pytest.approx(math.sqrt((1 - contention) / crosstalk), rel=0.05)


@pytest.mark.parametrize(
    ("function", "contention"),
    [
        (lambda n: min(10 * n, 500), 0.02),  # a semaphore of 50 around 0.1 s
        (lambda n: min(10 * n, 80), 0.125),  # 8 threads
        (lambda n: min(50 * n, 1_000), 0.05),  # a lock held for 1 ms of 20
        (closed_network(0.019, 0.001), 0.05),  # the same at random times
    ],
)
def test_contention_is_found_of_curves_with_a_sharper_bend(function, contention):
    assert fit(curve(function)).contention == pytest.approx(contention, rel=0.1)


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (lambda n: min(10 * n, 500), 45, 55),
        (lambda n: min(10 * n, 80), 7, 9),
        (lambda n: min(50 * n, 1_000), 18, 22),
        (lambda n: 500.0, 1, 1),
        (lambda n: min(500 * n, 1_000), 2, 2),
        (lambda n: 500 / (1 + 0.0005 * n), 1, 1),
        (lambda n: 300.0 if n < 100 else 290.0, 1, 1),
    ],
)
def test_the_fewest_tasks_with_enough_throughput(function, low, high):
    knee = find_knee(densified(function))
    assert low <= knee.tasks.value <= high
    assert knee.tasks.low <= knee.tasks.value <= knee.tasks.high
    assert knee.best.value == pytest.approx(max(map(function, SIZES)), rel=0.03)


def test_nothing_is_enough_while_throughput_rises():
    assert find_knee(curve(lambda n: 3.0 * n)) is None
    assert find_knee(curve(lambda n: 3.0 * n**0.5)) is None


def test_more_is_slower_only_beyond_the_errors():
    slowing = densified(lambda n: n / (0.1 * (1 + (n / 100) ** 2)))
    assert more_is_slower(slowing)
    assert fit_law(slowing).peak.value == pytest.approx(100, rel=0.15)
    assert not more_is_slower(curve(lambda n: min(10 * n, 500), noise=0.05))
    assert fit_law(curve(lambda n: min(10 * n, 500))).peak is None


def test_a_sharp_peak_is_at_a_step():
    def slowing(n):  # a lock whose holder is slower with each task that waits
        held = 0.001 * (1 + 0.01 * n)
        return min(n / (0.02 + held), 1 / held)

    assert fit_law(densified(slowing)).peak.value == pytest.approx(18, rel=0.15)


def test_no_law_is_fitted_where_none_fits():
    assert fit(curve(lambda n: 100.0 if n < 8 or n > 64 else 300.0)) is None
    assert fit(curve(lambda n: 10.0 * n, [1, 2, 4])) is None


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(1, 1, [1]), (5, 7, [5, 7]), (10, 100, [10, 20, 40, 80, 100]), (1, 16, [1, 2, 4, 8, 16])],
)
def test_numbers_of_tasks(first, last, expected):
    assert sizes(first, last) == expected


def ticks(ended, seconds=3.0, hz=HZ):
    """Return the counts of each tick, given a function of the time."""
    return [(number / hz, ended(number / hz)) for number in range(int(seconds * hz) + 1)]


@pytest.mark.parametrize(
    ("tasks", "ended", "rate", "most"),
    [
        (50, lambda time: int(500 * time), 500, 0.02),
        (100, lambda time: 100 * int(time + 0.31), 100, 0.05),  # all tasks at once, three times
        (1, lambda time: int(10 * time + 0.5), 10, 0.03),  # one task
        (32, lambda time: 32 * int(10.03 * time), 321, 0.02),  # waves about as often as ticks
        # Waves that take a third of the time.
        (900, lambda time: 900 * int(time) + min(900, int(2_700 * (time % 1))), 900, 0.03),
        # Two waves at different times.
        (20, lambda time: 10 * int(time + 0.5) + 10 * int(time + 0.4), 20, 0.05),
    ],
)
def test_throughput_of_waves(tasks, ended, rate, most):
    found, interval = throughput(ticks(ended), tasks)
    assert found == pytest.approx(rate, rel=most)
    assert abs(found - rate) <= interval <= 3 * most * rate


def test_the_interval_of_random_ends_covers_their_rate():
    draw, covered = random.Random(3), 0
    for _ in range(200):
        total, counts = 0, []
        for number in range(76):
            counts.append((number / HZ, total))
            total += sum(draw.random() < 0.04 for _ in range(200))  # 200/s
        found, interval = throughput(counts, 20)
        covered += abs(found - 200) <= interval
    assert covered >= 170


@pytest.mark.parametrize("tasks", [50, 54, 64, 100, 128, 200, 256, 512])
def test_waves_of_a_semaphore_do_not_spoil_the_throughput(tasks):
    """Fifty end every 0.1 s, which is no multiple of a tick, and no divisor of a generation."""
    draw = random.Random(tasks)
    for _ in range(20):
        begin = draw.random()

        def ended(time, begin=begin):
            return 50 * int((time + begin) / 0.1008)

        found, interval = throughput(ticks(ended, max(3.0, 3 * tasks / 496)), tasks)
        assert found == pytest.approx(496, rel=0.01)
        assert abs(found - 496) <= interval <= 0.04 * 496


def test_the_knee_of_a_noisy_plateau_is_not_at_its_end():
    draw = random.Random(5)
    for _ in range(50):
        error = {number: 0.004 if number < 50 else draw.choice((0.005, 0.01)) for number in [*SIZES, 45, 54]}
        points = [
            Point(number, min(10.0 * number, 500.0) * draw.gauss(1, each), each * min(10 * number, 500))
            for number, each in sorted(error.items())
        ]
        knee = find_knee(points)
        assert 45 <= knee.tasks.low <= knee.tasks.value <= knee.tasks.high <= 64
        assert knee.best.value == pytest.approx(500, rel=0.02)
        assert knee.best.low <= knee.best.value <= knee.best.high


def step(tasks, rate, interval=1.0):
    return Step(tasks, rate, interval, 0.1, 0.2, None, None, 3.0)


def test_the_interval_of_repeats_has_the_spread_between_them():
    def result(*factors):
        steps = [
            step(tasks, 10.0 * tasks * factor) for tasks, factor in zip((8, 16, 32), factors, strict=True)
        ]
        return SweepResult("asyncio", steps=steps)

    alike = merge([result(1, 1, 1), result(1, 1, 1), result(1, 1, 1)])
    assert [each.throughput for each in alike.steps] == [80, 160, 320]
    assert alike.steps[0].interval == pytest.approx(1 / 3**0.5)
    spread = merge([result(0.9, 1.1, 1), result(1.1, 1, 0.9), result(1, 0.9, 1.1)])
    # Six degrees of freedom, and a standard deviation of a tenth.
    assert spread.steps[2].interval == pytest.approx(2.447 * 0.1 * 320 / 3**0.5)
    assert spread.steps[0].seconds == 9


def test_repeats_that_ended_early_count_where_they_have_steps():
    first = SweepResult("asyncio", steps=[step(1, 10.0), step(2, 20.0)], runtime="CPython 3.11.7")
    second = SweepResult("asyncio", steps=[step(1, 10.0)], ended_by="3 tasks failed", failed=True)
    both = merge([first, second])
    assert [(each.tasks, each.throughput) for each in both.steps] == [(1, 10), (2, 20)]
    assert (both.ended_by, both.failed, both.runtime) == ("3 tasks failed", True, "CPython 3.11.7")
    assert merge([first]) is first


def test_throughput_is_unknown_without_ends():
    assert throughput([], 1) is None
    assert throughput(ticks(lambda time: 0), 1) is None
    assert throughput(ticks(lambda time: int(time > 1)), 1) is None


def swept(costs, last=200, workload="sleep:2", faults=()):
    """Return the result of a sweep of a fake worker."""
    return swept_lab(costs, last, workload, faults)[1]


def swept_lab(costs, last=200, workload="sleep:2", faults=()):
    """Return the lab of a sweep, and its result."""

    async def run():
        workers = FakeWorkers({"asyncio": costs}, {"asyncio": list(faults)})
        lab = Lab(find_engines(["asyncio"]), settings=Settings(workload), open_link=workers, clock=now, hz=HZ)
        return lab, await while_stepping(lab, EngineSweep(lab, lab.lanes[0], 1, last, 3.0).run())

    return fast(run())


def test_a_sweep_finds_how_many_are_served_at_once():
    result = swept(Costs(served=50))
    assert 45 <= result.knee.tasks.low <= result.knee.tasks.value <= result.knee.tasks.high <= 60
    assert result.knee.best.value == pytest.approx(25, rel=0.03)
    assert result.steps[-1].duration_p50 == pytest.approx(8, rel=0.1)
    assert result.ended_by == ""
    assert not result.failed
    assert "at once are enough" in result.sentence()
    found = result.as_json()
    assert found["knee"]["tasks"] == result.knee.tasks.value
    assert [step["tasks"] for step in found["steps"]] == sorted(
        {*sizes(1, 200), *(s.tasks for s in result.steps)}
    )


def test_each_step_and_what_was_found_are_events():
    lab, result = swept_lab(Costs(served=8), last=32)
    texts = [event.text for event in lab.events.since(0) if event.lane == "asyncio"]
    for each in result.steps:
        assert each.text() in texts
    assert any(text.startswith("8 at once are enough: ") for text in texts)
    assert Step(1, 0.5, 0.1, 2.0, 2.1, None, None, 3.0).text() == "1 task: 0.5/s ± 20 %, p99 2.1 s"
    assert (
        Step(2_000, 500.0, 1.0, 4.0, None, None, None, 3.0).text(POOL_THREADS) == "2,000 pool threads: 500/s"
    )


def test_a_sweep_of_tasks_that_wait_for_nothing_finds_no_end():
    result = swept(Costs())
    assert result.knee is None
    assert "throughput rises up to 200 tasks" in result.sentence()


def test_a_sweep_ends_at_a_limit_and_names_it():
    result = swept(Costs(most=100, limit="ulimit -n"))
    assert [step.tasks for step in result.steps][-1] <= 100
    assert "ulimit -n" in result.ended_by


def test_a_sweep_ends_where_tasks_fail_and_names_how():
    result = swept(Costs(refused=100))
    most = max(step.tasks for step in result.steps)
    ending = r"\d+ tasks failed with (\d+) tasks: ConnectionRefusedError at app/jobs.py:12: \d+ times"
    found = re.fullmatch(ending, result.ended_by)
    assert 80 <= most <= 100 < int(found[1]) <= 125, "between two steps that are near each other"
    (failure,) = result.as_json()["failures"]
    assert (failure["type"], failure["where"]) == ("ConnectionRefusedError", "/app/jobs.py:12")
    assert failure["count"] > 0


def test_a_sweep_is_denser_below_the_fewest_tasks_that_fail():
    points = curve(lambda n: 3.0 * n, [1, 2, 4, 8, 16, 32, 64])
    assert finer(points, 0) is None
    assert finer(points, 0, 128) == 91
    assert finer(points, 1, 91) == 76
    assert finer(points, 2, 76) is None, "near enough"
    assert finer(points, 0, 16) == 11, "tasks fail that did not before"
    bending = curve(lambda n: min(10 * n, 500), [1, 2, 4, 8, 16, 32, 64, 128])
    assert finer(bending, 0, 40) is None, "no more above those that fail"


def test_steps_at_which_more_tasks_only_wait_are_short():
    long = swept(Costs(served=4), 1_000, "sleep:0.1")
    found = {step.tasks: step for step in long.steps}
    assert found[1_000].throughput == pytest.approx(40, rel=0.05)
    assert found[1_000].seconds < 5, "25 s is how long all of them take to end once"
    assert found[1_000].duration_p99 is None
    assert found[64].duration_p99 == pytest.approx(1.6, rel=0.1)
    assert 3 <= long.knee.tasks.value <= 5


def test_the_knee_is_measured_where_durations_differ_around_it():
    def result_of(p99):
        result = SweepResult("asyncio")
        for point in curve(lambda n: min(10 * n, 500), [8, 16, 32, 45, 54, 64, 128], 0.001):
            timed = {"duration_p50": 0.1, "duration_p99": p99(point.tasks)}
            others = {"cpu": None, "memory_per_task": None, "seconds": 3.0}
            result.add(Step(point.tasks, point.throughput, 2 * point.error, **timed, **others))
        return result

    apart = result_of(lambda n: 0.1 if n <= 50 else 0.2)
    assert apart.unmeasured_knee == apart.knee.tasks.value
    assert result_of(lambda n: 0.1).unmeasured_knee is None
    assert result_of(lambda n: None).unmeasured_knee is None


@pytest.mark.parametrize(
    ("function", "peak"),
    [
        (lambda n: n / (1 + (n / 60) ** 1.6), 82.6),
        (lambda n: n / (1 + (n / 60) ** 3), 47.6),
        (lambda n: n / (1 + 0.05 * max(0, n - 100)), 100),  # each task above 100 slows all
        (lambda n: n * math.exp(-n / 37), 37),
        (lambda n: n / (1 + 0.03 * (n - 1) + 0.0003 * n * (n - 1)), 57),
    ],
)
def test_the_peak_is_found_whether_a_law_fits_or_not(function, peak):
    result = SweepResult("asyncio")
    for point in densified(function):
        figures = dict.fromkeys(("duration_p50", "duration_p99", "cpu", "memory_per_task"))
        result.add(Step(point.tasks, point.throughput, 2 * point.error, seconds=3.0, **figures))
    assert result.figures["peak"] == pytest.approx(peak, rel=0.15)
    found = result.as_json()["peak"]
    assert found["interval"][0] <= found["value"] <= found["interval"][1]


def test_a_sweep_ends_when_no_task_ends():
    result = swept(Costs(), workload="hold")
    assert result.steps == []
    assert "0 of 1 tasks ended" in result.ended_by


def test_a_sweep_ends_with_its_worker():
    result = swept(Costs(), faults=[Fault(30.0, Ended("killed by SIGKILL"))])
    assert result.failed
    assert "killed by SIGKILL" in result.ended_by
    assert result.steps
