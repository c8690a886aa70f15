"""The paths through the program that README.md describes, followed in the running program."""

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
PACKAGE = ROOT / "concwatch"
STEP = re.compile(r"^\d+\. \[`[^`]+`\]\(([^)]+)\) `([^`]+)`", re.MULTILINE)
LIMITS = {"target": 12, "group": 10, "tick": 12}
"""The maximal number of steps of each path."""

ELSEWHERE = ("concwatch/worker/", "concwatch/agent/")
"""The packages that run in another process."""

STORED = {
    "LaneCard._set_target",  # a message
    "BaseScreen.run_requested",  # a message
    "_read_commands",  # a pipe
    "TargetTracker.wanted",
    "Lane._receive",  # a pipe
    "Lane._sample",
    "MonitorScreen.show_snapshot",
    "ChangedGroups.send",
    "WatchedProcess.step",  # a socket
}
"""The steps that no earlier step calls: each takes the value from where an earlier step stored it."""


def paths():
    """Return the steps of each path: the file and the function."""
    sections = re.split(r"(?m)^### The path of a (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    names, texts = sections[1::2], sections[2::2]
    return {name: STEP.findall(text.split("\n### ")[0]) for name, text in zip(names, texts, strict=True)}


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


def test_each_step_of_a_path_exists_and_no_path_is_long():
    assert paths().keys() == LIMITS.keys()
    for path, steps in paths().items():
        assert 0 < len(steps) <= LIMITS[path]
        for file, name in steps:
            assert name in functions(ROOT / file), f"{file}: {name}"


def source(path, name):
    """Return the source of a function or method of a file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    body = ast.parse(text).body
    *owner, function = name.split(".")
    for kind in owner:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == kind)
    node = next(node for node in body if getattr(node, "name", "") == function)
    return ast.get_source_segment(text, node)


def test_each_step_in_another_process_is_called_in_an_earlier_step():
    for steps in paths().values():
        for number, (file, name) in enumerate(steps):
            if file.startswith(ELSEWHERE) and number and name not in STORED:
                function = name.rsplit(".", 1)[-1]
                assert any(function in source(*before) for before in steps[:number]), name


def _step(frame):
    """Return the step that a frame runs: the file and the qualified name of the function."""
    return Path(frame.f_code.co_filename), frame.f_code.co_qualname


@contextmanager
def remaining_steps(path):
    """Yield the steps of a path that have not run in this process yet; steps are removed as they run.

    A step counts only if an earlier step calls it, with no other function of the package in between, or if it
    is one of `STORED`.
    """
    left = [(ROOT / file, name) for file, name in paths()[path] if not file.startswith(ELSEWHERE)]
    passed = []

    def notice(frame, event, arg):
        if event != "call" or not left or _step(frame) != left[0]:
            return
        caller = frame.f_back
        while caller is not None and PACKAGE not in Path(caller.f_code.co_filename).parents:
            caller = caller.f_back
        if not passed or left[0][1] in STORED or (caller is not None and _step(caller) in passed):
            passed.append(left.pop(0))

    sys.setprofile(notice)
    try:
        yield left
    finally:
        sys.setprofile(None)


@pytest.mark.real
async def test_a_target_and_a_tick_follow_the_documented_paths():
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
        with remaining_steps("target") as left:
            await s.drop("threads", 50)
            await s.until(lambda: not left, lambda: str(left))
        await s.until(lambda: lane.live == 50, "50 tasks are live")
        with remaining_steps("tick") as left:
            await s.until(lambda: not left, lambda: str(left))


async def test_a_group_follows_the_documented_path(tmp_path):
    bench = WatchBench()
    agent = bench.agent(40)
    app = WatchApp(bench.watching, None, tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        s = Stage(app, pilot)
        with remaining_steps("group") as left:
            left.remove((PACKAGE / "links/agent_link.py", "AgentLink.arrivals"))  # of a real agent
            for at in range(20):
                agent.report_groups(at / 2, fetch_page=(3, 10 * at))
                bench.advance(0.5)
                await s.settle()
            assert left == []
        app.exit()
