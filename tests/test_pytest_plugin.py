"""``pytest --concwatch``: what each test leaves over, in a pytest of its own."""

import json
import subprocess
import sys

import pytest

from tests.command_line import LIMIT, watch

pytestmark = pytest.mark.real

PROGRAM = """
import asyncio, sys, threading, unittest
from concurrent.futures import ThreadPoolExecutor
import pytest

stop, kept = threading.Event(), []
async def background(): await asyncio.sleep(3600)
def waits(): stop.wait()

@pytest.mark.asyncio
@pytest.mark.parametrize("number", range(2))
async def test_forgets(number): asyncio.ensure_future(background())

class Case(unittest.IsolatedAsyncioTestCase):
    async def test_case(self):
        for _ in range(5): asyncio.ensure_future(background())

@pytest.fixture
def anyio_backend(): return "asyncio"
@pytest.mark.anyio
async def test_anyio(anyio_backend): asyncio.ensure_future(background())

def test_run():
    async def main(): asyncio.create_task(background())
    asyncio.run(main())

@pytest.mark.asyncio(loop_scope="module")
async def test_shared_loop(): kept.append(asyncio.create_task(background()))

def test_thread(): threading.Thread(target=waits, daemon=True).start()

def test_executor():
    kept.append(ThreadPoolExecutor(1))
    kept[-1].submit(int).result()

@pytest.fixture(scope="module")
def server():
    thread = threading.Thread(target=waits)
    thread.start()
    yield
    stop.set()
    thread.join()
def test_uses_a_server(server): pass

@pytest.mark.asyncio
async def test_tidy():
    task = asyncio.create_task(background())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    with ThreadPoolExecutor(1) as pool: pool.submit(int).result()
    thread = threading.Thread(target=int)
    thread.start()
"""

TOTAL = "10 tasks, 1 thread, 1 executor left over by 8 tests"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "test_it.py").write_text(PROGRAM)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return tmp_path


def command(*options):
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]


def run(folder, *options):
    return subprocess.run(
        command(*options), cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False
    )


def test_what_each_test_leaves_over_is_reported_with_the_line_that_created_it(folder):
    done = run(folder, "--concwatch")
    assert done.returncode == 0, done.stdout
    section = done.stdout.partition("concwatch: left over")[2].splitlines()[1:]
    number = {text: at for at, text in enumerate(PROGRAM.splitlines(), 1)}

    def line(start):
        (found,) = (at for text, at in number.items() if text.strip().startswith(start))
        return f"created at {folder}/test_it.py:{found}"

    forgets = line("async def test_forgets")
    assert set(section[: section.index(TOTAL)]) == {
        f"test_it.py::test_forgets[0]: 1 task background, {forgets}",
        f"test_it.py::test_forgets[1]: 1 task background, {forgets}",
        f"test_it.py::Case::test_case: 5 tasks background, {line('for _ in range(5)')}",
        f"test_it.py::test_anyio: 1 task background, {line('async def test_anyio')}",
        f"test_it.py::test_run: 1 task background, {line('async def main')}",
        # The loop of the module is closed after its last test.
        f"test_it.py::test_tidy: 1 task background, {line('async def test_shared_loop')}"
        " by test_it.py::test_shared_loop",
        f"test_it.py::test_thread: 1 thread test_it.waits, {line('def test_thread')}",
        f"test_it.py::test_executor: 1 executor ThreadPoolExecutor, {line('kept.append(ThreadPool')}",
    }


@pytest.mark.parametrize("option", ["--concwatch", "--concwatch-fail"])
def test_with_xdist_the_workers_report(folder, option):
    done = run(folder, option, "-n", "2", "--dist", "loadfile")
    assert TOTAL in done.stdout.splitlines()
    assert done.returncode == (option == "--concwatch-fail")


def test_such_tests_are_errors_if_that_is_asked_for(folder):
    done = run(folder, "--concwatch-fail")
    assert done.returncode == 1
    assert "10 passed, 8 errors in" in done.stdout
    assert "\nleft over: 1 thread test_it.waits, created at " in done.stdout


def test_a_watched_pytest_counts_the_same(folder):
    out = folder / "report.json"
    done = watch("--json", str(out), "--", *command("--concwatch"), cwd=folder)
    assert TOTAL in done.stdout.splitlines()
    assert [process["left_over"] for process in json.loads(out.read_text())["processes"]] == [10]


def test_without_the_options_only_the_options_are_imported(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import sys\ndef test_it():\n    assert [m for m in sys.modules if m.startswith('concwatch.')]"
        " == ['concwatch.pytest_plugin']\n"
    )
    assert run(tmp_path).returncode == 0
