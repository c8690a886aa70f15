"""The package as a whole: its pages, private names, which code runs, what is imported."""

import ast
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import click
import pytest

from concwatch.commands.cli import main
from concwatch.demos.keyboard import key_event
from concwatch.monitor.workers.catalog import PYTHONS
from concwatch.ui.keys.keys import MONITOR, WATCH
from tests.build_man import page
from tests.command_line import invoke
from tests.worker_driver import Worker, row_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "concwatch"


# The pages.

PAGES = (*ROOT.glob("*.md"), *PACKAGE.rglob("*.md"), *(ROOT / "tests").rglob("*.md"))
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
COMMANDS = main.list_commands(click.Context(main))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ | {4})?(concwatch [^`\n]+)$", re.MULTILINE)
INLINE = re.compile(r"`(concwatch [a-z-][^`]*)`")
ENDING = (
    "concwatch watch --metrics ",
    "concwatch watch --json ",
    "concwatch dashboard ",
    "concwatch run threads ",
)
"""README's commands that end by themselves, and need neither a terminal nor a toolchain."""


def anchors(text):
    """Return the anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"(?m)^#+ (.+)$", BLOCK.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_relative_link_of_a_page_resolves(path):
    for target in LINK.findall(BLOCK.sub("", path.read_text("utf-8"))):
        file, _, anchor = target.partition("#")
        found = path.parent / file if file else path
        if "://" in target or ("screenshots" in found.parts and not (ROOT / "screenshots").is_dir()):
            continue  # a source distribution has no pictures
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text("utf-8")), target


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        links = LINK.findall(path.read_text("utf-8"))
        waiting += [
            (path.parent / link.partition("#")[0]).resolve()
            for link in links
            if "://" not in link and link.partition("#")[0].endswith(".md")
        ]
    assert [path for path in PAGES if path not in reached and "golden" not in path.parts] == []


def test_the_description_on_pypi_has_no_relative_link():
    text = README
    for rule in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    links = [link for link in LINK.findall(text) if not link.startswith("#")]
    assert len(links) > 40
    repository = PROJECT["project"]["urls"]["Repository"]
    for before, after in zip(LINK.findall(README), LINK.findall(text), strict=True):
        kind = "raw" if before.startswith("screenshots/") else "blob"
        expected = before if "://" in before or before[0] == "#" else f"{repository}/{kind}/main/{before}"
        assert after == expected


def test_one_sentence_says_everywhere_what_the_program_is():
    sentence = PROJECT["project"]["description"]
    assert README.startswith(f"# concwatch\n\n**{sentence}**\n")
    assert inspect.cleandoc(main.help).startswith(f"{sentence}\n")
    assert f"concwatch \\- {sentence[0].lower()}{sentence[1:-1]}\n" in page()


def test_the_readme_names_every_command_and_every_extra():
    commands = README.partition("\n## Commands\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| (`.*?) \|", commands)
    named = set(re.findall(r"`([^`]+)`", " ".join(rows)))
    extras = set(PROJECT["project"]["optional-dependencies"]) - {"test", "check", "fuzz"}
    assert named == {"concwatch", *COMMANDS, *extras}


def commands(text):
    """Return the command lines of concwatch in a page, without comments."""
    blocks = "\n".join(body for kind, body in BLOCK.findall(text) if kind in ("", "sh"))
    indented = "\n".join(re.findall(r"(?m)^ {4}concwatch [a-z-].*$", BLOCK.sub("", text)))
    found = COMMAND.findall(f"{blocks}\n{indented}") + INLINE.findall(text)
    return sorted({re.sub(r"\s+#.*", "", command).strip() for command in found})


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_command_of_a_page_exists_with_its_options(path):
    for command in commands(path.read_text("utf-8")):
        words = shlex.split(command.partition(" > ")[0])[1:]
        if "…" in command or set(words) & {"COMMAND", "NAME"} or words == ["--version"]:
            continue
        named = 1 if words[0] in COMMANDS else 0
        assert named or words[0].startswith("-"), command
        done = invoke(*words[:named], "--help", *words[named:])
        assert (done.exit_code, done.stdout[:7]) == (0, "Usage: "), (command, done.output)


@pytest.mark.real
@pytest.mark.parametrize("command", [each for each in commands(README) if each.startswith(ENDING)])
def test_a_command_of_the_readme_runs(command, tmp_path):
    (tmp_path / "app.py").write_text("import asyncio\nasyncio.run(asyncio.sleep(0.5))\n")
    smaller = command.replace("9464", "0").replace("10k", "10 --seconds 0.2")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        smaller,
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout or [
        each for each in tmp_path.iterdir() if each.name != "app.py" and each.stat().st_size
    ]


def test_each_documented_key_is_bound():
    bound = {name for row in (*MONITOR, *WATCH) for name in row.keys.split(",")}
    for text in (README, (PACKAGE / "ui/README.md").read_text("utf-8")):
        tables = re.findall(r"(?ms)^\| key .*?\n\n", text)
        cells = "".join(re.findall(r"(?m)^\| (.*?) \|", "".join(tables)))
        documented = [key for key in re.findall(r"`([^`]+)`", cells) if key.isascii()]
        assert {"+", "[", "space"} <= set(documented)
        for key in documented:
            name = key_event(key).key
            assert name in bound or key in ("shift", "home", "end", "pgup", "pgdn", "tab"), key


def methods(text):
    """Return the qualified names of the methods in a source text."""
    return {
        f"{kind.name}.{each.name}"
        for kind in ast.parse(text).body
        if isinstance(kind, ast.ClassDef)
        for each in kind.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_the_ways_of_the_developers_page_name_functions_that_exist():
    text = (PACKAGE / "README.md").read_text("utf-8")
    ways = text.partition("\n## The way of ")[2].partition("\n## How to add ")[0]
    named = set(re.findall(r"`([A-Z]\w+\.\w+)`", ways))
    assert len(named) > 20
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        if any(f"class {name.partition('.')[0]}" in text for name in named):
            named -= methods(text)
    assert named == set()


# Names.


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
BRIDGE = "portable/bridge/memory_files.py"
"""Compiles the modules of the archive on another host."""
REPLACEMENTS = "portable/agent/hooking/replacements.py"
"""Compiles its own source text, with the parameters of the replaced function."""
UNSAFE = {"pickle", "marshal", "shelve", "dill", "yaml"}
ENGINES = "portable/worker/engines/__init__.py"
"""Imports the module of an engine that its own table names."""
IMPORTERS = {
    "commands/group.py",  # its own commands
    "measure/experiments/programs/tiny_tasks.py",  # the event loop of a published experiment
    "measure/experiments/formats.py",  # pyperf
    "portable/worker/tasks/user_function.py",  # the workload module:function
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
    assert "concwatch.portable.worker" in loaded
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
    assert "concwatch.portable.worker.reporter" in loaded
    # Of the machine only what is needed when no more files can be opened.
    machine = {module for module in loaded if module.startswith("concwatch.portable.machine.")}
    assert machine == {"concwatch.portable.machine.open_files"}
    assert "concwatch.portable.protocol.text" not in loaded
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
    assert not any(module.startswith("concwatch.portable.worker") for module in loaded)


@pytest.mark.real
def test_the_package_and_its_wire_import_no_other_module():
    assert imported_by("import concwatch.portable.protocol.wire") - imported_by("pass") == {
        "concwatch",
        "concwatch.portable",
        "concwatch.portable.protocol",
        "concwatch.portable.protocol.wire",
    }


LATER = (
    "click",
    "concwatch.charts.painters.picture",
    "concwatch.demos",
    "concwatch.hosts.link",
    "concwatch.links.process",
    "concwatch.measure.experiments",
    "concwatch.measure.layout",
    "concwatch.monitor.verdicts.memory_leak",
    "concwatch.pictures",
    "concwatch.links.agent_messages",
    "concwatch.recordings",
    "concwatch.ui.base.dialog",
    "glob",
    "hashlib",
    "plotext",
    "psutil",
    "statistics",
)
"""What the first frame does not need: each millisecond of importing delays it."""


@pytest.mark.real
def test_the_first_frame_imports_only_what_it_needs():
    loaded = imported_by(
        "import concwatch.__main__, concwatch.commands.screens.screen, concwatch.ui.apps.app"
    )
    loaded -= imported_by("import textual.app")  # on newer Pythons it needs more of the standard library
    assert not [module for module in loaded if module.startswith(LATER)]


LAB = """
import asyncio
from concwatch.commands.basics.lab import real_lab
from concwatch.monitor.workers.catalog import SHOWN
async def main(): real_lab(SHOWN).snapshot()
asyncio.run(main())
"""
WATCHED = """
import os
from concwatch.commands.watching.watch_session import watched
with watched(["sleep", "0"]) as (watching, _):
    watching.snapshot()
    os._exit(0)  # without the search for processes that it has left behind
"""


@pytest.mark.real
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems need psutil from the start")
@pytest.mark.parametrize("code", [LAB, WATCHED], ids=["lanes", "watched program"])
def test_the_figures_of_the_first_frame_are_read_without_psutil(code):
    assert "psutil" not in imported_by(code)


@pytest.mark.parametrize("module", ["keys.keys", "panels.panel"])
@pytest.mark.real
def test_what_only_a_type_checker_follows_is_not_imported(module):
    loaded = imported_by(f"import concwatch.ui.{module}")
    assert not [
        name for name in loaded if name.startswith(("concwatch.ui.screens.", "concwatch.ui.apps.app"))
    ]
