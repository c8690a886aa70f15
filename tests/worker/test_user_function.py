"""The user's own function in ``run`` and ``sweep``: with real workers."""

import json

import pytest

from tests.command_line import invoke

pytestmark = pytest.mark.real

JOBS = """
import asyncio

async def load(places):
    semaphore = asyncio.Semaphore(int(places))
    async def task():
        async with semaphore:
            await asyncio.sleep(0.05)
    yield task

async def refuse(places):
    live = 0
    async def task():
        nonlocal live
        live += 1
        try:
            await asyncio.sleep(0.05)
            if live > int(places):
                raise ConnectionRefusedError("full")
        finally:
            live -= 1
    yield task

async def broken_setup():
    raise OSError("no server")
    yield

async def broken_teardown():
    async def task():
        await asyncio.sleep(0.05)
    yield task
    raise OSError("no server")
"""


@pytest.fixture(autouse=True)
def jobs(tmp_path, monkeypatch):
    """The user's functions in the working directory."""
    (tmp_path / "jobs.py").write_text(JOBS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line_of(text):
    """Return the number of the first line with that text."""
    return 1 + JOBS[: JOBS.index(text)].count("\n")


def swept(*arguments):
    """Return the JSON of a sweep of one engine."""
    done = invoke("sweep", "asyncio", "--seconds", "1", *arguments, "--json")
    return json.loads(done.stdout)["engines"][0]


def test_a_sweep_finds_how_large_a_semaphore_is():
    found = swept("--workload", "jobs:load", "--arg", "8", "--to", "32")
    assert 6 <= found["knee"]["tasks"] <= 10
    assert found["failures"] == []


def test_a_sweep_ends_where_the_function_fails_and_says_how_and_where(jobs):
    found = swept("--workload", "jobs:refuse", "--arg", "5", "--to", "32")
    assert max(step["tasks"] for step in found["steps"]) <= 6
    assert f"ConnectionRefusedError at {jobs.name}/jobs.py:{line_of('raise Conn')}: " in found["ended_by"]
    (failure,) = found["failures"]
    assert failure["type"] == "ConnectionRefusedError"
    assert failure["where"].endswith(f"jobs.py:{line_of('raise Conn')}")


@pytest.mark.parametrize("function", ["broken_setup", "broken_teardown"])
def test_a_setup_or_tear_down_that_fails_fails_the_lane(jobs, function):
    done = invoke(
        "run", "asyncio", "--tasks", "2", "--seconds", "0.2", "--workload", f"jobs:{function}", "--json"
    )
    (lane,) = json.loads(done.stdout)["lanes"]
    what = "set-up" if function == "broken_setup" else "tear-down"
    line = line_of("raise OSError") if what == "set-up" else JOBS.count("\n")
    assert (done.exit_code, lane["state"]) == (1, "failed")
    place = f"{jobs.name}/jobs.py:{line}"
    assert lane["reason"] == f"{what} of jobs:{function} failed: OSError at {place}: no server"
