"""``concwatch watch`` and ``attach`` with real programs."""

import contextlib
import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from concwatch.measure.watch_report import parse_watch_expectation
from concwatch.portable.bridge.injection import process_name
from concwatch.system.child import concwatch_command, shell_status
from tests.browser import until
from tests.command_line import LIMIT, refused, watch
from tests.faults.terminal import Terminal

pytestmark = pytest.mark.real

PROGRAM = """
import asyncio, sys
async def worker(): await asyncio.sleep(0.05)
async def abandoned(): await asyncio.sleep(60)
async def main():
    await asyncio.gather(*[worker() for _ in range(500)])
    tasks = [asyncio.ensure_future(abandoned()) for _ in range(3)]
    await asyncio.sleep(0)
    print("to stdout"); print("to stderr", file=sys.stderr)
loop = asyncio.new_event_loop()
loop.set_exception_handler(lambda loop, context: None)  # it would log the abandoned tasks
loop.run_until_complete(main())
sys.exit(7)
"""

SERVICE = """
import asyncio, os, sys
async def tick():
    while True:
        await asyncio.sleep(0.02)
async def main():
    print(os.getpid(), flush=True)
    await asyncio.gather(*[tick() for _ in range(20)])
asyncio.run(main())
"""


@pytest.fixture
def app(tmp_path):
    """Return a function that writes a program."""

    def write(source):
        (tmp_path / "app.py").write_text(source)
        return str(tmp_path / "app.py")

    return write


def test_the_report_counts_tasks_and_the_programs_exit_status_is_passed_on(app, tmp_path):
    program, out = app(PROGRAM), tmp_path / "out.json"
    with tempfile.TemporaryDirectory() as sockets:
        environment = {**os.environ, "TMPDIR": sockets}
        done = watch("--json", str(out), "--", sys.executable, program, env=environment)
        assert not os.listdir(sockets)
    assert (done.returncode, done.stdout, done.stderr) == (7, "to stdout\n", "to stderr\n")
    report = json.loads(out.read_text())
    assert (report["command"], report["exit"]) == ([sys.executable, program], 7)
    (process,) = report["processes"]
    assert (process["name"], process["how"], process["live_at_end"]) == ("app.py", "agent", 3)
    groups = {group["name"]: (group["created"], group["live"]) for group in process["groups"]}
    assert (groups["worker"], groups["abandoned"]) == ((500, 0), (3, 3))


def test_a_failed_expectation_names_the_coroutines_and_exits_with_status_1(app):
    program = app(PROGRAM)
    expected = ("--expect", "live_at_end <= 0", "--expect", "worker.created <= 500")
    done = watch("--json", "-", *expected, "--", sys.executable, program)
    assert done.returncode == 1
    *output, last = done.stderr.splitlines()
    assert output == ["to stdout", "to stderr"]  # standard output is the report's alone
    assert last == f"concwatch: FAILED live_at_end <= 0: is 3 (abandoned, {program}:4)"
    assert [row["holds"] for row in json.loads(done.stdout)["expectations"]] == [False, True]


FORGETS = """
import asyncio
async def background(): await asyncio.sleep(3600)
async def main():
    for _ in range(3): asyncio.ensure_future(background())
asyncio.run(main())
"""


def test_tasks_that_asyncio_run_cancels_are_left_over_in_the_report_and_in_an_expectation(app):
    program = app(FORGETS)
    done = watch("--json", "-", "--expect", "background.left_over <= 0", "--", sys.executable, program)
    assert done.returncode == 1
    assert done.stderr == "concwatch: FAILED background.left_over <= 0: is 3\n"
    (process,) = json.loads(done.stdout)["processes"]
    assert (process["live_at_end"], process["left_over"], process["destroyed"]) == (0, 3, 0)
    lines = {group["name"]: group["left_over_lines"] for group in process["groups"]}
    assert lines["background"] == [{"line": f"{program}:5", "tasks": 3}]
    assert lines["main"] == []


def test_seconds_terminates_the_program_and_the_report_has_where_its_tasks_wait(app):
    program = app(SERVICE)

    def groups(done):
        return {group["name"]: group for group in json.loads(done.stdout)["processes"][0]["groups"]}

    done = watch_until_ready(2, lambda done: groups(done).get("tick", {}).get("waits"), program)
    assert (done.returncode, json.loads(done.stdout)["exit"]) == (0, 143)
    (place,) = groups(done)["tick"]["waits"]
    assert (place["where"], place["tasks"], place["on"]) == (f"{program}:5", 20, "sleep")


def watch_until_ready(seconds, ready, *command, where=()):
    """Watch a program for some seconds; again, for longer, if it was not ``ready`` when they were over."""
    while True:
        done = watch("--json", "-", *where, "--seconds", str(seconds), "--", sys.executable, *command)
        if ready(done) or seconds >= LIMIT / 4:
            return done
        seconds *= 2


ENDED = """
import os, signal, sys, time
how = sys.argv[1]
def end(*_):
    if how == "again":  # as uvicorn does
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    os.abort() if how == "crashes" else sys.exit(3)
if how == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
elif how != "dies":
    signal.signal(signal.SIGTERM, end)
if how == "early":
    sys.exit(4)
print("ready", flush=True)
while True: time.sleep(0.1)
"""
"""Ends by SIGTERM in the way that its argument says, or before it."""


@pytest.mark.parametrize(
    ("how", "status", "own"),
    [
        ("dies", 0, 143),
        ("again", 0, 143),
        ("exits", 0, 3),
        ("deaf", 0, 137),
        ("crashes", -signal.SIGABRT, 134),
        ("early", 4, 4),
    ],
)
def test_a_program_that_is_ended_since_time_is_up_has_not_failed(how, status, own, app):
    early = how == "early"
    done = watch_until_ready(60 if early else 1.5, lambda done: "ready" in done.stderr, app(ENDED), how)
    assert ("ready" in done.stderr) != early
    assert (done.returncode, json.loads(done.stdout)["exit"]) == (status, own), done.stderr


def test_an_expectation_that_fails_is_status_1_also_if_time_is_up(app):
    expected = ("--expect", "tick.live_peak <= 1")
    done = watch("--json", "-", "--seconds", "1.5", *expected, "--", sys.executable, app(SERVICE))
    assert done.returncode == 1


DIES = """
import os, resource, signal, sys
number = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if number != signal.SIGKILL:
    signal.signal(number, signal.SIG_DFL)  # Python ignores SIGPIPE
os.kill(os.getpid(), number)
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGQUIT", "SIGUSR1", "SIGPIPE"])
def test_it_dies_of_the_signal_of_which_the_program_has_died_without_a_core_dump(name, app, tmp_path):
    number = int(getattr(signal, name))
    command = concwatch_command("watch", "--json", "report", "--", sys.executable, app(DIES), str(number))
    dumping = ["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", *command]
    assert subprocess.run(dumping, cwd=tmp_path, timeout=LIMIT, check=False).returncode == -number
    assert json.loads((tmp_path / "report").read_text())["exit"] == 128 + number
    assert not list(tmp_path.glob("core*"))


LOOP = """
for round in 1 2 3; do echo round $round; "$@"; done
echo after
"""


def test_ctrl_c_ends_the_loop_of_a_shell_in_which_it_runs(app, tmp_path):
    program = [sys.executable, "-u", app('import time; print("ready"); time.sleep(600)')]
    command = concwatch_command("watch", "--json", str(tmp_path / "report"), "--", *program)
    pid, terminal = pty.fork()
    if not pid:
        os.execvp("bash", ["bash", "-c", LOOP, "bash", *command])
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is closed when all have ended
        while data := os.read(terminal, 1000):
            # The whole line: Ctrl-C discards what the terminal has not shown yet.
            if b"ready\r\n" not in shown and b"ready\r\n" in shown + data:
                os.write(terminal, b"\x03")
            shown += data
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGINT
    assert b"round 2" not in shown
    assert b"after" not in shown
    assert json.loads((tmp_path / "report").read_text())["exit"] == 130


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or not shutil.which("unshare"), reason="needs namespaces"
)
def test_process_1_of_a_container_exits_with_128_plus_the_signal(app, tmp_path):
    program = [sys.executable, app("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")]
    command = concwatch_command("watch", "--json", str(tmp_path / "report"), "--", *program)
    contained = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *command]
    assert subprocess.run(contained, timeout=LIMIT, check=False).returncode == 143


TERMINATED = """
import os, signal, sys, time
file = open(sys.argv[1], "a", buffering=1)
asked = []
signal.signal(signal.SIGTERM, lambda *_: (asked.append(1), file.write("SIGTERM\\n")))
print(os.getpid(), flush=True)
while not asked: time.sleep(0.01)
time.sleep(0.5)  # a second signal would be written
file.write("cleaned up\\n")
"""


def test_killing_the_monitor_terminates_the_program_once(app, tmp_path):
    command = (
        "watch",
        "--json",
        str(tmp_path / "o"),
        "--metrics",
        "0",
        "--",
        sys.executable,
        app(TERMINATED),
    )
    written = tmp_path / "written"
    with subprocess.Popen(
        concwatch_command(*command, str(written)), stdout=subprocess.PIPE, text=True
    ) as monitor:
        program = psutil.Process(int(monitor.stdout.readline()))
        monitor.kill()
        monitor.wait(LIMIT)
    program.wait(LIMIT)
    assert written.read_text() == "SIGTERM\ncleaned up\n"


@pytest.mark.parametrize("keep", [(), ("--keep",)], ids=["ends", "kept"])
def test_killing_the_monitor_ends_the_program_unless_keep_is_given(keep, app, tmp_path):
    command = ("watch", "--json", str(tmp_path / "o"), *keep, "--", sys.executable, "-u", app(SERVICE))
    with subprocess.Popen(concwatch_command(*command), stdout=subprocess.PIPE, text=True) as monitor:
        program = psutil.Process(int(monitor.stdout.readline()))
        monitor.send_signal(signal.SIGKILL)
        monitor.wait(LIMIT)
    deadline = time.monotonic() + LIMIT
    try:
        while not keep and program.is_running() and program.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert not keep or program.is_running()
    finally:
        if program.is_running():
            program.kill()


CLEANS_UP = """
    import asyncio, signal, sys
    async def main():
        loop, asked = asyncio.get_running_loop(), asyncio.Event()
        for name in sys.argv[1:]:
            loop.add_signal_handler(getattr(signal, name), lambda name=name: (print(name), asked.set()))
        print("ready", flush=True)
        try:
            await asked.wait()
        finally:
            await asyncio.sleep(0.3)
            print("cleaned up", flush=True)
        sys.exit(5)
    asyncio.run(main())
"""
"""Exits with status 5 after a signal that it handles; prints each that it gets."""


@pytest.mark.skipif(not hasattr(signal, "sigwaitinfo"), reason="the system does not tell who sent a signal")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1"])
@pytest.mark.parametrize("handled", [True, False], ids=["handled", "not handled"])
def test_a_signal_is_passed_on_once_and_the_status_is_the_programs(name, handled, app, tmp_path):
    out = tmp_path / "out.json"
    program = [sys.executable, app(textwrap.dedent(CLEANS_UP)), *([name] if handled else [])]

    def run(*prefix):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([*prefix, *program], text=True, **streams) as one:
            assert one.stdout.readline() == "ready\n"
            one.send_signal(getattr(signal, name))
            return one.communicate(timeout=LIMIT)[0], one.returncode

    bare, status = run()
    assert run(*concwatch_command("watch", "--json", str(out), "--")) == (bare, status)
    assert json.loads(out.read_text())["exit"] == shell_status(status)


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="others discard blocked signals that are ignored"
)
@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_a_signal_that_is_ignored_at_the_start_is_passed_on_to_a_program_that_handles_it(name, app, tmp_path):
    program = [sys.executable, app(textwrap.dedent(CLEANS_UP)), name]
    command = concwatch_command("watch", "--json", str(tmp_path / "out.json"), "--", *program)
    ignoring = [
        "sh",
        "-c",
        f'trap "" {name[3:]}; exec "$@"',
        "sh",
    ]  # as a script's jobs in the background, or nohup
    with subprocess.Popen([*ignoring, *command], text=True, stdout=subprocess.PIPE) as watched:
        assert watched.stdout.readline() == "ready\n"
        watched.send_signal(getattr(signal, name))
        assert watched.communicate(timeout=LIMIT)[0] == f"{name}\ncleaned up\n"
        assert watched.returncode == 5


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pending signals are read in /proc")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_the_whole_process_group_is_not_sent_again(name, app, tmp_path):
    program = [sys.executable, app(textwrap.dedent(CLEANS_UP)), name]
    command = concwatch_command("watch", "--json", str(tmp_path / "out.json"), "--", *program)
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, start_new_session=True) as watched:
        assert watched.stdout.readline() == "ready\n"
        os.killpg(watched.pid, getattr(signal, name))  # as by ``timeout``, or a shell without its terminal
        assert watched.communicate(timeout=LIMIT)[0] == f"{name}\ncleaned up\n"
        assert watched.returncode == 5


@pytest.mark.skipif(not hasattr(signal, "sigwaitinfo"), reason="the system does not tell who sent a signal")
def test_ctrl_c_in_a_terminal_reaches_the_program_once(app, tmp_path):
    program = [sys.executable, app(textwrap.dedent(CLEANS_UP)), "SIGINT", "SIGTERM"]
    pid, terminal = pty.fork()
    if not pid:
        command = concwatch_command("watch", "--json", str(tmp_path / "out.json"), "--", *program)
        os.execv(command[0], command)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is closed when all have ended
        while data := os.read(terminal, 1000):
            # The whole line: Ctrl-C discards what the terminal has not shown yet.
            if b"ready\r\n" not in shown and b"ready\r\n" in shown + data:
                os.write(terminal, b"\x03")
            shown += data
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    assert shown.replace(b"^C", b"").split() == [b"ready", b"SIGINT", b"cleaned", b"up"]


class OnScreen:
    """A program that is watched on the screen of a terminal.

    It writes its pid to a file once it runs, and ends after as many signals as ``needed``.
    """

    def __init__(self, app, folder, signals=("SIGINT", "SIGTERM"), needed=1):
        self.ready, self.folder, self.shown = folder / "ready", folder, b""
        text = textwrap.dedent(CLEANS_UP).replace("sleep(0.3)", "sleep(1.5)")
        text = text.replace("sys.argv[1:]", "sys.argv[1:3]").replace(
            'print("ready", flush=True)', "open(sys.argv[3], 'w').write(str(__import__('os').getpid()))"
        )
        text = text.replace(
            "await asked.wait()", f"for _ in range({needed}): await asked.wait(); asked.clear()"
        )
        program = [sys.executable, app(text), *signals, str(self.ready)]
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            command = concwatch_command("watch", "--", *program)
            os.execve(command[0], command, {**os.environ, "TERM": "xterm-256color", "TMPDIR": str(folder)})
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))

    def read_until(self, text, check=lambda: True):
        """Read what is shown until ``text`` was, or to the end."""
        with contextlib.suppress(OSError):  # the terminal is closed when all have ended
            while text not in self.shown or not check():
                self.shown += os.read(self.terminal, 1 << 16)

    def press(self, key):
        os.write(self.terminal, key)

    def status(self):
        """Return the exit status."""
        self.read_until(b"never shown")
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def output(self):
        """Return what the program printed."""
        (file,) = self.folder.glob("concwatch-*/output-*.log")
        return file.read_text().split("\n")


@pytest.mark.parametrize("keys", [b"q", b"qq"])
def test_q_on_the_screen_asks_the_program_to_stop_and_waits_until_it_has(keys, app, tmp_path):
    screen = OnScreen(app, tmp_path, needed=len(keys))
    screen.read_until(b"app.py", screen.ready.exists)
    screen.press(b"q")
    screen.read_until(b"q again sends SIGTERM")
    screen.press(keys[1:])
    assert screen.status() == 5
    assert screen.output() == [*["SIGINT", "SIGTERM"][: len(keys)], "cleaned up", ""]
    assert b": exited with status 5; its output is in " in screen.shown


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_a_program_that_dies_of_the_signal_for_q_was_stopped_not_killed(key, app, tmp_path):
    screen = OnScreen(app, tmp_path, ("SIGTERM", "SIGTERM"))
    screen.read_until(b"app.py", screen.ready.exists)
    screen.press(key)
    assert screen.status() == -signal.SIGINT
    assert b": stopped; its output is in " in screen.shown
    assert b"killed by" not in screen.shown.split(b": stopped")[1]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1"])
def test_a_signal_to_the_screen_is_passed_on_and_the_status_is_the_programs(name, app, tmp_path):
    screen = OnScreen(app, tmp_path, ("SIGINT", name))
    screen.read_until(b"app.py", screen.ready.exists)
    os.kill(screen.pid, getattr(signal, name))
    assert screen.status() == 5
    assert screen.output() == [name, "cleaned up", ""]


def test_closing_the_terminal_is_a_hangup_for_the_program(app, tmp_path):
    screen = OnScreen(app, tmp_path, ("SIGHUP", "SIGTERM"))
    screen.read_until(b"app.py", screen.ready.exists)
    os.close(screen.terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(screen.pid, 0)[1]) == 5
    assert screen.output() == ["SIGHUP", "cleaned up", ""]


def test_ctrl_z_on_the_screen_suspends_both_and_both_continue(app, tmp_path):
    screen = OnScreen(app, tmp_path)
    screen.read_until(b"app.py", lambda: screen.ready.exists() and screen.ready.read_text())
    program = psutil.Process(int(screen.ready.read_text()))
    screen.press(b"\x1a")
    assert os.WIFSTOPPED(os.waitpid(screen.pid, os.WUNTRACED)[1])
    until(lambda: program.status() == psutil.STATUS_STOPPED, "the program is stopped")
    os.kill(screen.pid, signal.SIGCONT)
    screen.shown = b""
    screen.read_until(b"app.py", lambda: program.status() != psutil.STATUS_STOPPED)
    screen.press(b"q")
    assert screen.status() == 5


def test_files_of_a_killed_monitor_are_removed_at_the_next_start(app, tmp_path, monkeypatch):
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        killed = OnScreen(app, tmp_path)
        killed.read_until(b"app.py", lambda: killed.ready.exists() and killed.ready.read_text())
        program = psutil.Process(int(killed.ready.read_text()))
        os.kill(killed.pid, signal.SIGKILL)
        assert killed.status() == -signal.SIGKILL
        program.wait(LIMIT)
        (private,) = tmp_path.glob("concwatch-*")
        (log,) = private.iterdir()
        log.write_text("")  # the program may have printed something
        os.utime(log, (0, 0))
        assert len(list(Path(folder).glob("concwatch-*/watch-*"))) == 1
        killed.ready.unlink()
        second = OnScreen(app, tmp_path)
        second.read_until(b"app.py", second.ready.exists)
        assert len(list(Path(folder).glob("concwatch-*/watch-*"))) == 1
        assert log not in list(private.iterdir())
        second.press(b"q")
        assert second.status() == 5
        assert not list(Path(folder).iterdir())


EXECUTES = """
    import asyncio, os, sys
    async def first(): await asyncio.sleep(600)
    async def second(): await asyncio.sleep(600)
    async def main():
        again = len(sys.argv) > 1
        kept = [asyncio.create_task((second if again else first)()) for _ in range(3 if again else 50)]
        await asyncio.sleep(1.5)
        if not again: os.execv(sys.executable, [sys.executable, *sys.argv, "again"])
    asyncio.run(main())
"""


def test_a_program_that_executes_another_one_is_two_processes(app):
    report = json.loads(watch("--json", "-", "--", sys.executable, app(textwrap.dedent(EXECUTES))).stdout)
    groups = [
        {group["name"]: group["created"] for group in row["groups"] if group["name"] in ("first", "second")}
        for row in report["processes"]
    ]
    assert groups == [{"first": 50}, {"second": 3}]
    assert report["processes"][0]["reason"] == "it executed another program"
    assert [row["pid"] for row in report["processes"]] == [report["processes"][0]["pid"]] * 2


BECOMES = """
    import asyncio, os
    async def first(): await asyncio.sleep(600)
    async def main():
        kept = [asyncio.create_task(first()) for _ in range(50)]
        await asyncio.sleep(1.5)
        os.execv("/bin/sleep", ["sleep", "4"])
    asyncio.run(main())
"""


def test_a_program_that_executes_one_in_another_language_is_two_processes(app):
    report = json.loads(watch("--json", "-", "--", sys.executable, app(textwrap.dedent(BECOMES))).stdout)
    python, sleep = report["processes"]
    assert (python["how"], python["reason"], python["live"]) == ("agent", "it executed another program", None)
    assert {group["name"]: group["created"] for group in python["groups"]}["first"] == 50
    assert (sleep["name"], sleep["how"], sleep["reason"]) == ("sleep", "outside", "exited with status 0")
    assert (sleep["pid"], sleep["runtime"], sleep["created"]) == (python["pid"], None, None)


UNREAPED = """
    import asyncio, os, sys
    if not os.fork():
        async def job(): await asyncio.sleep(1.5)
        asyncio.run(job())
        sys.exit()
    import time
    time.sleep(4)
"""


def test_a_process_that_is_not_reaped_has_ended_and_keeps_its_last_memory(app):
    report = json.loads(watch("--json", "-", "--", sys.executable, app(textwrap.dedent(UNREAPED))).stdout)
    child = next(row for row in report["processes"] if any(group["name"] == "job" for group in row["groups"]))
    assert (child["reason"], child["live_at_end"]) == ("ended", 0)
    assert child["rss_last"] > 1 << 20  # never 0


def test_a_name_with_control_characters_is_made_safe(app, tmp_path):
    program = tmp_path / "a\x1b]0;title\x07\u202e\nb.py"
    program.write_text("print('ran')\n")
    report = json.loads(watch("--json", "-", "--", sys.executable, program).stdout)
    assert all(row["name"].isprintable() for row in report["processes"])
    assert process_name(os.getpid()).isprintable()


NAMES = """
import os, random, subprocess
choose = random.Random(1).choice
bad = ["\\x1b]0;title\\x07", "\\x1b[31m", "\\n", "\\r", "\\x7f", "\\t", "\\x85"]
bad += ["\\u202e", "\\u200f", "\\x9b31m", "\\u2066"]
middles = ["".join(choose(bad) for _ in range(3)) for _ in range(50)]
names = [os.fsencode(f"n{at}{middle}") + b"\\xff\\xc3" + b"z%d" % at for at, middle in enumerate(middles)]
for each in [subprocess.Popen([name, "600"], executable="sleep") for name in names]: each.wait()
"""


@pytest.mark.parametrize("where", [(), ("--host", "env")], ids=["here", "on a host"])
def test_no_byte_of_fifty_names_reaches_the_report_raw(where, app):
    def names_of(done):
        return [row["name"] for row in json.loads(done.stdout)["processes"]]

    done = watch_until_ready(2, lambda done: len(names_of(done)) > 50, app(NAMES), where=where)
    names = names_of(done)
    assert len(names) == 51
    assert all(name.isprintable() for name in names)
    assert all(character >= " " for character in done.stdout.replace("\n", ""))


def test_no_byte_of_fifty_names_reaches_the_terminal_raw(app):
    program = app(NAMES)
    command = ("-m", "concwatch", "watch", "--", sys.executable, program)
    with Terminal(*command, size=(160, 100)) as terminal:
        terminal.until(lambda: all(f"z{at} " in terminal.text() for at in range(50)), "all names")
        shown = bytes(terminal.output)
    for text in ("\x1b]0;title", "\x85", "\u202e", "\u200f", "\x9b", "\u2066"):
        assert text.encode() not in shown
    assert b"\xff" not in shown


def test_what_the_report_prints_can_be_expected():
    expectation = parse_watch_expectation("outer.<locals>.inner.live_peak < 100")
    assert (expectation.subject, expectation.metric) == ("outer.<locals>.inner", "live_peak")
    assert parse_watch_expectation("<lambda>.created<=5").subject == "<lambda>"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("watch", "--json", "-"), "no command follows --"),
        (("watch", "--json", "out", "--", "no-such-program"), 'no program "no-such-program" was found'),
        (
            ("watch", "--expect", "live <= 0", "--", "true"),
            "--expect has no effect on the screen without --json",
        ),
        (("watch", "--seconds", "3", "--", "true"), "--seconds has no effect on the screen without --json"),
        (("watch", "--json", "-", "--expect", "lives < 3", "--", "true"), 'unknown metric "lives"'),
        (("watch", "--json", "/", "--", "true"), '--json: file "/" cannot be written (is a folder)'),
        (
            ("watch", "--json", "-", "--keep", "--host", "env A=1", "--", "true"),
            "--keep cannot be used with --host: a program on another host ends with its connection",
        ),
        (("attach", "999999999"), '"999999999" is not a PID; expected the PID of a process'),
        (("attach",), "Missing argument 'PID...'"),
    ],
)
def test_invalid_arguments_are_a_one_line_error_and_start_nothing(arguments, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert problem in refused(*arguments)
    assert not list(tmp_path.iterdir())
