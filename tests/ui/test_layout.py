"""The layout at every size of a terminal, with 1 to 12 lanes, and that no key moves any of it."""

from unittest.mock import patch

import pytest
from msgspec import structs

from concwatch.charts import table
from concwatch.monitor.metrics.metrics import EngineFacts, LaneSnapshot, LaneStatus, blank_sample
from concwatch.monitor.metrics.settings import ON_SCREEN, Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import CATALOG, SHOWN
from concwatch.ui.keys import keys
from concwatch.ui.look.layout import CHART, FRAME, layout
from concwatch.ui.widgets.bars.key_bar import KeyBar
from concwatch.ui.widgets.charts.chart import Chart
from concwatch.ui.widgets.charts.chart_grid import ChartGrid
from concwatch.ui.widgets.lanes.common_panel import CommonPanel
from concwatch.ui.widgets.lanes.lane_card import SUMMARY, LaneCard, summary
from concwatch.ui.widgets.tables.cost_table import COLUMNS, CostTable
from concwatch.ui.widgets.tables.event_view import EventView
from tests.fake_hosts import HostWorkers, hosts
from tests.fake_link import COSTS
from tests.lab_driver import ENGINES as ENGINES_BY_NAME
from tests.screen import ScreenStage, stage

SIZES = ((60, 14), (80, 24), (120, 24), (120, 40), (140, 44), (160, 45), (200, 60), (250, 70))
ENGINES = [engine for engine in CATALOG if engine.name in COSTS]
TWELVE = [*ENGINES, *(engine for engine in CATALOG if engine not in ENGINES)][:12]

LEFT_OUT = {"c", "z", "s", "S", "r", "q"}
"""Keys that choose the charts, write files, or quit."""


@pytest.mark.parametrize("size", SIZES, ids="{0[0]}x{0[1]}".format)
def test_a_layout_uses_the_rows_of_the_terminal_and_has_a_chart_of_five_rows_or_none(size):
    width, height = size
    for lanes in range(1, 33):
        found = layout(width, height, lanes)
        events = found.events + FRAME * found.below.framed
        side = found.lanes * found.card + found.settings + FRAME * found.beside
        rows = [found.chart] if found.beside else [side, found.chart]
        assert 2 + sum(rows) + found.table + events == height
        assert not found.beside or side <= found.chart
        assert found.chart == 0 or found.chart >= CHART
        assert found.chart or height < 24, "a chart goes only on the smallest terminals"
        assert found.lanes == lanes or lanes > 11
        unfolded = layout(width, height, lanes, most=lanes + 7)
        assert (unfolded.beside, unfolded.side, unfolded.below.table) == (
            found.beside,
            found.side,
            found.below.table,
        )
        more = unfolded.unfolded(lanes + 7)
        assert more.chart == unfolded.chart
        assert more.card == unfolded.card or lanes > 4, "cards are smaller"
        assert more.table + more.events == unfolded.table + unfolded.events
        assert more.events or not unfolded.events
        assert found.below.table or not found.beside, "no cost of a task"


@pytest.mark.parametrize("lanes", [1, 3, 5, 8, 12])
async def test_every_size_shows_lanes_settings_costs_and_charts_without_truncated_text(lanes):
    engines = TWELVE[:lanes]
    names = [engine.name for engine in engines if engine.missing() is None and engine.name in COSTS]
    async with stage(engines=engines, settings=Settings(workload=ON_SCREEN)) as s:
        await s.switch_on(*names, tasks=10_000)
        await s.run(20)
        for size in SIZES:
            await s.resize(*size)
            found = layout(*size, lanes)
            await s.sees("w ", "f refill", "t traced", "? help", "q quit")
            assert not [line for line in s.lines() if "…" in line], size
            for number, name in enumerate(names[: found.lanes], 1):
                card = s.card(name)
                assert f"{number} {name}" in s.text(card), (size, name)
                assert "10 k" in s.text(card) or "10,000 live" in s.text(card), (size, name)
                assert s.track(name).width >= 8, (size, name)
                cost = s.row(name) if found.below.table else s.text(card)
                assert "B" in cost or "–" in cost, (size, name)
            charts = [chart for chart in s.monitor.query(Chart) if chart.display and chart.size.height]
            assert bool(charts) == bool(found.chart), size
            assert all(chart.size.height >= CHART - FRAME for chart in charts), size


async def test_a_card_shows_a_million_tasks_at_every_size():
    async with stage(settings=Settings(workload=ON_SCREEN)) as s:
        await s.switch_on("asyncio", "pool", tasks=1_000_000)
        await s.run(30)
        for size in SIZES:
            await s.resize(*size)
            await s.sees("? help")
            for name in ("asyncio", "pool"):
                text = s.text(s.card(name))
                assert "…" not in text, size
                assert "1,000,000 live" in text or "1 M" in text, (size, text)


@pytest.mark.parametrize(
    ("live", "each", "moves", "expected"),
    [
        (100_000, 1300.0, False, "100,000 live    1.27 KiB/task"),
        (100_000, 2500.0, True, "100,000 live   2.44 KiB*/task"),
        (1_000_000, 1300.0, False, "1,000,000 live  1.27 KiB/task"),
        (10_000, 2500.0, True, "10 k live      2.44 KiB ±17%*"),
    ],
)
def test_the_cost_in_a_lane_of_one_line_is_never_cut(live, each, moves, expected):
    sample = blank_sample(1, 1.0, live=live, measured_live=live, rss_per_task=each)
    status = LaneStatus(State.RUNNING, target=live, clean=True, rss_moves=moves)
    lane = LaneSnapshot(EngineFacts("java", resolution=4 << 20), status, sample)
    assert summary(lane, "", SUMMARY, cost=True).plain == expected


@pytest.mark.parametrize("lanes", [1, 8])
async def test_a_log_of_few_rows_shows_the_beginnings_of_events(lanes):
    async with stage((60, 14), engines=TWELVE[:lanes]) as s:
        for text in ("10,000 tasks live after 27.7 ms (1,150,000 a second)", "a long text " * 9):
            s.lab.log("asyncio", text)
            await s.run(1)
            row = s.text(s.monitor.query_one(EventView))
            assert f"asyncio {text[:24]}" in row
            assert ("(" in row) == (")" in row), "a parenthesis as a whole, or not at all"


def places(s: ScreenStage) -> dict[str, object]:
    """Return the regions of everything on the screen, and the columns of the table's headings."""
    lines = s.monitor.query_one(CostTable).render().plain.splitlines()
    header = next((line for line in lines if COLUMNS[0].title in line and "/task" in line), "")
    charts = [chart.region for chart in s.monitor.query(Chart) if chart.display and chart.size]
    return {
        **{card.id: (card.region, card.track_region) for card in s.monitor.query(LaneCard)},
        **{f"chart {number}": region for number, region in enumerate(charts, 1)},
        **{kind.__name__: s.monitor.query_one(kind).region for kind in (CommonPanel, EventView, KeyBar)},
        **{column.title: header.find(column.title) for column in COLUMNS},
        "header": (s.monitor.query_one(CostTable).region.offset, lines.index(header) if header else None),
    }


ALL_SIZES = pytest.mark.parametrize(
    "size", [(60, 14), (80, 24), (120, 24), (120, 40), (200, 60)], ids="{0[0]}x{0[1]}".format
)


@ALL_SIZES
@pytest.mark.parametrize("count", [0, 2, 8], ids="{} hosts".format)
async def test_nothing_moves_whatever_key_is_pressed_or_lane_switched_on(size, count):
    """If a row is unfolded, its lanes take its place; what is neither a card nor an event stays."""
    engines = [ENGINES_BY_NAME[name].on(host) for name in ("asyncio", "go") for host in hosts(count)]
    workers = HostWorkers() if engines else None
    settings = Settings(workload=ON_SCREEN)
    async with stage(size, settings=settings, engines=engines or SHOWN, workers=workers) as s:
        before = places(s)
        lanes = [str(number) for number in range(1, len(s.monitor.query(LaneCard)) + 1)]
        pressed = [key for row in keys.MONITOR for key in row.keys.split(",") if key]
        for key in [*(key for lane in lanes for key in (lane, "plus")), *pressed]:
            if key in LEFT_OUT:
                continue
            await s.press(key)
            if s.app.screen is not s.monitor:
                await s.press("escape")
            await s.run(1)
            after = places(s)
            if len(s.monitor.query(LaneCard)) > len(lanes):
                assert key == "h"
                assert after["lane-1"] == before["lane-1"], "a card that others follow"
                cards = {name for name in after if name.startswith("lane-")}
                for shown in (before, after):
                    for name in (*cards, "EventView"):
                        shown.pop(name, None)
                assert after == before, key
                await s.press("h")
                before = places(s)
            else:
                assert after == before, key
        for number in range(30):
            s.lab.log("", f"event {number}")
        await s.run(1)
        assert places(s) == before, "a scrollbar"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids="{0[0]}x{0[1]}".format)
async def test_hosts_that_join_and_rows_that_are_unfolded_move_nothing(size):
    """The lanes that are added take rows that were free, and in the table rows of the events."""
    members = [structs.replace(host, opener=print) for host in hosts(4)]
    present = members[:1]
    engines = [ENGINES_BY_NAME["asyncio"].on(host) for host in present]
    async with stage(size, engines=engines, workers=HostWorkers(), cluster=lambda: present) as s:
        await s.press("1", "plus")
        await s.run(3)
        before = places(s)
        present.extend(members[1:])
        await s.run(2)
        await s.sees("asyncio × 4")
        assert len(s.monitor.query(LaneCard)) == 1
        assert places(s) == before, "hosts that join an engine's row"
        await s.press("h")
        await s.run(1)
        after = places(s)
        assert len([name for name in after if name.startswith("lane-")]) == 4
        changed = {name for name in before if after[name] != before[name]}
        assert changed <= {"EventView"}
        await s.press("h")
        await s.run(1)
        assert places(s) == before


@pytest.mark.parametrize(("size", "first"), [((120, 40), 4), ((160, 45), 6), ((250, 70), 10)])
async def test_charts_that_the_first_frame_does_not_show_are_mounted_after_it(size, first):
    mounted = []

    class WatchedLanes(ChartGrid):
        def on_mount(self):
            mounted.append(len(self.query(Chart)))

    with patch("concwatch.ui.panels.charts.ChartGrid", WatchedLanes):
        async with stage(size) as s:
            await s.until(lambda: len(s.monitor.query(Chart)) == len(table.ON_SCREEN), "all charts")
            assert mounted[0] == first
            ids = [chart.id for chart in s.monitor.query(Chart)]
            assert ids == [f"chart-{spec.metric}" for spec in table.ON_SCREEN]
            shown = s.chart_titles()
            await s.resize(250, 70)
            assert set(shown) <= {*s.chart_titles()}
