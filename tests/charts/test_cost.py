"""The chart of the memory that tasks add, over how many are live."""

import math
from array import array

import pytest
from msgspec import structs

from concwatch.charts.cost import LEAST, CostCurves, LaneCost, cost_curve, lane_cost
from concwatch.charts.painters.picture import compose
from concwatch.charts.painters.traces import slide_of
from concwatch.charts.plot import LaneSeries, make_plot
from concwatch.charts.table import BY_METRIC, COST, DRAWN, IN_TEXT, ON_SCREEN
from concwatch.monitor.metrics.metrics import EngineFacts, LaneSnapshot, LaneStatus, blank_sample
from concwatch.monitor.metrics.series import CHARTED
from concwatch.monitor.metrics.state import State
from concwatch.recordings.load import load
from tests.made_recording import made_lines

KIB, MIB = 1 << 10, 1 << 20
IDLE = 10 * MIB


class History:
    """Samples of live tasks and of memory, ten a second; a quarter is kernel memory if that is known."""

    band = None

    def __init__(self, live, memory, kernel=0.25):
        self.times = [0.1 * (number + 1) for number in range(len(live))]
        held = [each * kernel if kernel else math.nan for each in memory]
        rss = [each * (1 - kernel) for each in memory]
        self.columns = {"live": live, "rss": rss, "kernel": held}

    def since(self, metric, start):
        first = max(0, sum(time < start for time in self.times) - 1)
        return array("d", self.times[first:]), array("d", self.columns[metric][first:])


def grown(*live, each=2 * KIB):
    """Return the history of a lane whose memory follows its tasks at once."""
    return History(list(live), [IDLE + tasks * each for tasks in live])


def lane(live=0, on=True, fits=1_000_000, **known):
    status = LaneStatus(
        state=State.RUNNING if on else State.OFF, idle_rss=IDLE, bytes_per_task=2.0 * KIB, fits=fits, **known
    )
    return LaneSnapshot(
        EngineFacts("asyncio"), status, blank_sample(0, 5.0, live=live, rss_per_task=2.0 * KIB)
    )


def test_a_curve_has_a_point_for_each_steady_number_of_tasks():
    stairs = [0.0] * 3 + [100.0] * 10 + [1_000.0] * 10 + [10_000.0] * 10
    found = cost_curve(grown(*stairs), IDLE)
    assert found.points == [(tasks, tasks * 2 * KIB) for tasks in (100, 1_000, 10_000)]
    assert found.now == (10_000, 10_000 * 2 * KIB)


def test_memory_read_while_many_start_belongs_to_the_tasks_of_the_next_report_too():
    live = [1_000.0, 1_200, 1_400, 1_600]
    # Each sample has the tasks of the last report, and memory of those that have started since.
    lagging = History(live, [IDLE + (tasks + 100) * KIB for tasks in live])
    found = cost_curve(lagging, IDLE)
    assert found.points == [(tasks, tasks * KIB) for tasks in (1_100, 1_300, 1_500)]
    assert cost_curve(History([10.0, 5_000], [IDLE + 2_000 * KIB] * 2), IDLE).points == [], "too fast to tell"


def test_a_curve_stays_while_fewer_tasks_are_live_and_begins_anew_when_none_was():
    stairs = [1_000.0] * 10 + [10_000.0] * 10
    fewer = cost_curve(grown(*stairs, *[500.0] * 10), IDLE)
    assert [tasks for tasks, _ in fewer.points] == [1_000, 10_000]
    assert fewer.now[0] == 500
    none = cost_curve(grown(*stairs, 0.0, 0.0), IDLE)
    assert (none.points, none.now) == (fewer.points, None), "the result stays"
    again = cost_curve(grown(*stairs, 0.0, *[300.0] * 10), IDLE)
    assert [tasks for tasks, _ in again.points] == [300]


def test_a_curve_has_no_points_without_the_memory_of_all_hosts():
    partly = History([100.0] * 10 + [1_000.0] * 10, [1.0] * 10 + [IDLE + 2_000 * KIB] * 10)
    assert cost_curve(partly, IDLE).points == [(1_000, 2_000 * KIB)]


def test_gaps_and_memory_below_the_idle_worker_s_do_no_harm():
    odd = cost_curve(
        History([math.nan, 100.0, 100.0, math.nan] + [100.0] * 9, [math.nan] * 3 + [1.0] * 10), IDLE
    )
    assert (odd.points, odd.now) == ([], (100, LEAST))
    assert cost_curve(History([], []), IDLE).points == []


def test_curves_that_are_extended_equal_those_of_all_samples_also_after_a_jump_back():
    stairs = [0.0] * 3 + [100.0] * 10 + [1_000.0] * 10 + [10_000.0] * 10
    history, curves = grown(*stairs), CostCurves()
    for now in (0.5, 1.0, 2.4, 3.3, 1.5, 2.6):
        until = sum(time <= now for time in history.times)
        seen = grown(*stairs[:until])
        (found,) = curves.costs([lane(stairs[until - 1])], [seen], now)
        assert list(found.curve) == cost_curve(seen, IDLE).points, now


def test_the_forecast_extends_to_the_limit_and_a_held_slider_is_a_point_of_it():
    history = grown(*[10_000.0] * 10)
    cost = lane_cost(lane(10_000), cost_curve(history, IDLE), held=100_000)
    assert cost.now == (10_000, 10_000 * 2 * KIB)
    assert cost.ahead == (cost.now, (1_000_000, 1_000_000 * 2 * KIB))
    assert cost.ghost == (100_000, pytest.approx(100_000 * 2 * KIB))
    assert cost.behind == ((10, 10 * 2 * KIB), cost.now)
    off = lane_cost(lane(on=False), None)
    assert (off.ahead, off.ghost, off.now) == (None, None, None)
    assert lane_cost(lane(on=False), None, held=500).ghost == (500, pytest.approx(500 * 2 * KIB))


def plot_of(*costs):
    lanes = [
        LaneSeries(name, None, color, number, top=number == 1, cost=cost)
        for number, (name, color, cost) in enumerate(costs, 1)
    ]
    return make_plot(BY_METRIC[COST], lanes, 0.0, 60.0)


def test_the_chart_has_logarithmic_axes_a_label_per_lane_and_the_limit_of_the_selected_one():
    fast = lane_cost(lane(10_000), cost_curve(grown(*[1_000.0] * 10, *[10_000.0] * 10), IDLE))
    slow = lane_cost(
        lane(10_000, fits=21_761), cost_curve(grown(*[1_000.0] * 10, *[10_000.0] * 10, each=16 * KIB), IDLE)
    )
    plot = plot_of(("threads", "#ff0000", slow), ("asyncio", "#00ff00", fast), ("pool", "#0000ff", None))
    picture = compose(plot, 50, 13)
    assert picture.scale.logarithmic
    assert [tick.label for tick in picture.across] == ["10", "100", "1 k", "10 k", "100 k"]
    assert [note.text for note in plot.annotations] == ["21,761"]
    assert {mark for _, _, mark, _ in picture.marks} == {"●", "×"}
    labels = {"".join(text for text, _ in parts) for _, parts in picture.labels}
    assert labels == {"1 2K/task", "2 2K/task"}
    narrow = compose(plot, 30, 13)
    assert {"".join(text for text, _ in parts).strip() for _, parts in narrow.labels} == {"1", "2"}
    # A task that costs eight times as much: a line that much higher, and as steep.
    heights = {line.name: line.values[-1] for line in plot.lines if line.name}
    assert heights["threads"] / heights["asyncio"] == pytest.approx(8)
    moved = structs.replace(plot, cursor=3.0)
    assert compose(moved, 44, 13).cursor is None, "its x axis is not time"


def test_memory_of_a_watched_program_is_drawn_once_it_has_grown_with_its_tasks():
    watched = lane(100, fits=0)
    still = lane_cost(watched, cost_curve(grown(*[50.0] * 10, *[60.0] * 10), IDLE))
    assert plot_of(("app.py", "#ff0000", still)).is_empty, "its chart gives its place to another one"
    risen = lane_cost(watched, cost_curve(grown(*[50.0] * 10, *[100.0] * 10), IDLE))
    assert not plot_of(("app.py", "#ff0000", risen)).is_empty


def test_it_is_in_the_table_of_charts_but_no_metric_of_samples():
    assert BY_METRIC[COST] in ON_SCREEN
    assert BY_METRIC[COST] not in IN_TEXT
    assert COST not in DRAWN
    assert set(DRAWN) <= set(CHARTED)
    assert not plot_of(("threads", "#ff0000", LaneCost())).lines


def test_a_recording_has_a_slide_of_the_cost_curve(tmp_path):
    path = tmp_path / "made.jsonl"
    path.write_bytes(b"".join(made_lines(12.0, 4.0, 2)))
    plot = slide_of(load(path), COST, dark=True).plot
    assert plot.logarithmic
    assert not plot.over_time
    assert [line.mark for line in plot.lines if line.mark].count("●") == 2
