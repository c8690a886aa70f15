"""The modules that workers, the page server and the wire import."""

import subprocess
import sys

import pytest

from concwatch.monitor.catalog import PYTHONS
from tests.worker_driver import Worker, row_of

pytestmark = pytest.mark.real

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


def test_the_page_server_imports_nothing_of_monitor_or_worker():
    loaded = imported_by("import concwatch.system.page_server, aiohttp.web")
    assert not (NEVER - {"aiohttp", "concwatch.system.page_server"}) & loaded
    assert not any(module.startswith("concwatch.worker") for module in loaded)


def test_the_package_and_its_wire_import_no_other_module():
    assert imported_by("import concwatch.protocol.wire") - imported_by("pass") == {
        "concwatch",
        "concwatch.protocol",
        "concwatch.protocol.wire",
    }


LATER = (
    "concwatch.charts.picture",
    "concwatch.demos",
    "concwatch.hosts.link",
    "concwatch.links.process",
    "concwatch.measure.experiments",
    "concwatch.pictures",
    "concwatch.protocol.agent_messages",
    "concwatch.recordings",
    "concwatch.ui.screens.dialog",
    "hashlib",
    "plotext",
    "psutil",
)
"""What the first frame does not need: each millisecond of importing delays it."""


def test_the_first_frame_imports_only_what_it_needs():
    loaded = imported_by("import concwatch.commands.cli, concwatch.ui.app")
    assert not [module for module in loaded if module.startswith(LATER)]


@pytest.mark.parametrize("module", ["keys", "panels.panel"])
def test_what_only_a_type_checker_follows_is_not_imported(module):
    loaded = imported_by(f"import concwatch.ui.{module}")
    assert not [name for name in loaded if name.startswith(("concwatch.ui.screens.", "concwatch.ui.app"))]
