"""The package as a whole: the paths that README.md describes, names, which code runs, what is imported."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from concwatch.commands.lab import open_process
from concwatch.monitor.catalog import PYTHONS, find_engines
from concwatch.monitor.lab import Lab
from concwatch.monitor.settings import Settings
from concwatch.ui.app import ConcwatchApp
from concwatch.ui.watch_app import WatchApp
from tests.screen import ScreenStage, experiment_lab
from tests.watch_driver import WatchBench
from tests.worker_driver import Worker, row_of

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
        s = ScreenStage(app, pilot)
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
        s = ScreenStage(app, pilot)
        with remaining_steps("group") as left:
            left.remove((PACKAGE / "links/agent_link.py", "AgentLink.arrivals"))  # of a real agent
            for at in range(20):
                agent.report_groups(at / 2, fetch_page=(3, 10 * at))
                bench.advance(0.5)
                await s.settle()
            assert left == []
        app.exit()


# Names.


def test_each_test_file_has_the_name_of_a_module_of_its_package():
    for path in (ROOT / "tests").rglob("test_*.py"):
        room, module = path.relative_to(ROOT / "tests").parent, path.stem.removeprefix("test_")
        modules = {PACKAGE.name: PACKAGE} if room == Path() else {}
        for folder in (PACKAGE / room, ROOT / "tests" / room):
            modules |= {each.stem: each for each in folder.rglob("*.py")}
            modules |= {
                each.parent.name: each for each in folder.rglob("__init__.py") if "def " in each.read_text()
            }
        assert module in modules, path


def test_no_two_modules_define_a_class_of_the_same_name():
    modules = defaultdict(list)
    for path in sorted((*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"))):
        # Nested classes are qualified by the outer one, as Textual's messages are.
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def libraries(tree):
    """Return the names that a module imports from other packages than concwatch, tests and Python's own."""
    own = {PACKAGE.name, "_concwatch_agent", "tests", *sys.stdlib_module_names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                (each.asname or each.name).partition(".")[0]
                for each in node.names
                if each.name.partition(".")[0] not in own
            )
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module.partition(".")[0] not in own:
            assert not any(map(is_private, node.module.split("."))), ast.unparse(node)
            yield from (each.asname or each.name for each in node.names)


def test_no_private_name_of_a_library_is_used():
    for path in sorted((*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"))):
        tree = ast.parse(path.read_bytes())
        imported = set(libraries(tree))
        assert not any(map(is_private, imported)), path
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and is_private(node.attr):
                base = node.value
                while isinstance(base, ast.Attribute | ast.Call | ast.Subscript):
                    base = base.func if isinstance(base, ast.Call) else base.value
                assert not (isinstance(base, ast.Name) and base.id in imported), ast.unparse(node)


@cache
def private_names(kind):
    """Return the private names of methods and attributes in the source of a class."""
    return set(re.findall(r"(?:\bself|\bsuper\(\))\.(_[a-z]\w*)|\bdef (_[a-z]\w*)", inspect.getsource(kind)))


@pytest.mark.parametrize("room", ["ui", "charts", "commands", "exporters", "pictures", "demos"])
def test_no_class_shares_a_private_name_with_a_base_class_of_a_library(room):
    for path in (PACKAGE / room).rglob("*.py"):
        if "programs" in path.parts:  # importing one runs it
            continue
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(name)
        for kind in [
            each for each in vars(module).values() if isinstance(each, type) and each.__module__ == name
        ]:
            for base in kind.__mro__:
                if base.__module__.startswith(("textual", "click", "rich", "prometheus_client")):
                    assert not private_names(kind) & private_names(base), (kind, base)


@cache
def sources() -> tuple[tuple[str, ast.AST], ...]:
    """Return each call and import in the package, with its file."""
    return tuple(
        (str(path.relative_to(PACKAGE)), node)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call | ast.Import | ast.ImportFrom)
    )


def dotted(node: ast.expr) -> str:
    """Return the dotted name of an expression, with … for other parts."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "…"


@cache
def calls() -> tuple[tuple[str, str, ast.Call], ...]:
    """Return each call with its file and the dotted name of the function."""
    return tuple((file, dotted(node.func), node) for file, node in sources() if isinstance(node, ast.Call))


# Which code runs.

SHELLS = (
    "os.system", "os.popen", "create_subprocess_shell", "subprocess_shell", "getoutput", "getstatusoutput",
)  # fmt: skip
EVALUATORS = ("eval", "exec", "compile", "__import__", "runpy.run_path", "runpy.run_module")
EVENT_COMMAND = "exporters/event_command.py"
"""Runs the shell command that the user gives as ``--on-event``."""
DEMO = "demos/demo.py"
"""Runs the demo that the user names, a Python file."""
BRIDGE = "hosts/memory_files.py"
"""Compiles the modules of the archive on another host."""
REPLACEMENTS = "agent/replacements.py"
"""Compiles its own source text, with the parameters of the replaced function."""
UNSAFE = {"pickle", "marshal", "shelve", "dill", "yaml"}
ENGINES = "worker/engines/__init__.py"
"""Imports the module of an engine that its own table names."""
IMPORTERS = {
    "commands/group.py",  # its own commands
    "measure/experiments/programs/tiny_tasks.py",  # the event loop of a published experiment
    "measure/experiments/formats.py",  # pyperf
    "worker/user_function.py",  # the workload module:function
}


def test_no_process_is_started_by_a_shell_except_the_command_of_the_user():
    for file, name, node in calls():
        assert not name.endswith(SHELLS), f"{file}:{node.lineno}: {name}"
        assert not name.startswith(("os.spawn", "os.exec", "pty.")), f"{file}:{node.lineno}: {name}"
        shell = "shell" in {keyword.arg for keyword in node.keywords}
        assert not shell or file == EVENT_COMMAND, f"{file}:{node.lineno}"


def test_only_known_files_evaluate_text_or_import_by_name_and_none_unpickles():
    assert {file for file, name, _ in calls() if name in EVALUATORS} == {DEMO, BRIDGE, REPLACEMENTS, ENGINES}
    assert {file for file, name, _ in calls() if name.endswith("import_module")} == IMPORTERS
    for file, node in sources():
        if isinstance(node, ast.Import):
            unsafe = UNSAFE & {name.name.partition(".")[0] for name in node.names}
            assert not unsafe or (file, unsafe) == (BRIDGE, {"marshal"}), f"{file}:{node.lineno}"
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in UNSAFE, f"{file}:{node.lineno}"


# What is imported.


NEVER = {
    "textual",
    "rich",
    "psutil",
    "plotext",
    "click",
    "msgspec",
    "concwatch.monitor",
    "concwatch.links",
    "concwatch.runtimes",
    "concwatch.ui",
    "concwatch.system.page_server",
    "concwatch.system.echo_server",
    "pytest",
    "aiohttp",
    "requests",
    "urllib3",
}
HEAVY = {"json", "re", "typing", "asyncio", "enum", "inspect", "dataclasses", "logging", "tracemalloc"}
"""Expensive modules that an idle worker with threads does not need."""


def imported(noise):
    """Return the modules that ``-X importtime`` reported."""
    lines = [line for line in noise.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip() for line in lines}


def imported_by(code):
    """Return the modules that this interpreter imports to run ``code``."""
    command = [sys.executable, "-X", "importtime", "-c", code]
    return imported(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr)


@pytest.mark.parametrize("engine", PYTHONS, ids=lambda engine: engine.name)
@pytest.mark.real
def test_a_worker_imports_nothing_of_the_monitor(engine, tmp_path):
    engine = row_of(engine.name)
    if engine.missing():
        pytest.skip(engine.missing())
    kind = "async def" if engine.kind in ("asyncio", "uvloop", "asyncio-eager") else "def"
    (tmp_path / "jobs.py").write_text(
        f"import sys\n{kind} report(): sys.stderr.write(' '.join(['<', *sys.modules, '>']))\n"
    )
    with Worker(engine, cwd=tmp_path) as worker:
        worker.target(5)
        if "trace" in worker.ready["can"]:
            worker.do("trace", on=True)
        worker.do("trim")
        worker.refuse("workload", spec="slep:1")
        worker.do("refill", on=False)
        worker.do("workload", spec="jobs:report")
        worker.send("target", tasks=1)
        worker.until(lambda: ">" in worker.noise, "list of modules")
        loaded = set(worker.noise.partition("<")[2].partition(">")[0].split())
    assert "concwatch.worker" in loaded
    assert not NEVER & loaded
    others = {row.name for row in PYTHONS} - {engine.name}
    assert not {"uvloop", "gevent"} & others & loaded


@pytest.mark.parametrize("name", ["threads", "pool"])
@pytest.mark.real
def test_a_worker_with_threads_imports_no_expensive_module(name):
    engine = next(engine for engine in PYTHONS if engine.name == name)
    program, *arguments = engine.command()
    with Worker(name, command=[program, "-X", "importtime", *arguments]) as worker:
        worker.do("rate", hz=50)
        worker.do("workload", spec="hold")
        worker.target(20)
        worker.target(5)
        worker.do("refill", on=False)
        worker.do("gc", mode="frozen")
        worker.do("halt", wall="patience", value=1)
        worker.next_ticks(2)
        loaded = imported(worker.noise)
    assert "concwatch.worker.reporter" in loaded
    # Of concwatch.system only what is needed when no more files can be opened.
    own_system = {module for module in loaded if module.startswith("concwatch.system.")}
    assert own_system == {"concwatch.system.open_files"}
    assert "concwatch.protocol.text" not in loaded
    # The engine uses functools.partial; until Python 3.12 threading imports functools as well.
    own = {
        "threads": "import functools, threading",
        "pool": "from concurrent.futures import ThreadPoolExecutor",
    }
    engines_own = imported_by(own[name])
    extra = {module for module in loaded - engines_own if not module.startswith("concwatch")}
    assert not HEAVY & extra
    if name == "threads":
        assert extra <= {"__future__", "_json", "gc", "resource"}


@pytest.mark.real
@pytest.mark.parametrize(("server", "package"), [("page_server", "aiohttp"), ("echo_server", "")])
def test_a_server_imports_nothing_of_monitor_or_worker(server, package):
    imports = f"concwatch.system.{server}" + (f", {package}.web" if package else "")
    loaded = imported_by(f"import {imports}")
    assert not (NEVER - {package, f"concwatch.system.{server}"}) & loaded
    assert not any(module.startswith("concwatch.worker") for module in loaded)


@pytest.mark.real
def test_the_package_and_its_wire_import_no_other_module():
    assert imported_by("import concwatch.protocol.wire") - imported_by("pass") == {
        "concwatch",
        "concwatch.protocol",
        "concwatch.protocol.wire",
    }


LATER = (
    "click",
    "concwatch.charts.picture",
    "concwatch.demos",
    "concwatch.hosts.link",
    "concwatch.links.process",
    "concwatch.measure.experiments",
    "concwatch.measure.layout",
    "concwatch.monitor.memory_leak",
    "concwatch.pictures",
    "concwatch.protocol.agent_messages",
    "concwatch.recordings",
    "concwatch.ui.dialogs.dialog",
    "glob",
    "hashlib",
    "plotext",
    "psutil",
    "statistics",
)
"""What the first frame does not need: each millisecond of importing delays it."""


@pytest.mark.real
def test_the_first_frame_imports_only_what_it_needs():
    loaded = imported_by("import concwatch.__main__, concwatch.commands.screen, concwatch.ui.app")
    loaded -= imported_by("import textual.app")  # on newer Pythons it needs more of the standard library
    assert not [module for module in loaded if module.startswith(LATER)]


LAB = """
import asyncio
from concwatch.commands.lab import real_lab
from concwatch.monitor.catalog import SHOWN
async def main(): real_lab(SHOWN).snapshot()
asyncio.run(main())
"""
WATCHED = """
import os
from concwatch.commands.watch_session import watched
with watched(["sleep", "0"]) as (watching, _):
    watching.snapshot()
    os._exit(0)  # without the search for processes that it has left behind
"""


@pytest.mark.real
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems need psutil from the start")
@pytest.mark.parametrize("code", [LAB, WATCHED], ids=["lanes", "watched program"])
def test_the_figures_of_the_first_frame_are_read_without_psutil(code):
    assert "psutil" not in imported_by(code)


@pytest.mark.parametrize("module", ["keys", "panels.panel"])
@pytest.mark.real
def test_what_only_a_type_checker_follows_is_not_imported(module):
    loaded = imported_by(f"import concwatch.ui.{module}")
    assert not [name for name in loaded if name.startswith(("concwatch.ui.screens.", "concwatch.ui.app"))]
