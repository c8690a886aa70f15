"""The screen of watched programs, with fake agents that report what the test sends."""

import signal
from contextlib import asynccontextmanager

import pytest
from msgspec import structs

from concwatch.commands.watching.watch_session import asked_for_input
from concwatch.links.agent_messages import (
    AgentTick,
    MallocFigures,
    MemoryParts,
    TaskPlace,
    WaitPlace,
    Waits,
)
from concwatch.links.messages import Block, StackFrame, TracedLine, TracedLines
from concwatch.ui.apps.watch_app import WatchApp
from concwatch.ui.widgets.charts.chart import Chart
from concwatch.ui.widgets.lanes.process_list import ProcessList
from concwatch.ui.widgets.tables.block_table import BlockTable
from concwatch.ui.widgets.tables.event_view import EventView
from concwatch.ui.widgets.tables.group_table import GroupTable
from tests.screen import ScreenStage, running
from tests.watch_driver import WatchBench


class WatchStage(ScreenStage):
    """A running app, its pilot, and the processes behind it."""

    def table(self):
        return [line.plain.rstrip() for line in self.app.screen.query_one(GroupTable).rows(112)]

    def heading(self):
        return self.app.screen.query_one(GroupTable).rows(180)[0].plain.split()

    def groups(self):
        return [line.strip("▌ ").split()[0] for line in self.table()[1:] if line]

    def processes(self):
        return [line.plain.rstrip() for line in self.app.screen.query_one(ProcessList).rows(36)]

    async def advance(self, seconds=0.1):
        self.bench.advance(seconds)
        await self.settle()


@asynccontextmanager
async def stage(tmp_path, size=(120, 40), output=None):
    bench = WatchBench()
    first, second = bench.agent(40), bench.agent(41, "worker.py")
    app = WatchApp(bench.watching, output, tmp_path)
    async with running(app, size) as pilot:
        for at in range(20):
            first.report_groups(at / 2, fetch_page=(3, 10 * at), parse=1)
            second.report_groups(at / 2, fetch_page=(4, 20 * at), connect=(0, at))
            bench.advance(0.1)
        s = WatchStage(app, pilot)
        s.bench, s.first, s.second = bench, first, second
        await s.settle()
        yield s
        app.exit()  # so that it stops stepping before its screen is removed


async def test_processes_are_listed_below_their_total_and_a_selected_one_fills_the_table(tmp_path):
    async with stage(tmp_path) as s:
        assert s.processes()[0].split() == ["▌total", "of", "2", "8", "81", "MiB"]
        assert s.processes()[1].split() == ["●", "app.py", "40", "4", "40", "MiB"]
        heading, first, *_ = s.table()
        assert heading.split()[:5] == ["group", "defined", "in", "▾", "live"]
        assert first.split()[:3] == ["▌fetch_page", "srv/app.py:10", "7"]
        assert s.groups() == ["fetch_page", "parse", "connect"]
        await s.press("n", "n")
        assert "CPython 3.11.7" in "\n".join(s.processes())
        assert s.groups() == ["fetch_page", "connect"]
        assert s.table()[1].split()[2] == "4"
        await s.press("N", "N")
        assert s.table()[1].split()[2] == "7"
        for size in ((80, 24), (60, 14), (200, 60)):
            await s.resize(*size)
            await s.sees("app.py 40", "RSS")


async def test_what_lasts_is_below_its_process_and_one_line_of_the_events(tmp_path):
    frames = (StackFrame("get", "/lib/queue.py:1"), StackFrame("sync_queue", "/srv/app.py:68"))
    async with stage(tmp_path) as s:
        for second in range(1, 13):
            s.first.report(Block(1, "loop 1", float(second), ended=False, stack=frames, own=(1,)))
            await s.advance(1)
        assert s.processes()[2:4] == ["    blocked for 12 s in sync_queue", "    (srv/app.py:68)"]
        text = s.app.screen.query_one(EventView).query_one("EventLines").render().plain
        assert text.count("loop 1 blocked for 10 s so far in sync_queue (srv/app.py:68)") == 1
        assert "1 s so far" not in text
        s.first.report(Block(1, "loop 1", 12.5, stack=frames, own=(1,)))
        await s.advance(0.2)
        assert "blocked" not in "\n".join(s.processes())


async def test_a_single_process_has_no_total(tmp_path):
    bench = WatchBench()
    bench.agent(40)
    async with running(WatchApp(bench.watching, None, tmp_path), (120, 40)) as pilot:
        s = WatchStage(pilot.app, pilot)
        s.bench = bench
        await s.advance()
        await s.sees("app.py 40")
        assert "total" not in s.text()
        s.app.exit()


@pytest.mark.parametrize("size", [(60, 14), (80, 24), (120, 40)], ids="{0[0]}x{0[1]}".format)
async def test_new_processes_move_nothing(tmp_path, size):
    async with stage(tmp_path, size) as s:

        def places():
            kinds = (ProcessList, Chart, GroupTable, EventView)
            found = [widget.region for kind in kinds for widget in s.app.screen.query(kind) if widget.display]
            return found[1:]  # the list scrolls within its frame

        before = places()
        for pid in range(50, 60):
            s.bench.agent(pid, "worker.py")
        await s.advance(1)
        await s.sees("total of 12")
        assert places() == before


async def test_columns_of_times_are_shown_while_tasks_are_timed(tmp_path):
    async with stage(tmp_path, (200, 60)) as s:
        assert "busy" not in s.heading()
        s.first.report(AgentTick(10.0, created=100, live=4, flags=("asyncio", "timing")))
        for _ in range(8):  # the table is updated twice a second
            await s.advance()
        assert "busy" in s.heading()


async def test_the_table_can_be_sorted_and_filtered_and_keeps_the_selected_group(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("down")
        assert s.table()[2].startswith("▌parse")
        await s.press("greater_than_sign")
        assert "▾ created/s" in s.table()[0]
        assert s.groups() == ["fetch_page", "connect", "parse"]
        assert s.table()[3].startswith("▌parse")
        table = s.app.screen.query_one(GroupTable)
        heading = table.rows(table.content_size.width)[0].plain
        await s.click(GroupTable, 2 + heading.index("live"), 1)
        assert "▾ live" in s.table()[0]
        await s.press("slash", *"conn", "enter")
        assert s.groups() == ["connect"]


async def test_a_group_that_is_opened_stays_selected_when_another_one_is_larger(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("enter")
        assert s.table()[1].startswith("▌fetch_page")
        s.first.report_groups(20.0, fetch_page=10, parse=500)
        for _ in range(8):  # the table is updated twice a second
            await s.advance()
        assert s.groups()[0] == "parse"
        assert [row for row in s.table() if row.startswith("▌fetch_page")]


async def test_the_table_says_that_a_function_grows_and_whether_that_is_a_leak(tmp_path):
    async with stage(tmp_path) as s:

        async def grow(first, last):
            for half in range(2 * first, 2 * last):
                s.first.report_groups(float(half) / 2, fetch_page=10 + half)
                if ("waits", {"group": 1}) in s.first.sent:
                    s.first.sent.clear()
                    s.first.report(Waits(1, 10, 10, sampled=3, wakeable=3))
                s.bench.advance(0.5)
            await s.advance()

        await s.press("enter")
        await grow(10, 40)
        assert s.table()[2] == "   ↳ grows, too early to call it a leak"
        await grow(40, 230)
        assert s.table()[2] == "   ↳ a leak"


async def test_the_key_bar_follows_the_panel_and_help_explains_its_words(tmp_path):
    async with stage(tmp_path) as s:
        bar = s.app.screen.query_one("KeyBar")
        await s.sees("⏎ where they wait", "B blocks", "/ filter", within=bar)
        await s.press("B")
        await s.advance()
        await s.sees("⏎ its stack", "↑↓ block", "B groups", within=bar)
        assert "filter" not in s.text(bar)
        await s.press("B", "tab")
        await s.advance()
        await s.sees("⏎ its memory", "B blocks", within=bar)
        await s.press("tab")
        await s.advance()
        await s.sees("← → cursor", "⏎ where they wait", within=bar)
        await s.press("shift+tab")
        await s.advance()
        assert "cursor" not in s.text(bar)
        await s.press("question_mark")
        assert {"group", "mean life", "growth/min", "retained", "left over", "PSS", "share", "observed"} <= {
            term for term, _ in s.app.screen._words
        }
        assert not {"lane", "RSS/task", "× cheapest"} & {term for term, _ in s.app.screen._words}


async def test_requests_and_options_are_sent_to_every_agent(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("enter")
        for agent in (s.first, s.second):
            assert ("waits", {"group": 1}) in agent.sent
            places = (
                WaitPlace("/srv/app.py:12", 3, "fetch_page"),
                WaitPlace("/srv/app.py:12", 1, "fetch_page", running=True),
            )
            created = (TaskPlace("/srv/app.py:27", 200, "main"),)
            awaited_by = (TaskPlace("/srv/app.py:30", 1, "main"),)
            agent.report(Waits(1, 4, 4, places, created=created, awaited_by=awaited_by))
        for _ in range(3):  # figures change at most four times a second
            await s.advance()
        assert [" ".join(line.split()) for line in s.table()[2:6]] == [
            "↳ 6 fetch_page wait at :12",
            "↳ 2 fetch_page run at :12",
            "↳ 400 created by main at :27",
            "↳ awaited by 2 main at :30",
        ]
        await s.press("enter", "x", "T", "t")
        assert [sent for sent in s.second.sent if sent[0] not in ("rate", "waits")] == [
            ("outcomes", {"on": True}),
            ("timing", {"on": True}),
            ("trace", {"on": True}),
        ]
        assert s.bench.texts()[-3:] == [": outcomes on", ": timing on", ": trace on"]


async def test_the_list_of_blocks_replaces_the_groups_and_the_lag_has_marks(tmp_path):
    async with stage(tmp_path) as s:
        frames = StackFrame("hash_password", "/srv/app.py:34"), StackFrame("login", "/srv/app.py:12")
        s.first.report(Block(1, "loop 1", 0.3, stack=frames, own=(0, 1)))
        s.second.report(Block(1, "loop 1", 0.1, stack=frames, own=(0, 1)))
        s.second.report(Block(2, "loop 1", 0.1, cause="gc"))
        await s.advance()
        groups = s.app.screen.query_one(GroupTable)
        region = groups.region
        await s.press("enter")
        await s.settle()
        assert groups.region == region, "where the tasks wait takes the place of other groups"
        await s.press("B")
        table = s.app.screen.query_one(BlockTable)
        assert table.display
        assert not s.app.screen.query_one(GroupTable).display
        await s.settle()
        assert table.region == region
        rows = [line.plain.split() for line in table.rows(112)]
        assert rows[1][:5] == ["▌hash_password", "srv/app.py:34", "400", "ms", "80"]
        assert rows[2][:2] == ["garbage", "collection"]
        await s.press("enter")
        assert table.rows(112)[2].plain.split() == ["↳", "hash_password", "srv/app.py:34"]
        await s.press("down", "greater_than_sign")
        assert "▾ share" in table.rows(112)[0].plain
        assert table.rows(112)[2].plain.startswith("▌garbage")
        assert next(mark.text for mark in s.bench.watching.blocks.since(0)) == (
            "300 ms in hash_password (srv/app.py:34)"
        )
        charts = {chart.id: chart for chart in s.app.screen.query(Chart)}
        assert charts["chart-lag"].display
        assert not charts["chart-completed_per_second"].display
        await s.advance(1)
        assert len(charts["chart-lag"].plot.annotations) == 3
        assert not charts["chart-rss"].plot.annotations
        await s.press("B")
        assert s.app.screen.query_one(GroupTable).display


async def test_places_and_names_that_do_not_fit_keep_their_ends(tmp_path):
    async with stage(tmp_path, (80, 24)) as s:
        where = "/srv/a_package/of_services/leaky_service_of_orders.py"
        frames = (StackFrame("price_of_an_order_with_discounts", f"{where}:1234"),)
        s.first.report(Block(1, "loop 1", 0.3, stack=frames, own=(0,)))
        await s.advance()
        await s.press("B")
        await s.sees("price_of_an_order_w… …ice_of_orders.py:1234", within=s.app.screen.query_one(BlockTable))
    async with stage(tmp_path) as s:
        s.bench.agent(1008, "leaky_service.py")
        await s.advance()
        await s.sees("…aky_service.py 1008", within=s.app.screen.query_one(ProcessList))


async def test_the_bar_offers_no_keys_of_a_screen_behind_a_dialog(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("n")
        for key in ("M", "o", "m", "a", "question_mark"):
            await s.sees("? help", "q quit")
            await s.press(key)
            await s.sees("esc back")
            await s.advance()
            assert s.lines()[-1].split() == ["esc", "back"], key
            await s.press("escape")


MIB = 1 << 20

PARTS = MemoryParts(
    rss=195 * MIB, anonymous=185 * MIB, file_pages=10 * MIB, shared=0, heap=175 * MIB, other=10 * MIB,
    heap_size=180 * MIB, arenas=170 * MIB, blocks=70_000,
    malloc=MallocFigures(taken=180 * MIB, free=176 * MIB, arenas=9, pause=0.002),
)  # fmt: skip


async def test_what_memory_is_made_of_is_asked_and_shown(tmp_path):
    async with stage(tmp_path) as s:
        lane = s.bench.watching.lanes[0]
        lane.set(ready=structs.replace(lane.current.ready, can=("waits", "memory")))

        def asked(agent):
            return [type_ for type_, _ in agent.sent].count("memory")

        await s.press("n", "M")
        await s.sees("asking its agent")
        assert (asked(s.first), asked(s.second)) == (1, 0)
        s.first.report(PARTS)
        await s.advance()
        for size in ((200, 60), (80, 24), (120, 40)):
            await s.resize(*size)
            await s.sees("C heap free, kept by malloc", "≥ 171 MiB", "malloc_trim(0)", "MALLOC_ARENA_MAX=2")
        await s.press("escape", "tab", "enter")
        await s.sees("what its memory is made of")
        assert asked(s.first) == 2, "enter asks for it while the list has the focus"
        await s.press("escape", "down", "enter")
        assert asked(s.first) == 2, "the keys of the groups act on the groups again"
        await s.press("n", "M")
        await s.sees("worker.py 41: what its memory is made of", "it has no agent")


async def test_the_programs_output_is_shown_without_control_sequences(tmp_path):
    path = tmp_path / "output.log"
    path.write_bytes(b"first line\n\x1b[31mred\x1b[0m\n")
    async with stage(tmp_path, output=path) as s:
        await s.press("o")
        await s.sees("first line")
        assert "\x1b" not in s.text()
        await s.press("escape")
        assert "first line" not in s.text()


def test_a_debugger_s_prompt_at_the_end_of_the_output_is_noticed(tmp_path):
    path = tmp_path / "output.log"
    path.write_text("(Pdb) " + "later\n" * 1_000)
    assert not asked_for_input(path)
    path.write_text("later\n" * 1_000 + "(Pdb) \nbdb.BdbQuit\n")
    assert asked_for_input(path)


async def test_lines_that_hold_traced_memory_are_requested_and_shown(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("a")
        await s.sees("nothing is traced")
        await s.press("escape")
        s.first.report(AgentTick(10.0, created=4, live=4, ended=0, since=0, scan_time=10.0, traced=9 << 20))
        await s.advance()
        await s.press("a")
        assert ("lines", {}) in s.first.sent
        assert ("lines", {}) not in s.second.sent
        s.first.report(TracedLines((TracedLine("/srv/cache.py", 12, 8 << 20, 1 << 20, 30),)))
        await s.advance(1.0)
        await s.sees("/srv/cache.py:12", "8 MiB")


async def test_a_selected_process_that_has_ended_shows_no_figures_of_now(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("n", "n")
        await s.advance()
        assert "worker.py" in "\n".join(s.processes())
        before = s.table()[1].split()
        assert before[2:4] != ["4", "–"]
        s.bench.watching.lanes[1].set(exited_normally=True)
        s.bench.watching.lanes[1].end("exited with status 0", s.bench.now)
        await s.advance(0.5)
        await s.sees("tasks by function, when the process ended")
        _, _, live, created, ended, *_ = s.table()[1].split()
        assert (live, created, ended) == ("4", "–", "–")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="the system has no such signal")
@pytest.mark.parametrize("late", [True, False], ids=["signal is late", "signal first"])
def test_the_end_of_the_terminal_is_passed_on_once(late, tmp_path):
    app = WatchApp(WatchBench().watching, None, tmp_path)
    told = [app.hang_up, lambda: app.pass_on(signal.SIGHUP)]
    for tell in told if late else reversed(told):
        tell()
    assert app.passed == [signal.SIGHUP]
    app.pass_on(signal.SIGTERM)
    assert app.passed == [signal.SIGHUP, signal.SIGTERM]
