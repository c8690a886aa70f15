"""A worker with an engine and a workload of a test: each is its code, and a row in the tables."""

import sys

import pytest

from concwatch.links.process import WorkerProcess
from concwatch.monitor.workers.catalog import Engine
from concwatch.system.child import ROOT
from tests.worker_driver import Worker, running_lab, until

pytestmark = pytest.mark.real

FILE = """
from concwatch.portable.worker.engines.blocking import ThreadsEngine

class OwnEngine(ThreadsEngine):
    def flags(self):
        return ["an engine of a test"]
"""

REGISTERED = f"""
import sys
from types import ModuleType
sys.path.insert(0, {ROOT!r})
from concwatch.portable.protocol.workloads import FORMS, Form
from concwatch.portable.worker.engines import ENGINES, EngineRow, bodies, event_loop
from concwatch.portable.worker.serve import serve

async def rest(seconds):
    await event_loop.asyncio.sleep(seconds)

FORMS["rest"] = Form(
    "rest:SECONDS", "sleep that long", lambda text: (float(text),), "rest:1", example="sleeps for 1 s"
)
bodies.BODIES["rest"] = lambda token, seconds: token.sleep(seconds)
event_loop.BODIES["rest"] = rest
module = ModuleType("concwatch.portable.worker.engines.own")
exec({FILE!r}, module.__dict__)
sys.modules[module.__name__] = module
ENGINES["own"] = EngineRow("own", "OwnEngine", "one thread of a test", 16_000, threads=True)
serve(sys.argv[1])
"""


def command(engine):
    return [sys.executable, "-c", REGISTERED, engine]


async def test_an_engine_is_a_file_and_a_row():
    row = Engine("own", "one thread of a test", 16_000, threads=True)
    async with running_lab([row], open_link=lambda engine: WorkerProcess(command(engine.name))) as lab:
        (lane,) = lab.lanes
        lab.set_target(lane, 20)
        await until(lambda: lane.live == 20, "20 tasks are live")
        (shown,) = lab.snapshot().lanes
        assert (shown.name, shown.engine.task) == ("own", "one thread of a test")
        assert shown.status.flags == ("an engine of a test",)


@pytest.mark.parametrize("engine", ["own", "asyncio"])
def test_a_workload_is_a_form_and_a_body_of_each_kind(engine):
    with Worker("threads", command=command(engine)) as worker:
        worker.refuse("workload", spec="rest")
        worker.do("workload", spec="rest:0.05")
        worker.target(3)
        worker.tick(lambda tick: tick["completed"] > 10 and tick["live"] == 3)
