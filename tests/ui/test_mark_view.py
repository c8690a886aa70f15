"""Marks, the cursor over the charts, and the baseline, on the screen with fake workers."""

import re

import pytest

from concwatch.monitor.verdicts.events import NOTE, Mark, mark_text
from concwatch.ui.widgets.charts.chart_grid import ChartGrid
from tests.screen import stage


async def test_every_command_adds_a_mark_unless_it_is_refused():
    async with stage() as s:
        with pytest.raises(ValueError, match="unknown workload"):
            s.lab.settings.set_workload("slep:1")
        await s.press("3", "space")
        await s.run(1)
        await s.press("plus", "t", "g", "f", "u")
        s.lab.settings.set_workload("hold")
        s.lab.settings.set_threads(12)
        await s.press("0")
        assert [mark_text(mark) for mark in s.lab.marks.since(0)] == [
            "asyncio switch on",
            "asyncio target 10,000",
            "trace on",
            "gc frozen",
            "refill off",
            "asyncio trim",
            "workload hold",
            "threads 12",
            "asyncio switch off",
        ]
        assert [mark.time for mark in s.lab.marks.since(0)] == [0.0] + 8 * [pytest.approx(1.0)]


async def test_charts_show_commands_and_notes_and_an_empty_note_is_refused():
    async with stage() as s:
        await s.switch_on("asyncio")
        await s.run(10)
        await s.press("3", "plus")
        await s.run(5)
        assert all(s.text(s.chart(metric)).count("▴") == 2 for metric in ("rss", "created_per_second"))
        await s.press("m")
        await s.sees("a note for this moment", "mark 1")
        await s.enter("  ")
        await s.press("enter")
        await s.sees("such as a few words", within=lambda: s.query("#message"))
        await s.run(3)  # the note has the time of its key, not of its last character
        await s.enter("all started")
        await s.press("enter")
        assert s.lab.marks.since(2) == [Mark(3, pytest.approx(15.5), "", NOTE, "all started")]
        await s.sees("all mark: all started", within=s.monitor.query_one("EventView"))
        for on in 150 * (False, True):
            s.lab.settings.set_refill(on)
        await s.run(1)
        await s.sees("all started", within=s.chart("rss"))  # commands never hide a note
        await s.run(60)
        assert "all started" not in s.text(s.chart("rss"))


async def test_the_cursor_shows_all_lanes_values_until_its_time_leaves_the_window():
    async with stage() as s:
        await s.switch_on("asyncio", "pool", tasks=10_000)
        await s.run(20)
        s.lab.set_target(s.lane("asyncio"), 100_000)
        await s.run(20)
        grid, rss, caption = s.monitor.query_one(ChartGrid), s.chart("rss"), s.monitor.query_one("#caption")
        labels = "2 32M", "3 140M"
        await s.sees(*labels, within=rss)
        rss.focus()
        await s.press(*12 * ["shift+left"])  # more than there are columns
        await s.sees("before the start (−", within=caption)
        await s.sees(*labels, within=rss)  # as they are now
        await s.press("right", "escape")
        assert grid.cursor is None
        # Move back by half of the window, to before asyncio grew.
        await s.press(*round(rss.picture.columns * 25 / 45) * ["left"])
        moment = grid.cursor
        for metric in ("rss", "created_per_second"):
            chart = s.chart(metric)
            chart.focus()
            await s.press("left", "right")
            assert chart.plot.cursor == moment
            for lane in ("pool", "asyncio"):
                # People read rates as means.
                read = "created_mean" if metric == "created_per_second" else metric
                times, values = s.lane(lane).series.since(read, moment - 0.5)
                value = [value for time, value in zip(times, values, strict=True) if time <= moment][-1]
                await s.sees(f"{lane} {chart.plot.unit.format(value)}", within=caption)
            assert "│" in s.text(chart)
        await s.sees("00:00:1", " (−2", within=caption)
        await s.run(7)
        assert grid.cursor == moment
        await s.sees(" (−3", within=caption)  # its age has grown
        await s.run(61)
        assert grid.cursor is None


async def test_the_mouse_moves_and_hides_the_cursor_whose_caption_lists_notes_before_commands():
    async with stage((200, 60)) as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(30)
        s.lab.add_note("here", s.lab.clock())
        await s.press("t", "g", "f")
        await s.run(10)
        grid, rss, caption = s.monitor.query_one(ChartGrid), s.chart("rss"), s.monitor.query_one("#caption")
        inside = rss.content_region
        assert s.text(rss).count("here") == 1
        await s.hover(rss, offset=(inside.right - rss.region.x - 1, 4))
        assert s.lab.clock() - grid.cursor < 2
        column = s.lines()[inside.y][inside.x : inside.right].index("┊")
        for aside in (0, 1):  # the commands may be in the next column
            await s.hover(rss, offset=(inside.x - rss.region.x + column + aside, 4))
            if "· here · refill off · " in s.text(caption):
                break
        await s.sees("· here · refill off · ", within=caption)
        await s.hover(s.monitor.query_one("CostTable"))
        assert grid.cursor is None
        assert "· here" not in s.text(rss)


async def test_the_cost_table_shows_changes_since_the_baseline():
    async with stage() as s:
        await s.switch_on("asyncio", "pool", tasks=10_000)
        await s.run(5)
        await s.press("b")
        table = s.monitor.query_one("CostTable")

        def row(name):
            return re.split(r" {2,}", next(line for line in s.lines() if line.startswith(f"│ {name}")))

        await s.sees("Δ since the baseline at 00:00:05", "Δ 00:00:05 live", within=table)
        await s.sees("baseline set", within=s.monitor.query_one("EventView"))
        assert row("pool")[1:5] == ["10,000", "1.99 KiB", "=", "="]
        s.lab.set_target(s.lane("asyncio"), 15_000)
        await s.run(15)
        assert row("asyncio")[1:4] == ["15,000", "1.23 KiB", "="]
        await s.resize(200, 40)
        assert row("asyncio")[8] not in ("=", "0/s"), row("asyncio")  # tasks have ended since
        # A lane without a figure shows no change.
        s.lab.switch(s.lane("pool"), False)
        await s.run(3)
        assert "pool" in s.row("pool")
        await s.press("b")
        assert "Δ" not in s.text(table)
        await s.resize(80, 24)
        await s.press("b")
        await s.sees("Δ 00:00:23 live", within=table)


async def test_the_cost_table_explains_its_marks():
    async with stage() as s:
        await s.press("t")
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(5)
        s.lab.settings.set_workload("hold")
        await s.run(5)
        await s.press("b")
        table = s.monitor.query_one("CostTable")
        for width in (120, 200):
            await s.resize(width, 40)
            notes = ("baseline at 00:00:10", "* memory of earlier tasks, traced · i explains", "KiB*")
            await s.sees(*notes, within=table)
