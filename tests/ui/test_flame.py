"""The flame graph of a watched process, with fake agents."""

from contextlib import asynccontextmanager

import pytest

from concwatch.links.agent_messages import Profile, ProfileFrame, ProfileStack
from concwatch.links.messages import Error
from concwatch.ui.apps.watch_app import WatchApp
from concwatch.ui.dialogs.flame import FlameScreen
from concwatch.ui.widgets.charts.flame_view import FlameView
from tests.screen import ScreenStage, running
from tests.watch_driver import WatchBench

FRAMES = (
    ProfileFrame("handle", "/srv/app.py:10", own=True),
    ProfileFrame("dumps", "/usr/lib/python3.11/json/__init__.py:231"),
    ProfileFrame("report", "/srv/app.py:30", own=True),
    ProfileFrame("event loop"),
)
PROFILE = Profile(
    10.0,
    1.0,
    1_000,
    100,
    FRAMES,
    (
        ProfileStack("main", (0, 1), 0.6, 60),
        ProfileStack("main", (2,), 0.3, 30),
        ProfileStack("main", (3,), 0.1, 10),
    ),
)


class FlameStage(ScreenStage):
    @property
    def view(self):
        return self.app.screen.query_one(FlameView)

    async def advance(self, seconds=0.3):
        self.bench.advance(seconds)
        await self.settle()

    async def answer(self, report=PROFILE):
        self.agent.report(report)
        await self.advance()

    def selected(self):
        return self.view.selected.name


@asynccontextmanager
async def stage(tmp_path, size=(120, 40)):
    bench = WatchBench()
    agent = bench.agent(40)
    app = WatchApp(bench.watching, None, tmp_path)
    async with running(app, size) as pilot:
        bench.advance(0.1)
        s = FlameStage(app, pilot)
        s.bench, s.agent = bench, agent
        await s.settle()
        await s.press("F")
        await s.sees("sampling its stacks for 10 s")
        yield s
        app.exit()  # so that it stops stepping before its screen is removed


@pytest.mark.parametrize("size", [(60, 14), (80, 24), (120, 40), (200, 60)], ids="{0[0]}x{0[1]}".format)
async def test_the_graph_is_shown_once_the_agent_has_answered(tmp_path, size):
    async with stage(tmp_path, size) as s:
        assert ("profile", {"seconds": 10.0}) in s.agent.sent
        await s.answer()
        await s.sees("1 s of CPU time in 10 s", "most in handle 60 %, report 30 %", "dumps", "event loop"[:3])
        await s.sees("60 % ± 9.6", "srv/app.py:10", "lines: :10 100 %")


async def test_keys_select_zoom_and_go_back(tmp_path):
    async with stage(tmp_path) as s:
        await s.answer()
        await s.sees("handle")
        assert s.selected() == "handle"
        await s.press("right")
        assert s.selected() == "report"
        await s.press("right", "right", "right")
        assert s.selected() == "event loop"
        await s.press("left", "left", "down")
        assert s.selected() == "dumps"
        await s.press("down", "enter")
        await s.settle()
        assert "report" not in "\n".join(row.plain for row in s.view.rows(100))
        await s.press("up", "enter")
        await s.press("escape")
        assert "report" not in "\n".join(row.plain for row in s.view.rows(100))
        await s.press("escape")
        assert "report" in "\n".join(row.plain for row in s.view.rows(100))
        await s.press("escape")
        assert not isinstance(s.app.screen, FlameScreen)


async def test_a_click_zooms_into_a_block_and_one_on_its_caller_out_again(tmp_path):
    async with stage(tmp_path) as s:
        await s.answer()
        await s.sees("report")
        row = next(y for y, line in enumerate(s.view.rows(s.view.size.width)) if "report" in line.plain)
        column = s.view.rows(s.view.size.width)[row].plain.index("report")
        await s.click(FlameView, column, row)
        assert s.selected() == "report"
        assert "handle" not in "\n".join(line.plain for line in s.view.rows(100))
        await s.click(FlameView, 5, 0)
        assert s.selected() == "app.py 40"
        assert "handle" in "\n".join(line.plain for line in s.view.rows(100))


async def test_it_is_exported_as_folded_stacks_and_svg(tmp_path):
    async with stage(tmp_path) as s:
        await s.answer()
        await s.sees("handle")
        await s.press("e")
        folded, svg = s.app.pictures.saved
        assert folded.read_text().splitlines()[0] == "handle (srv/app.py);dumps (json/__init__.py) 600000"
        assert svg.read_text().startswith("<svg")
        assert (folded.suffix, svg.suffix, folded.stem) == (".txt", ".svg", svg.stem)
        assert "flame-app-py-40" in svg.stem


async def test_sampling_ends_when_the_dialog_is_closed_or_enter_is_pressed(tmp_path):
    async with stage(tmp_path) as s:
        await s.press("enter")
        assert s.agent.sent[-1] == ("profile", {"seconds": 0})
        await s.answer()
        await s.sees("handle")
        await s.press("q", "F")
        assert s.agent.sent[-1] == ("profile", {"seconds": 10.0})
        await s.press("escape")
        await s.settle()
        assert s.agent.sent[-1] == ("profile", {"seconds": 0})


@pytest.mark.parametrize("ends", ["refused", "lost", "overdue"])
async def test_why_there_is_no_graph_is_said(tmp_path, ends):
    async with stage(tmp_path) as s:
        if ends == "refused":
            s.agent.report(Error("the CPU time of a thread is not known on darwin", "profile"))
            problem = "not known on darwin"
        elif ends == "lost":
            s.agent.disconnect()
            problem = "its agent's connection ended"
        else:
            s.bench.now += 30
            problem = "its agent has not answered"
        await s.advance()
        await s.sees(problem)


async def test_a_process_without_cpu_time_is_said(tmp_path):
    async with stage(tmp_path) as s:
        await s.answer(Profile(10.0, 0.0, 1_000))
        await s.sees("used no CPU time")
