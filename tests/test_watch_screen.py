"""The screen of a watched program, with agents that say what a test has them say."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from concwatch.links.agent_messages import AgentTick, WaitPlace, Waits
from concwatch.links.messages import TracedLine, TracedLines
from concwatch.ui.watch_app import WatchApp
from concwatch.ui.widgets.group_table import GroupTable
from concwatch.ui.widgets.process_list import ProcessList
from tests.screen import pilot_of, svg_lines
from tests.watch_driver import WatchBench


def text_of(app):
    return "\n".join(svg_lines(app.export_screenshot(), *app.size))


class Stage:
    """A running app, its pilot, and the processes behind it."""

    def __init__(self, app, pilot, bench):
        self.app, self.pilot, self.bench = app, pilot, bench

    def table(self):
        return [line.plain.rstrip() for line in self.app.screen.query_one(GroupTable).rows(112)]

    def processes(self):
        return [line.plain.rstrip() for line in self.app.screen.query_one(ProcessList).rows(36)]

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def pass_(self, seconds=0.1):
        self.bench.pass_(seconds)
        await self.pilot.pause()

    async def until_shown(self, words, limit=20.0):
        async with asyncio.timeout(limit):
            while words not in text_of(self.app):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


@asynccontextmanager
async def stage(tmp_path, size=(120, 40), output=None):
    bench = WatchBench()
    one, other = bench.agent(40), bench.agent(41, "worker.py")
    app = WatchApp(bench.watching, output, tmp_path)
    async with app.run_test(size=size) as pilot:
        for at in range(20):
            one.holds(at / 2, fetch_page=(3, 10 * at), parse=1)
            other.holds(at / 2, fetch_page=(4, 20 * at), connect=(0, at))
            bench.pass_(0.1)
        await pilot.pause()
        found = Stage(app, pilot_of(pilot), bench)
        found.one, found.other = one, other
        yield found
        app.exit()  # as a person does: it steps no more while its screen goes


async def test_processes_are_listed_under_their_total_and_groups_are_joined(tmp_path):
    async with stage(tmp_path) as s:
        assert s.processes()[0].split() == ["▌total", "of", "2", "8", "81", "MiB"]
        assert s.processes()[1].split() == ["●", "app.py", "40", "4", "40", "MiB"]
        heading, first, *_ = s.table()
        assert heading.split()[:5] == ["group", "defined", "in", "▾", "live"]
        assert first.split()[:3] == ["▌fetch_page", "srv/app.py:10", "7"]
        assert [line.split()[0] for line in s.table()[2:]] == ["parse", "connect"]


async def test_a_process_that_is_chosen_has_the_table_for_itself_and_says_what_it_is(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("n", "n")
        assert "CPython 3.11.7" in "\n".join(s.processes())
        assert [line.split()[0] for line in s.table()[1:]] == ["▌fetch_page", "connect"]
        assert s.table()[1].split()[2] == "4"
        await s.press("N", "N")
        assert s.table()[1].split()[2] == "7"


async def test_the_table_is_sorted_by_key_and_click_and_the_chosen_group_stays_chosen(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("down")
        assert s.table()[2].startswith("▌parse")
        await s.press("greater_than_sign")
        assert "▾ created/s" in s.table()[0]
        assert [line.strip("▌ ").split()[0] for line in s.table()[1:]] == ["fetch_page", "connect", "parse"]
        assert s.table()[3].startswith("▌parse")
        table = s.app.screen.query_one(GroupTable)
        heading = table.rows(table.content_size.width)[0].plain
        await s.pilot.click(GroupTable, offset=(2 + heading.index("live"), 1))
        await s.pilot.pause()
        assert "▾ live" in s.table()[0]


async def test_enter_asks_every_process_where_the_groups_tasks_wait(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("enter")
        assert ("waits", {"group": 1}) in s.one.sent
        assert ("waits", {"group": 1}) in s.other.sent
        for agent in (s.one, s.other):
            agent.say(Waits(1, 3, 3, (WaitPlace("/srv/app.py:12", 3, "fetch_page"),)))
        await s.pass_()
        assert s.table()[2].split()[:5] == ["↳", "6", "wait", "at", "srv/app.py:12"]


async def test_a_filter_shows_the_groups_in_whose_name_its_words_stand(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("slash", *"conn", "enter")
        assert [line.strip("▌ ").split()[0] for line in s.table()[1:]] == ["connect"]


async def test_options_are_passed_on_to_every_agent_and_told(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("x", "t")
        assert [sent for sent in s.other.sent if sent[0] != "rate"] == [
            ("outcomes", {"on": True}),
            ("trace", {"on": True}),
        ]
        assert s.bench.texts()[-2:] == [": outcomes on", ": trace on"]


async def test_the_output_of_the_program_is_shown_and_commands_no_terminal(tmp_path):
    path = tmp_path / "output.log"
    path.write_bytes(b"first line\n\x1b[31mred\x1b[0m\n")
    async with stage(tmp_path, output=path) as s:
        await s.press("o")
        shown = text_of(s.app)
        assert "first line" in shown
        assert "\x1b" not in shown
        await s.press("escape")
        assert "first line" not in text_of(s.app)


async def test_the_lines_that_hold_traced_memory_are_asked_for_and_shown(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("a")
        assert "nothing is traced" in text_of(s.app)
        await s.press("escape")
        s.one.say(AgentTick(10.0, created=4, live=4, ended=0, since=0, scan_time=10.0, traced=9 << 20))
        await s.pass_()
        await s.press("a")
        assert ("lines", {}) in s.one.sent
        assert ("lines", {}) not in s.other.sent
        s.one.say(TracedLines((TracedLine("/srv/cache.py", 12, 8 << 20, 1 << 20, 30),)))
        await s.pass_(1.0)
        await s.until_shown("/srv/cache.py:12")
        assert "8 MiB" in text_of(s.app)


@pytest.mark.parametrize("size", [(80, 24), (60, 14), (200, 60)])
async def test_it_stands_on_small_and_large_terminals(tmp_path, size):
    async with stage(tmp_path, size) as s:
        shown = text_of(s.app)
        assert "app.py 40" in shown
        assert "RSS" in shown
