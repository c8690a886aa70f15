"""Tasks that a loop leaves behind: counted exactly, by coroutine function and creating line."""

import subprocess
import sys

import pytest

from tests.agent_driver import EVERY, finish, with_newest

pytestmark = pytest.mark.real

PROGRAM = """
import asyncio, gc, sys
async def background(): await asyncio.sleep(3600)
async def ends(): await asyncio.sleep(0)
async def main():
    for _ in range(7):
        asyncio.ensure_future(background())
    asyncio.create_task(background())
    await asyncio.create_task(ends())
async def tidy():
    task = asyncio.create_task(background())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
def cancel_all(loop):
    tasks = asyncio.all_tasks(loop)
    for task in tasks: task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
way = sys.argv[1]
if way == "run":
    asyncio.run(main())
elif way == "uvloop":
    import uvloop
    uvloop.run(main())
elif way == "raises":
    async def raises():
        await main()
        raise SystemExit(0)
    asyncio.run(raises())
elif way == "tidy":
    asyncio.run(tidy())
else:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)
    if way == "forever":  # it has no main coroutine
        loop.run_until_complete(tidy())
        loop.create_task(background())
        loop.call_soon(loop.stop)
        loop.run_forever()
        cancel_all(loop)
    elif way == "several":  # tasks live on while others are run, and some of those are left over
        for _ in range(3): loop.run_until_complete(tidy())
        loop.run_until_complete(main())
        for _ in range(3): loop.run_until_complete(tidy())
        cancel_all(loop)
    elif way == "interrupted":  # the main coroutine is not done
        async def waits():
            await main()
            asyncio.get_running_loop().call_soon(interrupt)
            await asyncio.sleep(3600)
        def interrupt(): raise KeyboardInterrupt
        try:
            loop.run_until_complete(waits())
        except KeyboardInterrupt:
            cancel_all(loop)
    elif way == "closed":
        loop.run_until_complete(main())
    loop.close()
"""

LEFT = {"run": 8, "raises": 8, "several": 8, "closed": 8, "tidy": 0, "forever": 0, "interrupted": 0}


def run(monitor, text, *arguments, python=sys.executable):
    program = monitor.start(text, *arguments, python=python)
    output = finish(program)
    process = monitor.process()
    process.wait("end")
    return process, output


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("way", LEFT)
def test_tasks_that_are_pending_when_their_loop_is_done_are_left_over(monitor, way, python):
    process, _ = run(monitor, PROGRAM, way, python=python)
    assert process.all("tick")[-1]["left_over"] == LEFT[way]
    if LEFT[way]:
        group = process.group("background", left_over=8)
        lines = {line["line"].rpartition(":")[2]: line["tasks"] for line in group["left_lines"]}
        assert lines == {"7": 7, "8": 1}


def test_tasks_that_are_left_over_by_uvloop(monitor):
    pytest.importorskip("uvloop")
    process, _ = run(monitor, PROGRAM, "uvloop")
    process.group("background", left_over=8)


FORGETFUL = """
import asyncio, pytest
async def background(): await asyncio.sleep(3600)
@pytest.fixture
def anyio_backend(): return "asyncio"
@pytest.mark.anyio
@pytest.mark.parametrize("number", range(3))
async def test_forgets(number): asyncio.ensure_future(background())
"""


def test_anyio_s_own_task_is_not_left_over(monitor, tmp_path):
    (tmp_path / "test_it.py").write_text(FORGETFUL)
    program = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:asyncio")
    process, _ = run(monitor, program, *options, str(tmp_path))
    process.group("background", left_over=3)
    assert process.all("tick")[-1]["left_over"] == 3


BREAKS = """
import asyncio, sys
async def background(): await asyncio.sleep(3600)
async def numbers():
    yield 1
    yield 2
async def main():
    asyncio.ensure_future(background())
    async for number in numbers(): break
if "uvloop" in sys.argv:
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("loop", "python"),
    [*[("asyncio", python) for python in EVERY.values()], ("uvloop", sys.executable)],
    ids=[*EVERY, "uvloop"],
)
def test_the_end_of_a_generator_that_was_left_by_break_is_not_left_over(monitor, loop, python):
    process, _ = run(monitor, BREAKS, loop, python=python)
    assert process.all("tick")[-1]["left_over"] == 1
    process.group("background", left_over=1)


DESTROYED = """
import asyncio, gc
async def lost(): await asyncio.get_running_loop().create_future()  # nothing refers to it
async def main():
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    for _ in range(30): asyncio.create_task(lost())
    await asyncio.sleep(0.01)
    gc.collect()
asyncio.run(main())
"""


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
def test_tasks_that_are_destroyed_while_they_are_pending_are_counted(monitor, python):
    process, _ = run(monitor, DESTROYED, python=python)
    process.group("lost", destroyed=30, left_over=0)


TRACEBACK = """
import asyncio
async def main(): raise ValueError("no")
asyncio.run(main())
"""


@with_newest
def test_an_exception_that_passes_through_a_loop_has_the_same_traceback(monitor, python):
    watched = monitor.start(TRACEBACK, python=python)
    _, errors = watched.communicate()
    bare = subprocess.run(watched.args, capture_output=True, text=True, check=False)
    assert (watched.returncode, errors) == (bare.returncode, bare.stderr)


@with_newest
def test_the_lines_of_many_tasks_are_recorded_as_far_as_their_number_allows(monitor, python):
    # The agent does not report meanwhile, after which it would record more lines.
    many = PROGRAM.replace("range(7)", "(sys.setswitchinterval(60), await asyncio.sleep(0), range(700))[2]")
    process, _ = run(monitor, many, "run", python=python)
    group = process.group("background", left_over=701)
    assert {line["line"].rpartition(":")[2]: line["tasks"] for line in group["left_lines"]} == {
        "7": 100,
        "": 601,
    }
