"""Marks, the cursor over the charts, and the baseline, on the screen with fake workers."""

import re

import pytest

from concwatch.lab.events import NOTE, Mark, mark_text
from concwatch.ui.widgets.chart_grid import ChartGrid
from tests.screen import stage


async def test_every_command_marks_itself():
    async with stage() as s:
        await s.press("3", "space")
        await s.run(1)
        await s.press("plus", "t", "g", "f", "u")
        s.lab.set_workload("hold")
        s.lab.set_threads(12)
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


async def test_a_refused_workload_is_no_mark():
    async with stage() as s:
        with pytest.raises(ValueError, match="unknown workload"):
            s.lab.set_workload("slep:1")
        assert s.lab.marks.count == 0


async def test_commands_and_notes_stand_on_the_charts():
    async with stage() as s:
        await s.switch_on("asyncio")
        await s.run(10)
        await s.press("3", "plus")
        await s.run(5)
        assert all(s.text(s.chart(metric)).count("▴") == 2 for metric in ("rss", "created_per_second"))
        await s.press("m")
        await s.sees("a note for this moment", "mark 1")
        await s.run(3)  # the moment is that of the key, however long the typing takes
        await s.enter("all started")
        await s.press("enter")
        await s.sees("all started", within=s.chart("rss"))
        assert s.lab.marks.since(2) == [Mark(3, pytest.approx(15.5), "", NOTE, "all started")]
        await s.sees("all mark: all started", within=s.monitor.query_one("EventView"))
        await s.run(60)
        assert "all started" not in s.text(s.chart("rss"))


async def test_a_mark_needs_a_text():
    async with stage() as s:
        await s.press("m")
        await s.enter("  ")
        await s.press("enter")
        await s.sees("expected a few words", within=lambda: s.query("#said"))
        await s.press("escape")
        assert s.lab.marks.count == 0


async def test_the_cursor_reads_all_lanes_at_a_moment():
    async with stage() as s:
        await s.switch_on("asyncio", "pool", tasks=10_000)
        await s.run(20)
        s.lab.set_target(s.lane("asyncio"), 100_000)
        await s.run(20)
        rss = s.chart("rss")
        late = s.text(rss).split("╭")[1][:40]
        rss.focus()
        await s.press(*12 * ["shift+left"])  # more than there are columns
        assert s.monitor.query_one(ChartGrid).cursor is not None
        assert s.text(rss) != late
        await s.press("right", "escape")
        assert s.monitor.query_one(ChartGrid).cursor is None
        # From now, half of the window back: before asyncio grew.
        columns = rss.content_size.width - 9
        await s.press(*round(columns * 25 / 45) * ["left"])
        moment = s.monitor.query_one(ChartGrid).cursor
        for metric in ("rss", "created_per_second"):
            chart = s.chart(metric)
            assert chart.plot.cursor == moment
            for lane in ("pool", "asyncio"):
                times, values = s.lane(lane).series.since(metric, moment - 0.5)
                value = [value for time, value in zip(times, values, strict=True) if time <= moment][-1]
                await s.sees(chart.plot.kind.format(value).split()[0], within=chart)
            assert "│" in s.text(chart)
        await s.sees("00:00:1", " (−2", within=s.monitor.query_one("#caption"))


async def test_the_mouse_moves_the_cursor_and_takes_it_away():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(30)
        s.lab.note("here", s.lab.clock())
        await s.run(10)
        grid, rss = s.monitor.query_one(ChartGrid), s.chart("rss")
        inside = rss.content_region
        await s.pilot.hover(rss, offset=(inside.right - rss.region.x - 1, 4))
        await s.until(lambda: grid.cursor is not None, "a cursor")
        assert s.lab.clock() - grid.cursor < 2
        column = next(
            x
            for x in range(inside.width)
            if s.monitor.get_style_at(inside.x + x, inside.y) and s.lines()[inside.y][inside.x + x] == "┊"
        )
        await s.pilot.hover(rss, offset=(inside.x - rss.region.x + column, 4))
        await s.sees("· here", within=s.monitor.query_one("#caption"))
        await s.pilot.hover(s.monitor.query_one("CostTable"))
        await s.until(lambda: grid.cursor is None, "no cursor")
        assert "· here" not in s.text(rss)


async def test_the_age_beside_the_cursor_grows():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(30)
        rss = s.chart("rss")
        rss.focus()
        await s.press("left")
        before = s.monitor.query_one(ChartGrid).cursor
        await s.run(7)
        assert s.monitor.query_one(ChartGrid).cursor == before
        await s.until(lambda: re.search(r"\(−[78]\.", s.text(s.monitor.query_one("#caption"))), "its age")


async def test_a_note_is_told_before_the_commands_of_its_column():
    async with stage((200, 60)) as s:
        await s.switch_on("asyncio")
        await s.run(20)
        s.lab.note("deploy", s.lab.clock())
        await s.press("t", "g", "f")
        await s.run(10)
        s.chart("rss").focus()
        assert s.text(s.chart("rss")).count("deploy") == 1
        for key in 60 * ["left"]:
            if "· deploy" in s.text():
                break
            await s.press(key)
        await s.sees("· deploy · refill off · ", within=s.monitor.query_one("#caption"))


async def test_no_number_of_commands_hides_a_note():
    async with stage() as s:
        await s.switch_on("asyncio")
        await s.run(2)
        s.lab.note("deploy", s.lab.clock())
        for on in 150 * (False, True):
            s.lab.set_refill(on)
        await s.run(2)
        await s.sees("deploy", within=s.chart("rss"))


async def test_a_moment_before_the_start_is_said_to_be_one():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(5)
        s.chart("rss").focus()
        await s.press("shift+left", "shift+left")
        await s.sees("before the start (−", within=s.monitor.query_one("#caption"))


async def test_a_cursor_that_has_left_the_window_is_taken_away():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(5)
        s.chart("rss").focus()
        await s.press("left")
        assert s.monitor.query_one(ChartGrid).cursor is not None
        await s.run(61)
        assert s.monitor.query_one(ChartGrid).cursor is None


async def test_the_baseline_is_what_the_cost_table_compares_with():
    async with stage() as s:
        await s.switch_on("asyncio", "pool", tasks=10_000)
        await s.run(5)
        await s.press("b")
        table = s.monitor.query_one("CostTable")
        await s.sees("Δ since the baseline at 00:00:05", within=table)
        assert s.text(table).count("  Δ") == 0  # blanks run together
        assert [line.split()[:3] for line in s.lines() if " Δ  " in line] == [
            ["│", "Δ", "="],
            ["│", "Δ", "="],
        ]
        s.lab.set_target(s.lane("asyncio"), 15_000)
        await s.run(5)
        rows = [line for line in s.lines() if " Δ  " in line]
        assert rows[1].split()[2:4] == ["+50", "%"]
        s.lab.set_target(s.lane("asyncio"), 100_000)
        await s.run(10)
        assert [line for line in s.lines() if " Δ  " in line][1].split()[2:4] == ["10.0", "×"]
        # Every lane has its place still: the table has grown.
        assert all(s.row(name) for name in ("threads", "pool", "asyncio", "uvloop"))
        await s.press("b")
        assert "Δ" not in s.text(table)


async def test_where_no_figure_is_shown_none_has_changed():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(5)
        await s.press("b")
        s.lab.switch(s.lane("asyncio"), False)
        await s.run(3)
        (figures,) = [line for line in s.lines() if line.startswith("│ asyncio  ")]
        (changes,) = [line for line in s.lines() if " Δ  " in line]
        shown, changed = (line[len("│ asyncio  ") :] for line in (figures, changes))
        for dash in [place for place, letter in enumerate(shown) if letter == "–"]:
            assert changed[dash] == " "


async def test_a_small_screen_says_since_when_the_baseline_is():
    async with stage((80, 24)) as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(5)
        await s.press("b")
        await s.sees("Δ 00:00:05 live", within=s.monitor.query_one("CostTable"))


@pytest.mark.parametrize("width", [120, 200])
async def test_the_notes_below_the_costs_say_what_their_marks_mean(width):
    async with stage((width, 40)) as s:
        await s.press("t")
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(5)
        s.lab.set_workload("hold")
        await s.run(5)
        await s.press("b")
        table = s.monitor.query_one("CostTable")
        await s.sees(
            "Δ since the baseline at 00:00:10", "· ᵗ traced · ≈ memory of earlier tasks", within=table
        )
        await s.sees("KiBᵗ≈", within=table)
