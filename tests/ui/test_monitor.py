"""The monitor with mouse and keys, fake workers and a clock that the test advances."""

import asyncio
import math
import os
import re
from pathlib import Path

import pytest
from msgspec import structs
from textual.command import CommandPalette
from textual.events import Click, MouseScrollDown, MouseScrollUp, Paste, Resize
from textual.geometry import Size
from textual.theme import BUILTIN_THEMES

from concwatch.charts.colors import ON_DARK, ON_LIGHT
from concwatch.demos.keyboard import key_event
from concwatch.links.messages import Error
from concwatch.monitor.lanes.forecast import OFFERED
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import CATALOG, Engine
from concwatch.ui.dialogs.help import HelpScreen, ReadDialog
from concwatch.ui.panels.feed import COVERED, READING, STEADY
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.widgets.charts.chart import Chart
from tests.fake_link import COSTS, FakeLink, FakeWorkers, Fault
from tests.screen import GOLDEN, assert_golden, stage

MIB = 1 << 20
PAIR = [engine for engine in CATALOG if engine.name in ("asyncio", "uvloop")]
OTHERS = [engine for engine in CATALOG if engine.name in ("asyncio", "go")]
SIX = [engine for engine in CATALOG if engine.name in COSTS and engine.name != "go"]
NAMES = ["threads", "pool", "asyncio", "uvloop"]
COST = "memory added over live tasks"
CHARTS = [
    "RSS", "tracemalloc", "created / s", "ended / s", "live tasks", "wake-up lag", "CPU",
    "context switches / s", "task duration", "retained", "kernel memory",
]  # fmt: skip

# Lanes: switch, slider, number.


async def test_a_click_or_key_switches_one_lane_and_stop_all_switches_every_lane():
    async with stage() as s:
        await s.tap("○ off", s.card("asyncio"))
        await s.sees("◌ starting", within=s.card("asyncio"))
        await s.run(0.5)
        await s.sees("● on", "0 live", within=s.card("asyncio"))
        await s.press("2", "space")
        await s.run(0.5)
        await s.sees("● on", within=s.card("pool"))
        assert [lane.state for lane in s.lab.lanes] == [State.OFF, State.RUNNING, State.RUNNING, State.OFF]
        await s.tap("● on", s.card("asyncio"))
        await s.sees("◌ stopping", within=s.card("asyncio"))
        await s.press("2", "space")
        await s.run(0.3)
        await s.sees("○ off", "drag the slider", within=s.card("asyncio"))
        await s.sees("○ off", within=s.card("pool"))
        assert s.link("asyncio").commands("stop") == [{}]
        assert s.lab.fleet.quiet
        assert set(s.workers.links) == {"asyncio", "pool"}
        await s.switch_on(*NAMES)
        await s.press("0")
        await s.run(0.5)
        assert s.lab.fleet.quiet
        await s.switch_on(*NAMES)
        assert all(lane.on for lane in s.lab.lanes)
        await s.tap("all", s.monitor.query_one("CommonPanel"))
        await s.run(0.5)
        assert s.lab.fleet.quiet


async def test_digit_click_and_tab_select_a_lane_which_is_marked():
    async with stage() as s:

        def selected():
            return [name for name in NAMES if "▌" in s.text(s.card(name))]

        assert selected() == ["threads"]
        for key, name in (("3", "asyncio"), ("9", "asyncio"), ("tab", "uvloop")):
            await s.press(key)
            assert selected() == [name], key
        await s.tap("+10k", s.card("pool"))
        assert selected() == ["pool"]
        await s.press("shift+tab")
        assert selected() == ["threads"]


async def test_keys_that_arrive_together_act_in_order_also_across_dialogs():
    async with stage() as s:
        first, _, third, _ = s.lab.lanes
        for keys, target in (
            ("3 1 right", 1),
            ("3 plus 1 right right", 2),
            ("4 3 2 1 plus", 10_000),
            ("1 2 3 space 1 right", 1),
        ):
            s.lab.set_target(first, 0)
            await s.press_at_once(*keys.split())
            assert (first.target.tasks, s.monitor.side.selected) == (target, 0), keys
            assert s.app.focused is s.card("threads")
        # Keys after one that opens or closes a dialog or a screen.
        await s.press_at_once("3", "enter", *"5000", "enter", "plus", "enter", *"77", "escape", "1", "plus")
        assert (first.target.tasks, third.target.tasks) == (10_001, 15_000)
        await s.press_at_once("w", *"nop", "enter", "m", *"a note", "enter")
        assert s.lab.settings.current.workload == "nop"
        assert [mark.text for mark in s.lab.marks.since(0) if mark.kind == "note"] == ["a note"]
        s.app.post_message(Paste("ignored"))
        await s.press_at_once("3", "enter")
        s.app.post_message(Paste("4321"))
        await s.press_at_once("enter")
        assert third.target.tasks == 4_321
        await s.press_at_once("e", "down", "down", "d")
        assert isinstance(s.app.screen, ReadDialog)
        await s.sees("What does one more idle connection cost?")  # the third of the list
        await s.press_at_once("d", "escape", "2", "plus")
        assert s.lane("pool").target.tasks == 10_000


async def test_keys_typed_while_a_dialog_opens_reach_it_in_order():
    async with stage() as s:
        for turns in (1, 3, 8):
            for key in ("3", "enter", *f"738{turns}", "enter"):
                await s.send(key_event(key))
                for _ in range(turns):  # the dialog is partly open when the next key comes
                    await asyncio.sleep(0)
            await s.settle()
            assert s.lane("asyncio").target.tasks == 7_380 + turns
            assert s.app.screen is s.monitor


async def test_dragging_shows_number_and_forecast_and_releasing_applies_the_target():
    async with stage((80, 24)) as s:
        await s.drag("asyncio", 10_000, via=[100, 1_000])
        await s.sees("10,000 → about +12 MiB", within=s.card("asyncio"))
        assert (s.lane("asyncio").target.tasks, s.workers.links) == (0, {})  # not applied yet
        await s.drop("asyncio", 10_000)
        assert (s.lane("asyncio").target.tasks, s.monitor.side.selected) == (10_000, 2)
        await s.run(1)
        assert s.link("asyncio").commands("target") == [{"tasks": 10_000}]
        await s.drag("asyncio", 1_000)
        await s.sees("1,000 → about −10.8 MiB", within=s.card("asyncio"))
        await s.press("escape")
        await s.sees("10,000 live", within=s.card("asyncio"))
        await s.drop("asyncio", 1_000)
        assert s.lane("asyncio").target.tasks == 10_000  # cancelled


async def test_a_load_that_cannot_be_held_is_named_while_dragging_and_in_the_dialog():
    async with stage((120, 40), settings=Settings(workload="sleep:5..15")) as s:
        await s.drag("asyncio", 1_000_000, via=[10_000])
        await s.sees("at most about 130,000 at once", within=s.card("asyncio"))
        await s.press("escape", "3", "enter")
        await s.enter("1M")
        await s.sees("of these at once: they end faster than they start", within=lambda: s.query("#message"))
        await s.enter("50k")
        await s.sees("50,000 → about +", within=lambda: s.query("#message"))
        await s.press("escape", "w")
        await s.enter("churn")
        await s.press("enter")
        await s.run(1)
        await s.drag("asyncio", 1_000_000, via=[10_000])
        await s.sees("1,000,000 → about +1.17 GiB", within=s.card("asyncio"))


async def test_slider_keys_and_buttons_set_a_target_within_its_limits():
    async with stage() as s:
        lane, threads = s.lane("asyncio"), s.lane("threads")
        await s.click(s.track("asyncio"), x=s.track("asyncio").width - 1)
        await s.click(s.track("threads"), x=s.track("threads").width - 1)
        assert (lane.target.tasks, threads.target.tasks) == (1_000_000, 21_800)  # the machine's limit
        await s.click(s.track("asyncio"))
        assert lane.target.tasks == 0
        for keys, target in (
            ("3 end", 1_000_000),
            ("left", 500_000),
            ("shift+right home right pageup", 10),
            ("enter 7 enter", 7),
            ("plus plus equals_sign", 30_007),
            ("minus underscore minus", 7),
            ("minus", 0),
        ):
            await s.press(*keys.split())
            assert lane.target.tasks == target, keys
        targets = []
        for tap in ("+10k", "+10k", "−10k", "−10k", "−10k"):
            await s.tap(tap, s.card("uvloop"))
            targets.append(s.lane("uvloop").target.tasks)
        assert targets == [10_000, 20_000, 10_000, 0, 0]
        await s.press("end", "plus")
        assert s.lane("uvloop").target.tasks == 1_000_000


async def test_a_target_can_be_typed_and_an_invalid_one_shows_why():
    async with stage() as s:
        await s.press("3", "enter")
        await s.sees("number of tasks: asyncio")
        await s.enter("12,345")
        await s.sees("12,345 → about +14.8 MiB", within=lambda: s.query("#message"))
        await s.press("enter")
        await s.run(1)
        await s.tap("12,345 live", s.card("asyncio"))
        await s.sees("12345", within=lambda: s.query("#field"))
        for text, problem in {
            "-5": "expected a whole number from 0 to 1,000,000",
            "ten": '"ten" is not a number of tasks',
            "1.5": "not a number of tasks",
            "1000001": "is too many; expected at most 1,000,000",
            " ": "not a number of tasks",
        }.items():
            await s.enter(text)
            await s.press("enter")
            await s.sees(problem, within=lambda: s.query("#message"))
        await s.press("escape")
        assert s.lane("asyncio").target.tasks == 12_345
        await s.press("enter")
        await s.enter("1.5k")
        await s.press("enter")
        assert s.link("asyncio").commands("target") == [{"tasks": 12_345}, {"tasks": 1_500}]


async def test_a_button_is_highlighted_under_the_mouse_and_clicked_only_if_released_on_it():
    async with stage() as s:
        card = s.card("uvloop")
        less, more = s.place("−10k", card), s.place("+10k", card)

        def highlighted():
            return [s.background(card, *cell) != s.background(card, 1, 3) for cell in (less, more)]

        assert highlighted() == [False, False]
        await s.hover(card, offset=less)
        assert highlighted() == [True, False]
        await s.hover(card, offset=more)
        assert highlighted() == [False, True]
        await s.mouse_down(card, offset=less)
        await s.mouse_up(card, offset=more)
        assert s.lane("uvloop").target.tasks == 0
        await s.hover(s.track("uvloop"), offset=(30, 0))
        assert highlighted() == [False, False]


# Settings of all lanes.


async def test_the_workload_can_be_selected_or_typed_and_escape_cancels():
    async with stage(engines=PAIR) as s:
        panel, workload = s.monitor.query_one("CommonPanel"), lambda: s.lab.settings.current.workload
        await s.switch_on("asyncio", tasks=100)
        await s.press("w")
        await s.sees("what each task does", "ticks:10x0.1", "hold", "module:function")
        await s.sees("sleeps 10 times for 0.1 s")
        lines = s.lines()
        start = next(line for line in lines if "sleeps for 5 to 15 s" in line).index("sleeps")
        at = next(at for at, line in enumerate(lines) if "sleeps for a random time" in line)
        column = lines[at].index("sleeps for a random")
        assert column == start
        assert lines[at + 1][start - 8 : start].isspace(), "what wraps stands below its beginning"
        await s.press("tab", *["down"] * 3, "enter")
        assert workload() == "hold"
        await s.tap("waits until stopped", panel)
        await s.enter("payload:4KiB")
        await s.sees("payload:4KiB: enter applies it", within=lambda: s.query("#message"))
        await s.press("enter", "w")
        await s.enter("slep:3")
        await s.press("enter")
        await s.sees('unknown workload "slep:3"', 'did you mean "sleep"?', within=lambda: s.query("#message"))
        await s.enter("sleep:1")
        await s.press("escape")
        assert workload() == "payload:4KiB"
        sent = [command["spec"] for command in s.link("asyncio").commands("workload")]
        assert sent[1:] == ["hold", "payload:4KiB"]
        await s.press("w", "tab", "end", "enter")
        await s.sees('"module:function" is a placeholder', within=lambda: s.query("#message"))
        await s.enter("json:dump")
        await s.press("enter", "2", "space")
        await s.run(0.5)
        assert s.link("uvloop").commands("workload") == [{"spec": "json:dump", "word": "module:function"}]


async def test_refusals_and_failed_tasks_are_logged_and_lanes_keep_running(tmp_path, monkeypatch):
    (tmp_path / "shop.py").write_text("from orders import *")  # whose names are not known
    monkeypatch.chdir(tmp_path)
    why = 'workload "shop:order": no function "order" in shop; did you mean "orders"?'
    refusal = {("workload", "shop:order"): Error(why, "workload")}
    trace = 'Traceback (most recent call last):\n  File "shop.py", line 7, in order\nValueError: sold out'
    fault = Fault(1.0, Error("a task failed: ValueError: sold out", detail=trace))
    workers = FakeWorkers(faults={"uvloop": [fault]}, answers={"asyncio": refusal})
    async with stage(engines=PAIR, workers=workers) as s:
        events = s.monitor.query_one("EventView")
        await s.switch_on("asyncio", "uvloop", tasks=1_000)
        await s.run(2)
        await s.sees('File "shop.py", line 7, in order', "ValueError: sold out", within=events)
        await s.press("w")
        await s.enter("shop:order")
        await s.press("enter")
        await s.run(0.5)
        await s.sees(f"asyncio {why}", within=events)
        await s.sees("● on", "1,000 live", within=s.card("asyncio"))
        assert [lane.state for lane in s.lab.lanes] == [State.RUNNING, State.RUNNING]
        assert s.link("asyncio").commands("target") == [{"tasks": 1_000}]


async def test_keys_and_clicks_change_the_settings_of_all_lanes():
    async with stage() as s:
        await s.switch_on("pool", "asyncio")
        panel = s.monitor.query_one("CommonPanel")
        await s.sees("refill ● on", "traced ○ off", "collector default", within=panel)
        sent = {}
        for key, label, command in (("f", "refill", "refill"), ("g", "collector", "gc")):
            before = len(s.link("pool").commands(command))
            await s.press(key)
            await s.tap(label, panel)
            await s.press(key)
            assert s.link("pool").commands(command) == s.link("asyncio").commands(command)
            sent[command] = [*s.link("pool").commands(command)[before:]]
        assert sent == {
            "refill": [{"on": False}, {"on": True}, {"on": False}],
            "gc": [{"mode": "frozen"}, {"mode": "off"}, {"mode": "default"}],
        }
        for on in (True, False, True):
            await (s.press("t") if on else s.tap("traced", panel))
            assert s.lab.settings.current.trace == on
        await s.run(1)
        await s.press("g")
        await s.sees("refill ○ off", "traced ● on RSS doubles", "collector frozen", within=panel)
        await s.sees("all collector frozen", within=s.monitor.query_one("EventView"))
        await s.press("3", "u", "n")
        assert (s.link("asyncio").commands("trim"), s.link("pool").commands("trim")) == ([{}], [])
        await s.enter("0")
        await s.sees("a pool of 0 threads runs nothing", within=lambda: s.query("#message"))
        await s.enter("12")
        await s.press("enter")
        assert s.link("pool").commands("threads") == [{"count": 12}]
        assert s.link("asyncio").commands("threads") == []
        await s.tap("12 threads", panel)
        await s.sees("number of threads in the pool")


async def test_without_refill_a_key_starts_the_target_again_and_the_knob_is_hollow():
    async with stage() as s:
        await s.press("f")
        await s.switch_on("asyncio", tasks=100)
        await s.run(15)
        assert s.lane("asyncio").live == 0
        assert "○" in s.text(s.slider("asyncio"))
        await s.press("3", "a")
        await s.run(1)
        assert s.lane("asyncio").live == 100
        await s.press("f", "a")
        await s.sees("f turns refill off")


# Charts.


def picture(chart: Chart) -> list[str]:
    """Return the text inside a chart's frame."""
    return [chart.render_line(row).text for row in range(chart.size.height)]


async def test_paused_charts_do_not_change_and_catch_up_when_resumed():
    async with stage(engines=PAIR) as s:
        chart = s.chart("rss")
        await s.switch_on("asyncio", tasks=1_000)
        await s.run(2)
        await s.press("p")
        await s.sees("charts paused")
        before, title, samples = picture(chart), s.text(chart), len(s.lane("asyncio").series)
        s.lab.set_target(s.lane("asyncio"), 100_000)
        await s.run(5)
        assert (picture(chart), s.text(chart)) == (before, title)
        assert len(s.lane("asyncio").series) == samples + 50
        await s.sees("100,000 live", within=s.card("asyncio"))  # only charts are paused
        await s.press("p")
        assert "charts paused" not in s.text(s.monitor.query_one("StatusBar"))
        await s.sees("1 140M", within=chart)
        top = [row for row in picture(chart) if any("⠀" < char <= "⣿" for char in row)]
        assert len(top) >= 5, "values of the pause are drawn"


async def test_charts_show_window_axis_values_and_lane_colours():
    async with stage(engines=PAIR) as s:
        chart = s.chart("rss")
        await s.switch_on("asyncio", "uvloop", tasks=10_000)
        await s.run(5)
        await s.sees("─ RSS ─", "1 32M", "2 37M", "-10s", within=chart)
        area = [(x, y) for y in range(2, chart.size.height) for x in range(8, chart.size.width)]
        assert {ON_DARK[2], ON_DARK[3]} <= {s.color(chart, x, y) for x, y in area}
        for seconds, label in ((15, "-20s"), (60, "-60s")):
            await s.run(seconds)
            await s.sees(label, within=chart)
        linear = picture(chart)
        await s.press("right_square_bracket")
        for shown in s.monitor.query(Chart):
            if shown.display and shown.plot.over_time:
                await s.sees("-2m", within=shown)
        await s.press(*["left_square_bracket"] * 9)
        await s.sees("-15s", within=chart)
        await s.press("right_square_bracket", "right_square_bracket", "l")
        logarithmic = picture(chart)
        assert logarithmic != linear
        assert not any(re.match(r" +0[┤└]", row) for row in logarithmic), "a logarithmic axis has no 0"
        assert all(chart.plot.logarithmic for chart in s.monitor.query(Chart))
        await s.press("l")
        assert [chart.plot.title for chart in s.monitor.query(Chart) if chart.plot.logarithmic] == [COST]
        assert any(re.match(r" +0└", row) for row in picture(chart))


# Costs, limits and failures.


async def test_the_cost_table_shows_cost_per_task_capacity_and_limit():
    async with stage() as s:
        assert s.row("threads").endswith("21,800 vm.max_map_count")
        assert s.row("asyncio").split()[1:3] == ["–", "–"]
        await s.switch_on("threads", tasks=1_000)
        await s.switch_on("asyncio", "uvloop", tasks=10_000)
        await s.run(3)
        threads, asyncio_, uvloop = (s.row(name) for name in ("threads", "asyncio", "uvloop"))
        assert threads.split()[:3] == ["threads", "1,000", "43.1"]
        assert "43.1 KiB 16.2 KiB 26.8 KiB 35 × 3.33 k/s " in threads
        assert asyncio_.startswith("asyncio 10,000 1.23 KiB 1.23 KiB 0 B 1.0 × 50 k/s ")
        fit = (s.lab.fleet.budget * OFFERED - COSTS["asyncio"].idle) / 1_260
        assert asyncio_.endswith(f"{fit // 10_000 / 100} M memory budget")
        assert uvloop.startswith("uvloop 10,000 1.53 KiB 1.53 KiB 0 B 1.2 × ")
        assert "traced: slower" not in s.text()
        await s.press("t")
        await s.sees("all tracing on: rates and times include its cost")
        await s.run(3)  # new workers with the same targets
        # 1,260 bytes, and 65 % of 1,400 traced and the tracer's 750.
        assert s.row("asyncio").startswith("asyncio 10,000 2.6 KiB* 2.6 KiB 0 B 1.0 × 50 k/s ")
        await s.sees("* traced", "i explains")
        await s.run(54.5)
        await s.sees("10 Hz", "16 GiB", "monitor 3 % CPU · 41 MiB 00:01:01")


async def test_a_stalled_or_failed_lane_shows_it_and_can_recover():
    async with stage(workers=FakeWorkers(faults={"asyncio": [Fault(3.0, silence=12.0)]})) as s:
        await s.switch_on("asyncio", "uvloop", tasks=1_000)
        await s.run(9.5)
        s.app.screen.update_now()  # else shown up to a quarter of a second ago
        stalled = re.search(r"● stalled (\S+) s", s.text(s.card("asyncio")))
        assert float(stalled[1]) == pytest.approx(7.0, abs=0.2)
        await s.run(2)
        await s.resize(80, 24)
        await s.sees("● stalled 9", within=s.card("asyncio"))
        await s.sees("● on", within=s.card("uvloop"))
        await s.run(5)
        await s.sees("● on", within=s.card("asyncio"))
        await s.resize(120, 40)
        s.link("uvloop").kill()
        await s.run(0.5)
        await s.sees("✕ failed", "killed by SIGKILL", within=s.card("uvloop"))
        await s.sees("uvloop failed: killed by SIGKILL", within=s.monitor.query_one("EventView"))
        await s.press("4", "space")
        await s.run(0.5)
        await s.sees("● on", "0 live", within=s.card("uvloop"))
        await s.press("plus")
        await s.run(1)
        await s.sees("10,000 live", within=s.card("uvloop"))
        await s.sees("1,000 live", within=s.card("asyncio"))


async def test_failed_tasks_are_counted_in_card_and_table_at_every_size(monkeypatch):
    tick = FakeLink.tick

    def failing(link):
        report = tick(link)
        return structs.replace(report, failed=997_000, created=report.created + 997_000)

    monkeypatch.setattr(FakeLink, "tick", failing)
    async with stage(settings=Settings(workload="sleep:3600")) as s:
        assert "failed" not in s.text()
        await s.switch_on("asyncio", tasks=1_000_000)
        await s.run(15)
        for size in ((80, 24), (60, 24), (200, 60)):
            await s.resize(*size)
            await s.sees("1,000,000 live 997 k failed", within=s.card("asyncio"))
            await s.sees("↳ asyncio: 997,000 failed", within=s.monitor.query_one("CostTable"))


async def test_the_monitor_is_updated_behind_a_dialog_but_not_behind_a_screen(monkeypatch):
    async with stage() as s:
        await s.switch_on("asyncio")
        updates, show = [], MonitorScreen.show_snapshot
        monkeypatch.setattr(MonitorScreen, "show_snapshot", lambda *args: (updates.append(args), show(*args)))

        async def step(seconds):
            s.clock.now = 1_000.0 + seconds
            s.lab.step()
            await s.settle()

        for seconds, key in (2, "2"), (3, "w"):
            await s.press(key)
            await step(seconds)
            await s.sees(f"00:00:0{seconds}")
        await s.press("escape", "e")
        updates.clear()
        await step(4)
        assert updates == []
        await s.press("escape")
        await step(5)
        await s.sees("00:00:05")
    assert s.lab.observers == s.lab.viewers == []


async def test_the_memory_budget_stops_growth_and_is_named_in_card_table_and_log():
    async with stage(budget=60 * MIB, engines=PAIR) as s:
        table = s.monitor.query_one("CostTable")
        await s.sees("memory: 0 B of 60 MiB", within=s.monitor.query_one("#body"))
        await s.press("1", "end", "down", "enter")
        await s.run(5)
        lane = s.lane("asyncio")
        assert lane.on
        assert 10_000 < lane.live < 60 * MIB / 1_260
        assert s.lab.fleet.memory < 60 * MIB
        await s.sees(f"{lane.live:,} live memory", within=s.card("asyncio"))
        await s.sees("↳ asyncio: the memory budget (60 MiB)", within=table)
        events = s.text(s.monitor.query_one("EventView"))
        assert re.search(r"all memory budget: workers use .* of 60 MiB", events)
        assert "memory budget (60 MiB) reached at" in events
        # The limit stays in the table for some seconds.
        s.lab.set_target(lane, 100)
        await s.run(1)
        await s.sees("↳ asyncio: the memory budget", within=table)
        await s.run(5)
        assert "↳" not in s.text(table)


async def test_a_limit_is_named_in_card_and_log_and_the_lane_keeps_running():
    async with stage() as s:
        await s.press("1", "end", "plus", "up", "enter")
        await s.run(6)
        assert (s.lane("threads").state, s.lane("threads").live) == (State.RUNNING, 21_800)
        await s.sees("21,800 live vm.max", within=s.card("threads"))
        await s.sees("vm.max_map_count (65,530) reached at 21,800 of 31,800 tasks: can't start new thread")


async def test_a_missing_engine_is_disabled_and_shows_how_to_install_it():
    absent = Engine("gevent", "one greenlet", 3_000, needs=("nosuch",), install="pip install nosuch")
    async with stage((200, 60), engines=[*PAIR, absent]) as s:
        await s.sees("needs nosuch: pip install nosuch", within=s.card("gevent"))
        assert s.slider("gevent").locked
        assert s.color(s.card("gevent"), 5) not in (ON_DARK[2], s.color(s.card("asyncio"), 5))
        await s.press("1", "right", "3", "right", "plus")
        await s.run(0.5)
        await s.sees("gevent failed: needs nosuch: pip install nosuch")
        assert "gevent" not in s.workers.links
        assert [lane.target.tasks for lane in s.lab.lanes] == [1, 0, 0], "keys act on no other lane instead"


async def test_the_info_dialog_explains_the_measuring_and_a_chart_shows_the_runtime_heap():
    async with stage(engines=OTHERS, settings=Settings(trace=True)) as s:
        await s.press("2", "i")
        await s.sees("go: how it is measured", "A task is one goroutine", "not running")
        await s.press("escape")
        await s.switch_on("go", tasks=10_000)
        await s.run(2)
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(2)
        await s.sees("traced · heap", "1 14M", "2 4.9M", within=s.chart("traced"))
        await s.press("i")
        await s.sees("Go 1.26.0")


# Help, palette, themes, screenshots, exit.


async def choose(s, title, typed):
    """Run an entry of the palette, or of a list that it opened, by the start of its title."""
    if not s.app.screen.query("CommandList"):
        await s.press("ctrl+p")
    await s.press(*typed)

    def listed_first():
        palette = s.app.screen.query("CommandList")
        titles = [option.hit.text for option in palette.last().options] if palette else []
        return title in titles[:1] and len(titles) < 5

    await s.until(listed_first, f"the palette finds {title}")
    await s.press("enter")


async def test_figures_wait_longer_behind_a_dialog_and_are_shown_at_once_when_it_closes():
    async with stage((120, 40)) as s:
        await s.press("question_mark")
        await s.until(lambda: s.app.screen is not s.monitor, "the help covers the screen")
        s.monitor.show_snapshot()  # so that no event is new
        (feed,) = s.lab.viewers
        later = s.monitor.snapshot.time + 1000.0
        assert feed.is_due(later)
        assert not feed.is_due(later + READING)
        assert feed.is_due(later + COVERED)
        await s.press("escape")
        await s.until(lambda: feed.is_due(s.monitor.snapshot.time), "figures are due again")


async def test_figures_change_less_often_while_the_number_of_tasks_is_steady_and_at_once_after_a_key():
    async with stage((120, 40)) as s:
        await s.switch_on("asyncio", tasks=1_000)
        await s.run(5)
        s.monitor.show_snapshot()
        (feed,) = s.lab.viewers
        later = s.monitor.snapshot.time + 1000.0
        assert feed.is_due(later)
        assert not feed.is_due(later + READING)
        assert feed.is_due(later + STEADY)
        s.monitor.show_changes()
        assert feed.is_due(s.monitor.snapshot.time + READING)
        s.lab.set_target(s.lane("asyncio"), 100_000)
        await s.run(0.5)
        assert feed.is_due(later)
        assert feed.is_due(later + READING)


async def test_help_lists_keys_and_the_palette_runs_their_commands():
    async with stage((120, 60)) as s:
        for closing in ("escape", "question_mark", "q"):
            await s.press("question_mark")
            await s.sees("what does one more task cost?", "type a number of tasks", "memory/task", "^p")
            await s.press(closing)
            assert s.app.screen is s.monitor, closing
        await s.switch_on("asyncio", "uvloop", tasks=100)
        for title, typed, done in (
            ("Refill", "Refill", lambda: not s.lab.settings.current.refill),
            ("One chart", "One ch", lambda: len(s.chart_titles()) == 1),
            ("Stop all", "Stop a", lambda: not any(lane.on for lane in s.lab.lanes)),
            ("Workload", "Workl", lambda: "what each task does" in s.text()),
        ):
            assert not done()
            await choose(s, title, typed)
            await s.until(done, f"the palette runs {title}")
        await s.press("escape")
        offered = {command.title for command in s.app.get_system_commands(s.monitor)}
        assert {"Exact number", "Trace", "Collector", "Trim", "Pause charts", "Help"} <= offered
        assert not {"Keys", "Maximize"} & offered  # replaced by concwatch's own
        # A click outside a terminal that has shrunk is ignored.
        await s.press("ctrl+p")
        palette = s.app.screen
        assert isinstance(palette, CommandPalette)
        await s.resize(60, 20)
        palette.post_message(Click(palette, 100, 30, 0, 0, 1, False, False, False, 100, 30))
        await s.settle()
        assert s.app.screen is palette
        await s.click(palette)
        assert s.app.screen is s.monitor, "a click outside its box closes it"


async def test_the_wheel_moves_a_selected_slider_or_the_window_of_the_charts_and_else_scrolls():
    async with stage((80, 24)) as s:
        await s.run(1)
        for name, target in (("asyncio", 0), ("threads", 1)):  # threads is selected
            await s.wheel(MouseScrollUp, s.track(name), (2, 0))
            assert s.lane(name).target.tasks == target, name
        await s.wheel(MouseScrollDown, s.chart("rss"), (20, 3))
        assert not s.monitor.charts.growing
        await s.sees("charts show", within=s.monitor.query_one("EventView"))


async def test_a_click_on_a_key_of_the_help_closes_it_and_does_what_the_key_does():
    async with stage((120, 60)) as s:
        await s.press("question_mark")
        keys = s.query("#keys")
        row = next(y for y, line in enumerate(s.lines()) if "refill: replace tasks" in line)
        await s.click(keys, 0, row - keys.region.y)
        await s.settle()
        assert s.app.screen is s.monitor
        assert not s.lab.settings.current.refill


async def test_lane_colours_change_with_dark_light_and_ansi_themes():
    async with stage((120, 50), engines=PAIR) as s:
        await s.switch_on("asyncio", "uvloop", tasks=10_000)
        await s.run(3)
        table, events = s.monitor.query_one("CostTable"), s.monitor.query_one("EventView")

        def lane_colors():
            """Return the colours in which the second lane's name and value are shown."""
            card = s.card("uvloop")
            places = ((card, "uvloop"), (card, "━"), (s.chart("rss"), "2 37M"), (table, "uvloop  "))
            return {s.color(widget, *s.place(text, widget)) for widget, text in (*places, (events, "uvloop"))}

        assert lane_colors() == {ON_DARK[3]}
        await choose(s, "Theme", "Theme")
        await s.until(lambda: "concwatch-light" in s.text(), "the themes are listed")
        await choose(s, "concwatch-light", "concwatch-l")
        await s.until(lambda: s.app.theme == "concwatch-light", "the palette changes the theme")
        await s.settle()
        assert lane_colors() == {ON_LIGHT[3]}
        assert s.app.screen.get_style_at(0, 20).bgcolor.get_truecolor().red > 200
        for theme in ("textual-light", "nord", "ansi-light", "ansi-dark"):
            s.app.theme = theme
            await s.settle()
            assert lane_colors() == {(ON_DARK if BUILTIN_THEMES[theme].dark else ON_LIGHT)[3]}, theme
            if theme.startswith("ansi"):  # the terminal's own background
                chart = s.chart("rss")
                strips = [chart.render_line(row) for row in range(chart.size.height)]
                styles = [segment.style for strip in strips for segment in strip if segment.style]
                assert {style.bgcolor.name for style in styles if style.bgcolor} == {"default"}


async def test_a_screenshot_that_cannot_be_saved_shows_why_and_leaves_no_file(tmp_path, monkeypatch):
    def fail(old, new):
        raise OSError(28, "No space left on device", str(new))

    (tmp_path / "taken").write_text("a file in place of a folder")
    (tmp_path / "full").mkdir()
    monkeypatch.chdir(tmp_path)
    async with stage(pictures=Path("taken")) as s:
        await s.press("s")
        await s.sees("not saved: taken: File exists; expected a", within=s.toast)
        s.app.pictures.folder = Path("full")
        monkeypatch.setattr(os, "replace", fail)
        await s.press("s")
        await s.sees("not saved: full/concwatch-", "left on device", within=s.toast)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["taken"]


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_quitting_stops_every_lane(key):
    async with stage(by_hand=False) as s:
        for number in "1234":
            await s.press(number, "plus")
        await s.sees("10,000 live", within=s.card("asyncio"))  # the lab steps by itself
        await s.press(*(["w"] if key == "ctrl+c" else []))
        await s.press_last(key)
    assert s.app.return_code == 0
    assert all(lane.idle for lane in s.lab.lanes)
    assert [link.commands("stop") for link in s.workers.links.values()] == [[{}]] * 4


async def test_an_exception_at_exit_is_printed_and_every_worker_is_killed(monkeypatch, capsys):
    async def crash(_):
        raise RuntimeError("unexpected")

    async with stage(by_hand=False) as s:
        await s.press("3", "plus")
        await s.sees("10,000 live", within=s.card("asyncio"))
        monkeypatch.setattr(Lab, "close", crash)
        await s.press_last("q")
    assert s.app.return_code == 1
    assert "RuntimeError: unexpected" in capsys.readouterr().err
    assert s.link("asyncio").reading() is None, "its worker has ended"


# Sizes.


async def test_the_number_of_charts_depends_on_the_size_and_no_size_crashes():
    async with stage(settings=Settings(trace=True)) as s:
        await s.switch_on("asyncio", "uvloop", tasks=10_000)
        await s.run(11)  # tasks have ended
        sizes = {
            (120, 40): CHARTS[:4],
            (80, 24): CHARTS[:1],
            (200, 60): CHARTS[:6],
            (239, 60): [*CHARTS[:7], CHARTS[10]],
        }
        sizes |= {(210, 60): sizes[239, 60], (240, 60): [*CHARTS[:7], CHARTS[10], CHARTS[8], "threads"]}
        small = [(20, 5), (1, 1), (3, 60), (200, 3)]
        for size in (*sizes, *small, (120, 40)):
            await s.resize(*size)
            if charts := sizes.get(size):
                assert s.chart_titles() == charts
                await s.sees(*charts, *(["10,000"] if size != (80, 24) else []))
                columns = {chart.region.x for chart in s.monitor.query(Chart) if chart.display}
                assert len(columns) == {1: 1, 4: 2, 6: 3, 8: 4, 10: 5}[len(charts)]
            if size in small:
                await s.press("p", "c", "p", "l", "question_mark")
                assert isinstance(s.app.screen, HelpScreen)
                s.lines()
                await s.press("escape", "w")
                assert s.app.screen.query("#field")
                s.lines()
                await s.press("escape", "l", "c")
                s.lines()
        await s.sees("● on", "10,000 live", within=s.card("asyncio"))


async def test_a_small_terminal_reacts_to_clicks_and_shows_no_truncated_setting():
    async with stage((80, 24), settings=Settings(trace=True)) as s:
        await s.press("3", "plus")
        await s.run(1)
        await s.tap("refill", s.monitor.query_one("CommonPanel"))
        assert not s.lab.settings.current.refill
        await s.tap("● on", s.card("asyncio"))
        await s.run(0.5)
        await s.sees("○ off", within=s.card("asyncio"))
        await s.resize(60, 14)
        await s.sees("w sleep:10 ▾ f refill ○ off t traced ● on ")
        assert not re.search(r"traced ● on +\S", s.text(s.monitor.query_one("CommonPanel")))


async def test_the_cost_of_a_task_has_the_second_place_unless_something_is_traced():
    async with stage((120, 40)) as s:
        await s.sees("what one more task costs: start some")
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(11)
        assert s.chart_titles() == [CHARTS[0], COST, *CHARTS[2:4]]
        await s.sees("3 1.2K/task", "●", within=s.chart("cost"))
        await s.press("t")
        await s.run(2)
        assert s.chart_titles() == CHARTS[:4]
        await s.press("z", "c")
        assert s.chart_titles() == ["tracemalloc"]
        await s.press("c")
        assert s.chart_titles() == [COST], "it is one of the charts that c goes through"
        await s.press("z", "t")
        await s.run(100)
        assert s.chart_titles() == [CHARTS[0], COST, *CHARTS[2:4]]
        await s.press("z", "c")
        assert s.chart_titles() == ["created / s"], "empty charts are skipped"
        await s.press("z")
        await s.resize(200, 60)
        assert s.chart_titles() == [CHARTS[0], COST, *CHARTS[2:6]]


async def test_one_chart_can_fill_the_grid_and_keys_go_through_the_charts():
    async with stage(settings=Settings(trace=True)) as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(11)
        await s.press("tab", "tab", "tab", "tab", "tab", "z")
        assert s.chart_titles() == ["tracemalloc"], "the focused chart fills the grid"
        await s.press("c", "c")
        await s.sees("now", within=s.chart("created_per_second"))
        assert s.chart_titles() == ["created / s"]
        await s.press("z")
        assert s.chart_titles() == CHARTS[:4]
        await s.resize(200, 60)
        s.monitor.set_focus(None)
        await s.press("z")
        for title in (*CHARTS[2:7], CHARTS[10], *CHARTS[:2], COST):
            assert s.chart_titles() == [title]
            await s.press("c")
        await s.press(*["c"] * 6, "z")
        assert s.chart_titles() == CHARTS[:6]
        # Without room for two charts above each other they are side by side.
        for width in (110, 200):
            await s.resize(width, 24)
            assert s.chart_titles() == CHARTS[:2]
            for metric in ("rss", "traced"):
                await s.sees("0└", "now", within=s.chart(metric))
            await s.sees("2 pool", "4 uvloop", "stop all")
            for second in (COST, *CHARTS[2:7], CHARTS[10]):  # the next chart replaces the second
                await s.press("c")
                assert s.chart_titles() == [CHARTS[0], second]
            await s.press("c")
            assert s.chart_titles() == CHARTS[:2]


async def test_a_chart_without_data_gives_its_place_to_one_with_data():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(3)
        assert s.chart_titles() == ["RSS", COST, "created / s", "live tasks"], "no task has ended"
        assert "zero" not in s.text()
        await s.run(8)
        assert s.chart_titles() == ["RSS", COST, "created / s", "ended / s"]
        s.lab.stop_all()
        await s.resize(80, 24)
        assert s.chart_titles() == ["RSS"]


async def test_the_palette_shows_a_chart_and_changes_the_symbols():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(2)
        await choose(s, "Chart: memory added over live tasks", "memory added over")
        await s.until(lambda: s.chart_titles() == [COST], "the chart of the cost alone")
        for name, character in (("octants", "\U0001cd00"), ("braille", "⠀"), ("blocks", "▖"), ("auto", "⠀")):
            await choose(s, f"Chart symbols: {name}", name)
            await s.sees(f"charts are drawn with {name}")
            drawn = {char for char in s.text(s.chart("cost")) if ord(char) > 0x2590}
            assert any(ord(character) <= ord(char) < ord(character) + 0x100 for char in drawn), name
        assert s.app.symbols.chosen == "auto"


async def test_a_dragged_slider_moves_a_ghost_along_the_forecast():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(2)
        chart, slider = s.chart("cost"), s.slider("asyncio")
        assert "○" not in s.text(chart)
        await s.mouse_down(s.track("asyncio"), offset=(24, 0))
        await s.hover(s.track("asyncio"), offset=(30, 0))
        held = slider.held
        await s.sees("○", within=chart)
        (ghost,) = [line for line in chart.plot.lines if line.mark == "○"]
        assert ghost.times[0] == pytest.approx(math.log10(held))
        assert ghost.values[0] == pytest.approx(held * 1.23 * 1024, rel=0.05)
        await s.press("escape")
        await s.until(lambda: "○" not in s.text(chart), "the ghost is gone")


async def test_the_cost_table_omits_columns_without_room_and_truncates_none():
    async with stage(settings=Settings(trace=True), engines=SIX) as s:
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(3)
        columns, table = [], s.monitor.query_one("CostTable")
        for width in range(60, 131, 10):
            await s.resize(width, 40)
            text = s.text(table)
            assert "fits, limited by" in text
            assert "…" not in text
            assert s.row("threads").endswith("vm.max_map_count")
            columns.append(len(s.row("asyncio").split()))
        assert columns == sorted(columns), "a wider table never has fewer columns"
        assert columns[0] < columns[-1]


async def test_everything_can_be_reached_with_keys():
    async with stage() as s:
        kinds = []
        for _ in range(9):
            kinds.append(type(s.app.focused).__name__)
            await s.press("tab")
        assert kinds == ["LaneCard"] * 4 + ["CursorChart"] * 4 + ["EventView"]
        await s.press("1", "space", "2", "plus", "3", "right", "right", "4", "enter", *"2500", "enter")
        await s.run(1)
        assert [lane.live for lane in s.lab.lanes] == [0, 10_000, 2, 2_500]
        assert all(lane.on for lane in s.lab.lanes)
        events = s.monitor.query_one("EventView")

        async def add(*texts):
            for number, text in enumerate(texts):
                s.lab.events.add(number, "pool", text)
            await s.run(0.1)

        await add(*(f"event {number}" for number in range(40)))
        await s.sees("event 39", within=events)
        events.focus()
        await s.press("home")
        await add("one more")
        await s.sees("on: CPython", within=events)  # a log that is scrolled up does not jump to the end
        await s.press("end")
        await s.resize(80, 24)
        await s.sees("one more", within=events)
        await add("the last")
        await s.sees("the last", within=events)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=lambda size: "x".join(map(str, size)))
async def test_the_screen_equals_its_golden_file(size, monkeypatch):
    monkeypatch.setattr("concwatch.ui.widgets.bars.status_bar.MACHINE", "CPython 3.11.7 · 2 cores")
    async with stage(size, settings=Settings(trace=True), trials=True) as s:
        await s.press("1", "space", "3", "plus", "4", "plus")
        await s.run(6)
        await s.press("4", "plus")
        await s.run(8)
        s.lab.set_target(s.lane("threads"), 2_000)
        await s.run(6)
        assert_golden(s.lines(), GOLDEN / f"screen-{size[0]}x{size[1]}.txt")


async def test_an_outdated_resize_event_does_not_change_the_layout():
    async with stage() as s:
        for key in ("", "m", "escape e"):
            await s.press(*key.split())
            for screen in s.app.screen_stack:
                screen.post_message(Resize(Size(70, 20), Size(70, 20)))
            await s.settle()
            assert {screen.outer_size for screen in s.app.screen_stack} == {s.app.size}
