"""The screen of a watched program, with agents that say what a test has them say."""

from contextlib import asynccontextmanager

from concwatch.links.agent_messages import AgentTick, WaitPlace, Waits
from concwatch.links.messages import TracedLine, TracedLines
from concwatch.ui.watch_app import WatchApp
from concwatch.ui.widgets.group_table import GroupTable
from concwatch.ui.widgets.process_list import ProcessList
from tests.screen import Stage, Workers, running
from tests.watch_driver import WatchBench


class WatchStage(Stage):
    """A running app, its pilot, and the processes behind it."""

    def table(self):
        return [line.plain.rstrip() for line in self.app.screen.query_one(GroupTable).rows(112)]

    def groups(self):
        return [line.strip("▌ ").split()[0] for line in self.table()[1:]]

    def processes(self):
        return [line.plain.rstrip() for line in self.app.screen.query_one(ProcessList).rows(36)]

    async def pass_(self, seconds=0.1):
        self.bench.advance(seconds)
        await self.settle()


@asynccontextmanager
async def stage(tmp_path, size=(120, 40), output=None):
    bench = WatchBench()
    one, other = bench.agent(40), bench.agent(41, "worker.py")
    app = WatchApp(bench.watching, output, tmp_path)
    async with running(app, size) as pilot:
        for at in range(20):
            one.report_groups(at / 2, fetch_page=(3, 10 * at), parse=1)
            other.report_groups(at / 2, fetch_page=(4, 20 * at), connect=(0, at))
            bench.advance(0.1)
        found = WatchStage(app, pilot, Workers(), None)
        found.bench, found.one, found.other = bench, one, other
        await found.settle()
        yield found
        app.exit()  # so that it stops stepping before its screen is removed


async def test_processes_stand_under_their_total_and_one_that_is_chosen_has_the_table_for_itself(tmp_path):
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
            await s.pilot.resize_terminal(*size)
            await s.sees("app.py 40", "RSS")


async def test_the_table_is_sorted_and_filtered_and_the_chosen_group_stays_chosen(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("down")
        assert s.table()[2].startswith("▌parse")
        await s.press("greater_than_sign")
        assert "▾ created/s" in s.table()[0]
        assert s.groups() == ["fetch_page", "connect", "parse"]
        assert s.table()[3].startswith("▌parse")
        table = s.app.screen.query_one(GroupTable)
        heading = table.rows(table.content_size.width)[0].plain
        await s.pilot.click(GroupTable, offset=(2 + heading.index("live"), 1))
        assert "▾ live" in s.table()[0]
        await s.press("slash", *"conn", "enter")
        assert s.groups() == ["connect"]


async def test_questions_and_options_are_passed_on_to_every_agent(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("enter")
        for agent in (s.one, s.other):
            assert ("waits", {"group": 1}) in agent.sent
            agent.report(Waits(1, 3, 3, (WaitPlace("/srv/app.py:12", 3, "fetch_page"),)))
        await s.pass_()
        assert s.table()[2].split()[:5] == ["↳", "6", "wait", "at", "srv/app.py:12"]
        await s.press("enter", "x", "t")
        assert [sent for sent in s.other.sent if sent[0] not in ("rate", "waits")] == [
            ("outcomes", {"on": True}),
            ("trace", {"on": True}),
        ]
        assert s.bench.texts()[-2:] == [": outcomes on", ": trace on"]


async def test_the_output_of_the_program_is_shown_and_commands_no_terminal(tmp_path):
    path = tmp_path / "output.log"
    path.write_bytes(b"first line\n\x1b[31mred\x1b[0m\n")
    async with stage(tmp_path, output=path) as s:
        await s.press("o")
        await s.sees("first line")
        assert "\x1b" not in s.text()
        await s.press("escape")
        assert "first line" not in s.text()


async def test_the_lines_that_hold_traced_memory_are_asked_for_and_shown(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("a")
        await s.sees("nothing is traced")
        await s.press("escape")
        s.one.report(AgentTick(10.0, created=4, live=4, ended=0, since=0, scan_time=10.0, traced=9 << 20))
        await s.pass_()
        await s.press("a")
        assert ("lines", {}) in s.one.sent
        assert ("lines", {}) not in s.other.sent
        s.one.report(TracedLines((TracedLine("/srv/cache.py", 12, 8 << 20, 1 << 20, 30),)))
        await s.pass_(1.0)
        await s.sees("/srv/cache.py:12", "8 MiB")
