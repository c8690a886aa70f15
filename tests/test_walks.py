"""The ways through the program that README describes, as they are seen in it."""

import ast
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from concwatch.commands.lab import open_process
from concwatch.monitor.catalog import find_engines
from concwatch.monitor.lab import Lab
from concwatch.monitor.settings import Settings
from concwatch.ui.app import ConcwatchApp
from concwatch.ui.watch_app import WatchApp
from tests.screen import Stage, experiment_lab
from tests.watch_driver import WatchBench

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"^\d+\. \[`[^`]+`\]\(([^)]+)\) `([^`]+)`", re.MULTILINE)
MOST = {"target": 12, "group": 10, "tick": 12}
"""The places of each way at most."""

ELSEWHERE = ("concwatch/worker/", "concwatch/agent/")
"""What runs in another process."""


def ways():
    """Return the places of each way: the file and the function."""
    sections = re.split(r"(?m)^### The way of a (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    names, texts = sections[1::2], sections[2::2]
    return {name: PLACE.findall(text.split("\n### ")[0]) for name, text in zip(names, texts, strict=True)}


def functions(path):
    """Return the qualified names of the functions and methods of a file."""
    found = set()
    for node in ast.parse(path.read_bytes()).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        found |= {
            prefix + each.name for each in inside if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }
    return found


def test_each_place_of_a_way_exists_and_no_way_is_long():
    assert ways().keys() == MOST.keys()
    for way, places in ways().items():
        assert 0 < len(places) <= MOST[way]
        for path, name in places:
            assert name in functions(ROOT / path), f"{path}: {name}"


@contextmanager
def watched_places(way):
    """Yield a list of the places of a way that are still to come in this process; it gets shorter."""
    left = [place for place in ways()[way] if not place[0].startswith(ELSEWHERE)]

    def notice(frame, event, arg):
        code = frame.f_code
        if event == "call" and left and code.co_name == left[0][1].rsplit(".", 1)[-1]:
            path, name = left[0]
            owner = type(frame.f_locals.get("self")).__mro__ if "." in name else ()
            inside = not owner or any(kind.__name__ == name.split(".")[0] for kind in owner)
            if inside and code.co_filename == str(ROOT / path):
                del left[0]

    sys.setprofile(notice)
    try:
        yield left
    finally:
        sys.setprofile(None)


@pytest.mark.real
async def test_a_target_and_a_tick_take_the_ways_that_are_described():
    def make_lab():
        return Lab(find_engines(["threads"]), settings=Settings("hold", trace=False), open_link=open_process)

    app = ConcwatchApp(make_lab, experiment_lab)
    async with app.run_test(size=(120, 40)) as pilot:
        s = Stage(app, pilot)
        await s.until(lambda: app.lab is not None and app.screen.query("LaneCard"), "the monitor")
        lane = s.lane("threads")
        s.lab.switch(lane, True)
        await s.until(lambda: lane.stats.tick, "the worker runs")
        await s.drag("threads", 50)
        with watched_places("target") as left:
            await s.drop("threads", 50)
            await s.until(lambda: not left, lambda: str(left))
        await s.until(lambda: lane.live == 50, "50 tasks are live")
        with watched_places("tick") as left:
            await s.until(lambda: not left, lambda: str(left))


async def test_a_group_takes_the_way_that_is_described(tmp_path):
    bench = WatchBench()
    agent = bench.agent(40)
    app = WatchApp(bench.watching, None, tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        s = Stage(app, pilot)
        with watched_places("group") as left:
            left.remove(("concwatch/links/agent_link.py", "AgentLink.arrivals"))  # of a real agent
            for at in range(20):
                agent.report_groups(at / 2, fetch_page=(3, 10 * at))
                bench.advance(0.5)
                await s.settle()
            assert left == []
        app.exit()
