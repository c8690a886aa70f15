"""How the agent gets into processes, through forks, and out of them again."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from concwatch.agent import places
from concwatch.agent.inject import gdb_command, script
from tests.agent_driver import Monitor, Process, eventually, finish
from tests.test_agent import EVERY

pytestmark = pytest.mark.real

NEWEST = sorted(EVERY.items(), key=lambda item: int(item[0].split(".")[1]))[-1][1]

ROOT = Path(places.__file__).parents[2]


@pytest.fixture
def monitor():
    with Monitor() as monitor:
        yield monitor


@pytest.fixture(params=sorted(EVERY, key=lambda version: int(version.split(".")[1])))
def python(request):
    return EVERY[request.param]


FORKS = """
import asyncio, os, sys
async def stays(): await asyncio.sleep(600)
async def main(name, count):
    tasks = [asyncio.create_task(stays()) for _ in range(count)]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
for count in (2, 3):
    if not os.fork():
        asyncio.run(main("child", count))
        sys.exit()
asyncio.run(main("parent", 1))
for _ in range(2): os.wait()
"""


def test_a_fork_is_a_process_of_its_own_and_no_warning_is_given(monitor, python):
    program = monitor.start(FORKS, python=python)
    by_pid = {monitor.process(number).ready["pid"]: monitor.process(number) for number in range(3)}
    parent = by_pid.pop(program.pid)
    parent.group("stays", created=1, live=1, since=0)
    assert {child.ready["ppid"] for child in by_pid.values()} == {program.pid}
    counts = []
    for child in by_pid.values():
        group = eventually(
            lambda child=child: (found := child.named("stays")) and found["live"] and found, "group"
        )
        counts.append(group["created"])
        child.group("stays", created=counts[-1], live=counts[-1], since=0)
    assert sorted(counts) == [2, 3]
    assert finish(program) == ""
    for process in (parent, *by_pid.values()):
        process.wait("end")
    assert len(monitor.processes) == 3


def test_a_fork_in_a_running_loop_finds_what_it_inherits(monitor):
    monitor.start(
        "import asyncio, os, time\n"
        "async def stays(): await asyncio.sleep(600)\n"
        "async def main():\n"
        "    tasks = [asyncio.create_task(stays()) for _ in range(5)]\n"
        "    await asyncio.sleep(0)\n"
        "    if not os.fork(): time.sleep(600)\n"
        "    await asyncio.gather(*tasks)\n"
        "asyncio.run(main())\n",
        python=EVERY.get("CPython 3.13", sys.executable),  # from 3.14 on a child has no list of them
    )
    monitor.process(1)
    first, second = monitor.processes
    child = first if first.ready["ppid"] == second.ready["pid"] else second
    child.group("stays", created=0, since=5, live=5)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_are_watched(monitor, python, method):
    program = monitor.start(
        "import asyncio, multiprocessing, sys\n"
        "async def stays(event): await asyncio.sleep(600)\n"
        "async def serve(end):\n"
        "    task = asyncio.create_task(stays(None))\n"
        "    await asyncio.get_running_loop().run_in_executor(None, end.wait)\n"
        "def work(end): asyncio.run(serve(end))\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context(sys.argv[1])\n"
        "    end = context.Event()\n"
        "    workers = [context.Process(target=work, args=(end,), name=f'crawler{at}') for at in range(2)]\n"
        "    for worker in workers: worker.start()\n"
        "    sys.stdin.read()\n"
        "    end.set()\n"
        "    for worker in workers: worker.join()\n",
        method,
        python=python,
    )
    for at in range(2):
        monitor.by_name(f"crawler{at}").group("stays", created=1, live=1)
    assert finish(program) == ""
    for process in monitor.processes:
        eventually(lambda process=process: process.closed, "end")


def test_workers_that_come_and_go_are_watched(monitor):
    program = monitor.start(
        "import asyncio, os, signal, sys\n"
        "async def handle(): await asyncio.sleep(600)\n"
        "async def serve(): await asyncio.gather(*[handle() for _ in range(4)])\n"
        "def begin():\n"
        "    if not os.fork():\n"
        "        signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "        asyncio.run(serve())\n"
        "for _ in range(4): begin()\n"
        "while True:\n"
        "    os.wait()\n"
        "    begin()\n"
    )
    monitor.process(4)
    workers = [process for process in monitor.processes if process.ready["ppid"] == program.pid]
    assert len(workers) == 4
    for worker in workers:
        worker.group("handle", live=4)
    os.kill(workers[0].ready["pid"], signal.SIGKILL)
    monitor.process(5).group("handle", live=4)
    eventually(lambda: workers[0].closed, "end of the one that was killed")


def test_a_child_that_execs_is_watched_once(monitor):
    program = monitor.start(
        "import subprocess, sys\n"
        "for more in ({}, {'preexec_fn': lambda: None}):\n"
        "    subprocess.run([sys.executable, '-c', 'import time; time.sleep(0.3)'], check=True, **more)\n"
        "print('done', flush=True)\n"
        "sys.stdin.read()\n"
    )
    assert program.stdout.readline() == "done\n"
    assert finish(program) == ""
    names = sorted(process.ready["name"] for process in monitor.processes)
    assert names == ["program.py", "python -c", "python -c"]


TELLS = """
import asyncio, gc, sys
async def stays(): await asyncio.sleep(600)
def left():
    hooks = [asyncio.BaseEventLoop.create_task.__code__.co_filename]
    hooks += map(repr, [*gc.callbacks, *sys.meta_path])
    names = ("concwatch/agent", "concwatch_agent.", "concwatch.agent.")
    return sum(any(name in hook for name in names) for hook in hooks)
async def main():
    tasks = [asyncio.create_task(stays()) for _ in range(5)]
    await asyncio.sleep(0)
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        if "create" in line: tasks.append(asyncio.create_task(stays()))
        if "attach" in line: exec(line[7:])
        print(left(), len(tasks), flush=True)
"""


def ask(program, line="look"):
    program.stdin.write(line + "\n")
    program.stdin.flush()
    return program.stdout.readline().split()[0]


@pytest.mark.parametrize("how", ["hangs up", "detaches"])
def test_without_a_monitor_the_program_is_as_before(monitor, python, how):
    program = monitor.start(TELLS + "asyncio.run(main())\n", python=python)
    process = monitor.process()
    process.group("stays", live=5)
    assert ask(program) == "3"
    if how == "detaches":
        process.send("detach")
    else:
        process.hang_up()
    eventually(lambda: ask(program, "create") == "0", "end of the hooks", patience=5)
    assert finish(program).split()[-1:] in ([], ["0"])


def test_a_hook_that_another_has_put_upon_ours_stays_and_works(monitor):
    program = monitor.start(
        TELLS + "before = asyncio.BaseEventLoop.create_task\n"
        "def mine(self, coro, **kw): return before(self, coro, **kw)\n"
        "asyncio.BaseEventLoop.create_task = mine\n"
        "asyncio.run(main())\n"
    )
    process = monitor.process()
    process.group("stays", created=5)
    process.hang_up()
    eventually(lambda: ask(program, "create") == "0", "end of the hooks", patience=5)
    assert ask(program, "create") == "0"
    finish(program)


def test_a_monitor_that_is_not_there_is_no_concern_of_the_program(python, tmp_path):
    tmp_path.chmod(0o700)
    for address in (tmp_path / "nobody", tmp_path / "no folder" / "nobody"):
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "concwatch/agent/site"),
            "CONCWATCH_AGENT": str(address),
        }
        done = subprocess.run(
            [python, "-c", TELLS + "asyncio.run(main())\n"],
            env=env,
            input="look\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert (done.stdout.split()[1], done.stderr) == ("5", "")


def test_the_next_sitecustomize_has_its_turn(monitor, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.seen = True\n")
    program = monitor.start(
        "import os, sys, sitecustomize\n"
        "mine = any('agent/site' in entry for entry in sys.path)\n"
        "print(sys.seen, sitecustomize.__file__, mine, os.environ['PYTHONPATH'])\n",
        PYTHONPATH=str(tmp_path),
    )
    seen, file, on_path, path = finish(program).split()
    assert (seen, file, on_path) == ("True", str(tmp_path / "sitecustomize.py"), "False")
    assert path.split(os.pathsep)[1:] == [str(tmp_path)]
    monitor.process().wait("end")


def test_without_another_sitecustomize_ours_is_what_is_imported(monitor):
    program = monitor.start("import sitecustomize, sys\nprint(sitecustomize.__name__, sys.argv[1:])\n", "x")
    assert finish(program) == "sitecustomize ['x']\n"


def test_a_program_that_closes_all_files_is_found_again_and_none_of_its_files_is_written_to(
    monitor, tmp_path
):
    program = monitor.start(
        TELLS + "import os\n"
        "os.closerange(3, 64)\n"
        f"files = [open({str(tmp_path)!r} + f'/{{at}}', 'wb') for at in range(20)]\n"
        "asyncio.run(main())\n"
        "for file in files: file.close()\n"
    )
    monitor.process(1).group("stays", live=5)
    assert ask(program) == "3"
    finish(program)
    assert all(not file.read_bytes() for file in tmp_path.iterdir())


def listening(program):
    path = next(iter(places.socket_paths(program.pid, os.geteuid())))
    paths = [path, *places.socket_paths(program.pid, os.geteuid())]
    return eventually(
        lambda: next((one for one in paths if os.path.exists(one)), None), "socket of the program"
    )


def start_that_listens(monitor, python):
    """Start a program that lets a monitor attach; return it, and the path of its socket."""
    program = monitor.start(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        + TELLS
        + "from concwatch import agent\nagent.start()\nasyncio.run(main())\nagent.stop()\n",
        python=python,
        watched=False,
    )
    return program, listening(program)


def test_a_program_that_listens_can_be_attached_to_again_and_again(monitor, python):
    program, path = start_that_listens(monitor, python)
    for before in (5, 6):
        assert ask(program) == "0"
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        places.check_peer(sock)
        process = Process(sock)
        process.group("stays", since=before, created=0, live=before, ended=0)
        assert ask(program, "create") == "3"
        process.group("stays", since=before, created=1, live=before + 1, ended=0)
        process.hang_up()
        eventually(lambda: ask(program) == "0", "end of the hooks", patience=5)
        eventually(lambda process=process: process.closed, "end of the connection")
    finish(program)
    assert not os.path.exists(path)


def test_a_monitor_that_hangs_up_at_once_does_not_end_the_agent(monitor, python):
    program, path = start_that_listens(monitor, python)
    for _ in range(3):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        process = Process(sock)
        process.group("stays", live=5)
        process.hang_up()
    finish(program)


def test_a_script_attaches_what_runs_already(monitor, python):
    program = monitor.start(TELLS + "asyncio.run(main())\n", python=python, watched=False)
    assert ask(program) == "0"
    assert ask(program, f"attach exec({script(monitor.address)!r})") == "3"
    process = monitor.process()
    process.group("stays", since=5, created=0, live=5)
    ask(program, "create")
    process.group("stays", since=5, created=1, live=6)
    assert ask(program, f"attach exec({script(monitor.address)!r})") == "3"
    process.send("detach")
    eventually(lambda: ask(program) == "0", "end of the hooks", patience=5)
    assert ask(program, f"attach exec({script(monitor.address)!r})") == "3"
    monitor.process(1).group("stays", since=6, created=0, live=6)
    finish(program)
    assert len(monitor.processes) == 2


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_attaches_what_runs_already(monitor, tmp_path):
    program = monitor.start(TELLS + "asyncio.run(main())\n", watched=False)
    assert ask(program) == "0"
    (tmp_path / "script.py").write_text(script(monitor.address))
    done = subprocess.run(
        gdb_command(program.pid, str(tmp_path / "script.py")),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "ptrace" in done.stderr.lower():
        pytest.skip("gdb may not attach here")
    monitor.process().group("stays", since=5, live=5)
    assert ask(program) == "3"
    finish(program)


@pytest.mark.skipif(not hasattr(sys, "remote_exec"), reason="Python 3.14 and newer have sys.remote_exec")
def test_remote_exec_attaches_what_runs_already(monitor, tmp_path):
    program = monitor.start(TELLS + "asyncio.run(main())\n", watched=False)
    assert ask(program) == "0"
    (tmp_path / "script.py").write_text(script(monitor.address))
    sys.remote_exec(program.pid, str(tmp_path / "script.py"))
    ask(program)
    monitor.process().group("stays", since=5, live=5)
    finish(program)


def test_a_program_of_gevent_goes_on(monitor):
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


def test_a_folder_that_others_may_enter_is_refused(tmp_path):
    tmp_path.chmod(0o755)
    with pytest.raises(PermissionError, match="not a folder that only this user may enter"):
        places.connect(str(tmp_path / "monitor"))
    tmp_path.chmod(0o700)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        places.check_folder(str(tmp_path / "link"))
    places.check_folder(str(tmp_path))
