"""Loading the agent into processes, following forks, and removing its hooks."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from concwatch.portable.agent.attaching.inject import (
    COMPILED,
    NOT_LOADED,
    PACKAGE,
    compile_agent,
    environment,
    script,
)
from concwatch.portable.agent.sending import places
from concwatch.portable.bridge.injection import inject
from tests.agent_driver import (
    EVERY,
    AgentProcess,
    eventually,
    finish,
    kept_waiting,
    oldest_and_newest,
    unexplained_blocks,
)

pytestmark = pytest.mark.real

ROOT = Path(places.__file__).parents[4]


def test_an_agent_that_was_not_compiled_when_installed_is_compiled_once_outside_of_the_program(tmp_path):
    package = tmp_path / "agent"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    variables = environment(
        str(tmp_path / "s" / "socket"), {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, str(package)
    )
    compiled = {*(tmp_path / "s" / COMPILED).rglob("*.pyc")}
    assert {path.name.partition(".")[0] + ".py" for path in compiled} == {
        path.name for path in package.rglob("*.py") if path.name not in NOT_LOADED
    }
    modules = "[one for name, one in sys.modules.items() if name.startswith('_concwatch_agent.')]"
    text = f"import sys, asyncio; print(*[one.__cached__ for one in {modules}])"
    output = subprocess.check_output([sys.executable, "-c", text], env=variables, text=True, timeout=60)
    assert {Path(path) for path in output.split()} <= compiled
    assert len(output.split()) > 10
    for path in compiled:
        installed = package / path.parent.relative_to(tmp_path / "s" / COMPILED / str(package)[1:])
        (installed / "__pycache__").mkdir(exist_ok=True)
        shutil.copy(path, installed / "__pycache__")
    compile_agent(str(package), str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


FORKS = """
import asyncio, multiprocessing, os, sys
async def stays(): await asyncio.sleep(600)
async def run(count, wait):
    tasks = [asyncio.create_task(stays()) for _ in range(count)]
    await asyncio.get_running_loop().run_in_executor(None, wait)
def work(end): asyncio.run(run(4, end.wait))
if __name__ == '__main__':
    for count in (2, 3):
        if not os.fork():
            asyncio.run(run(count, sys.stdin.read))
            sys.exit()
    workers, ends = [], []
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        ends.append(context.Event())
        workers.append(context.Process(target=work, args=(ends[-1],), name=method))
        workers[-1].start()
    asyncio.run(run(1, sys.stdin.read))
    for end in ends: end.set()
    for worker in workers: worker.join()
    for _ in range(2): os.wait()
"""


@oldest_and_newest
def test_forks_and_multiprocessing_are_watched_without_warnings(monitor, python):
    program = monitor.start(FORKS, python=python)
    for method in ("fork", "spawn", "forkserver"):
        monitor.by_name(f" {method}").group("stays", created=4, live=4, since=0)
    forks = eventually(
        lambda: (
            len(found := [process for process in monitor.processes if process.name == "program.py"]) == 3
            and all((process.last_report("stays") or {}).get("live") for process in found)
            and found
        ),
        "the program and its two forks",
    )
    assert sorted(process.last_report("stays")["created"] for process in forks) == [1, 2, 3]
    for process in forks:
        assert program.pid in (process.ready["pid"], process.ready["ppid"])
        assert process.last_report("stays")["since"] == 0
    assert finish(program) == ""
    for process in forks:
        process.wait("end")
    for process in monitor.processes:
        eventually(lambda process=process: process.closed, "end")


FORKS_IN_LOOP = """
import asyncio, os, sys, time
async def stays(): await asyncio.sleep(600)
async def main():
    tasks = [asyncio.create_task(stays()) for _ in range(5)]
    await asyncio.sleep(0.2)
    if not os.fork():
        time.sleep(1.5)
        asyncio.run(stays())
    await asyncio.gather(*tasks)
if sys.argv[1] == "uvloop":
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("loop", "python"),
    [*(("asyncio", python) for python in EVERY.values()), ("uvloop", sys.executable)],
    ids=[*EVERY, "uvloop"],
)
def test_the_loop_in_which_a_child_was_forked_is_not_one_of_the_childs(monitor, loop, python):
    monitor.start(FORKS_IN_LOOP, loop, python=python)
    monitor.process(1)
    first, second = monitor.processes
    child, parent = (first, second) if first.ready["ppid"] == second.ready["pid"] else (second, first)
    child.group("stays", live=1)
    (running,) = child.wait("tick", lambda tick: tick.get("loops"))["loops"]
    assert running["kind"].startswith("asyncio.")
    parent.group("stays", live=5)
    reported = [group for report in child.all("groups") for group in report["groups"]]
    assert {group["live"] for group in reported if group["name"] == "stays"} == {1}
    for one in (child, parent):
        assert unexplained_blocks(one, kept_waiting(one)) == []


def test_a_child_process_is_watched_once_with_and_without_a_preexec_fn(monitor):
    program = monitor.start(
        "import subprocess, sys\n"
        "for options in ({}, {'preexec_fn': lambda: None}):\n"
        "    subprocess.run([sys.executable, '-c', 'import time; time.sleep(0.3)'], check=True, **options)\n"
        "print('done', flush=True)\n"
        "sys.stdin.read()\n"
    )
    assert program.stdout.readline() == "done\n"
    assert finish(program) == ""
    names = sorted(process.ready["name"] for process in monitor.announced)
    assert names == ["program.py", "python -c", "python -c"]
    for process in monitor.announced:
        process.wait("waiting")


SERVICE = """
import asyncio, gc, sys
async def stays(): await asyncio.sleep(600)
def hooks():
    found = [asyncio.BaseEventLoop.create_task.__code__.co_filename]
    found += map(repr, [*gc.callbacks, *sys.meta_path])
    names = ("<concwatch/agent>", "concwatch/portable/agent", "concwatch_agent.", "concwatch.portable.agent.")
    return sum(any(name in hook for name in names) for hook in found)
async def main():
    tasks = [asyncio.create_task(stays()) for _ in range(5)]
    await asyncio.sleep(0)
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        if "create" in line: tasks.append(asyncio.create_task(stays()))
        if "attach" in line: exec(line[7:])
        print(hooks(), len(tasks), flush=True)
"""
"""Prints its number of hooks and tasks after each line of input, which may create a task or attach."""
RUN = SERVICE + "asyncio.run(main())\n"


def hooks(program, line="count"):
    """Send a line to a `SERVICE`, and return how many hooks of the agent it has."""
    program.stdin.write(line + "\n")
    program.stdin.flush()
    return int(program.stdout.readline().split()[0])


def wait_for_no_hooks(program, line="count"):
    eventually(lambda: hooks(program, line) == 0, "removal of the hooks")


def test_a_wrapper_around_a_hook_works_after_the_agent_has_left(monitor):
    program = monitor.start(
        SERVICE + "original = asyncio.BaseEventLoop.create_task\n"
        "def wrapper(self, coro, **kw): return original(self, coro, **kw)\n"
        "asyncio.BaseEventLoop.create_task = wrapper\n"
        "asyncio.run(main())\n"
    )
    process = monitor.process()
    process.group("stays", created=5)
    process.disconnect()
    wait_for_no_hooks(program, "create")
    assert hooks(program, "create") == 0
    finish(program)


@oldest_and_newest
def test_a_program_runs_normally_without_the_monitor(python, tmp_path):
    tmp_path.chmod(0o700)
    for address in (tmp_path / "missing", tmp_path / "missing folder" / "missing"):
        env = {"PYTHONPATH": str(ROOT / "concwatch/portable/agent/site"), "CONCWATCH_AGENT": str(address)}
        done = subprocess.run(
            [python, "-c", RUN],
            env={**os.environ, **env},
            input="count\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert (done.stdout.split()[1], done.stderr) == ("5", "")


SITECUSTOMIZE = """\
import sys
try: import sitecustomize
except ImportError: print("none")
else: print(sitecustomize.__file__)
print(sys.path)
"""


@oldest_and_newest
def test_the_users_sitecustomize_is_imported_if_there_is_one(monitor, python, tmp_path):
    bare = finish(monitor.start(SITECUSTOMIZE, python=python, watched=False))
    assert finish(monitor.start(SITECUSTOMIZE, python=python)) == bare
    (tmp_path / "sitecustomize.py").write_text("")
    both = [
        finish(monitor.start(SITECUSTOMIZE, python=python, watched=watched, PYTHONPATH=str(tmp_path)))
        for watched in (False, True)
    ]
    assert both[0] == both[1]
    assert both[0].split()[0] == str(tmp_path / "sitecustomize.py")
    eventually(lambda: len(monitor.announced) > 1, "the second process")
    monitor.announced[1].wait("waiting")


@oldest_and_newest
def test_what_every_process_imports_is_compiled_once_but_not_into_the_users_folders(
    monitor, python, tmp_path
):
    for _ in range(2):
        finish(monitor.start("pass", python=python, PYTHONDONTWRITEBYTECODE="1"))
    assert len(list(Path(monitor.folder).glob("site/__pycache__/sitecustomize.*.pyc"))) == 1
    finish(monitor.start("pass", python=python, PYTHONPYCACHEPREFIX=str(tmp_path)))
    assert not list(tmp_path.rglob(f"*{Path(monitor.folder).name}*"))


def test_the_agent_reconnects_when_the_program_closes_all_files_and_writes_to_none(monitor, tmp_path):
    program = monitor.start(
        SERVICE + "import os\n"
        "sys.stdin.readline()\n"
        "os.closerange(3, 2_000)\n"
        f"files = [open({str(tmp_path)!r} + f'/{{at}}', 'wb') for at in range(20)]\n"
        "asyncio.run(main())\n"
        "for file in files: file.close()\n"
    )
    monitor.process().wait("tick")
    program.stdin.write("\n")
    program.stdin.flush()
    monitor.process(1).group("stays", live=5)
    assert hooks(program) == 3
    finish(program)
    assert all(not file.read_bytes() for file in tmp_path.iterdir())


def connect(path):
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return sock


@oldest_and_newest
def test_a_listening_program_can_be_attached_to_repeatedly(monitor, python):
    program = monitor.start(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        + SERVICE
        + "from concwatch import agent\nagent.start()\nasyncio.run(main())\nagent.stop()\n",
        python=python,
        watched=False,
    )
    paths = places.socket_paths(program.pid, os.geteuid())
    path = eventually(lambda: next(filter(os.path.exists, paths), None), "socket of the program")

    def connected():
        try:
            return connect(path)
        except ConnectionRefusedError:  # it is bound, and does not listen yet
            return None

    eventually(connected, "a listening socket").close()  # a monitor that disconnects at once
    sock = connect(path)
    places.check_peer(sock)
    process = AgentProcess(sock)
    process.group("stays", since=5, created=0, live=5, ended=0)
    assert hooks(program, "create") == 3
    process.group("stays", since=5, created=1, live=6, ended=0)
    process.disconnect()
    wait_for_no_hooks(program)
    eventually(lambda: process.closed, "end of the connection")
    finish(program)
    assert not os.path.exists(path)


@oldest_and_newest
def test_the_script_attaches_a_running_program_repeatedly(monitor, python):
    program = monitor.start(RUN, python=python, watched=False)
    attach = f"attach exec({script(monitor.address)!r})"
    assert hooks(program) == 0
    assert hooks(program, attach) == 3
    process = monitor.process()
    process.group("stays", since=5, created=0, live=5)
    hooks(program, "create")
    process.group("stays", since=5, created=1, live=6)
    assert hooks(program, attach) == 3
    process.send("detach")
    wait_for_no_hooks(program)
    assert hooks(program, attach) == 3
    monitor.process(1).group("stays", since=6, created=0, live=6)
    finish(program)
    assert len(monitor.processes) == 2


BUSY = {
    "waits in its loop": RUN,
    "waits for a thread": (
        SERVICE + "import threading\n"
        "thread = threading.Thread(target=lambda: asyncio.run(main()))\nthread.start()\nthread.join()\n"
    ),
    "collects garbage": SERVICE
    + (
        "class Node:\n"
        "    def __del__(self): self.more = [bytearray(60) for _ in range(20)]\n"
        "def collect():\n"
        "    node = Node()\n"
        "    node.node = node\n"
        "    asyncio.get_running_loop().call_soon(collect)\n"
        "async def busy():\n"
        "    gc.set_threshold(20)\n"
        "    collect()\n"
        "    await main()\n"
        "asyncio.run(busy())\n"
    ),
    "allocates in threads": SERVICE
    + (
        "import threading, zlib\n"
        "def work():\n"
        "    while True: zlib.compress(bytes(20_000))\n"
        "for _ in range(2): threading.Thread(target=work, daemon=True).start()\n"
        "asyncio.run(main())\n"
    ),
}
"""Programs by what they do while gdb stops them."""

OLD = [
    python for minor, python in sorted((int(name.split(".")[1]), EVERY[name]) for name in EVERY) if minor < 14
]
"""Interpreters without ``sys.remote_exec``, oldest first."""


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
@pytest.mark.parametrize("program", BUSY.values(), ids=[name.replace(" ", "_") for name in BUSY])
@pytest.mark.parametrize("python", [OLD[0], OLD[-1]] if OLD else [])
def test_gdb_attaches_a_running_program(monitor, tmp_path, python, program):
    started = monitor.start(program, watched=False, python=python)
    assert hooks(started) == 0
    (tmp_path / "script.py").write_text(script(monitor.address))
    problem = inject(started.pid, str(tmp_path / "script.py"), gdb=True)
    if problem and "may not be traced" in problem:
        pytest.skip(problem)
    assert problem is None
    process = monitor.process()
    process.group("stays", since=5, live=5)
    assert hooks(started) == 3
    process.disconnect()
    wait_for_no_hooks(started)
    finish(started)


def test_a_gevent_program_reports_ticks_and_its_flag(monitor):
    pytest.importorskip("gevent")
    monitor.start(
        "from gevent import monkey\nmonkey.patch_all()\n"
        "import gevent, threading\n"
        f"exec({script(monitor.address)!r})\n"
        "while True: gevent.sleep(0.01)\n",
        watched=False,
        PYTHONWARNINGS="default",
    )
    process = monitor.process()
    assert any(flag.startswith("gevent") for flag in process.ready["flags"])
    process.tick(lambda tick: tick["number"] > 5)


def test_a_folder_that_other_users_can_access_is_rejected(tmp_path):
    tmp_path.chmod(0o755)
    with pytest.raises(PermissionError, match="not a folder that only this user can access"):
        places.connect(str(tmp_path / "monitor"))
    tmp_path.chmod(0o700)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        places.check_folder(str(tmp_path / "link"))
    places.check_folder(str(tmp_path))


def test_a_collection_while_asyncio_is_imported_does_not_start_the_agent_too_early(monitor):
    # The class whose method is replaced does not exist yet when the collection happens.
    text = (
        "import gc, sys, time\ntime.sleep(1.1)\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'asyncio.protocols': gc.collect()\n"
        "sys.meta_path.insert(0, Finder())\n"
        "import asyncio\n"
        "async def job(): await asyncio.sleep(0)\n"
        "async def main(): await asyncio.gather(*[asyncio.create_task(job()) for _ in range(7)])\n"
        "asyncio.run(main())\n"
    )
    finish(monitor.start(text))
    monitor.process().wait("end")
    found = [one.last_report("job") for one in monitor.announced]
    assert [report["created"] for report in found if report] == [7]
