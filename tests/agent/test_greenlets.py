"""Greenlets of gevent are counted and found as tasks are, and hubs as event loops; others are unknown."""

import pytest

from concwatch.portable.agent.attaching.inject import script
from tests.agent_driver import eventually, finish, kept_waiting, unexplained_blocks

pytest.importorskip("gevent")

pytestmark = pytest.mark.real

HEAD = """\
from gevent import monkey; monkey.patch_all()
import gc, gevent, gevent.event, gevent.os, gevent.pool, sys, threading, time, weakref
def job(number): time.sleep(0.01)
def stays(event): event.wait()
def sleeps(): time.sleep(600)
def kept(): pass
def threaded(): time.sleep(600)
def fails(): raise ValueError
def until_input(): gevent.os.tp_read(0, 1)
"""

LINE = {name: HEAD[: HEAD.index(f"def {name}")].count("\n") + 1 for name in ("stays", "sleeps")}

HUBS = "print(gevent.hub.Hub._hub_counter)\n"
"""Prints how many hubs there have been: one that the agent's thread uses would be another one."""


def where(report):
    """Return the number of the line, the function and what it has called, of the only place in a report."""
    (place,) = report["waits"]
    return int(place["where"].rpartition(":")[2]), place["in"], place["on"], place["tasks"]


def test_greenlets_are_counted_by_function_with_the_lines_at_which_they_wait(monitor):
    program = monitor.start(
        HEAD + "event = gevent.event.Event()\n"
        "pool = gevent.pool.Pool(20)\n"
        "assert len(list(pool.imap_unordered(job, range(400)))) == 400\n"
        "waiting = [gevent.spawn(stays, event) for _ in range(7)] + [gevent.spawn_later(600, stays, event)]\n"
        "sleeping = [gevent.spawn(sleeps) for _ in range(3)]\n"
        "done = [gevent.spawn(kept) for _ in range(5)]\n"
        "threading.Thread(target=threaded, daemon=True).start()\n"
        "until_input()\n" + HUBS
    )
    process = monitor.process()
    job = process.group("job", created=400, live=0, ended=400, retained=0)
    assert (job["kind"], job["own"], job["starts"]) == ("gevent", True, [])  # a greenlet of gevent created it
    stays = process.group("stays", created=8, live=8, ended=0)
    assert stays["starts"][0].endswith(":13")
    process.group("kept", created=5, live=0, ended=5, retained=5)
    process.group("threaded", created=1, live=1)
    sleeps = process.group("sleeps", live=3)
    process.send("waits", group=stays["group"])
    report = process.wait("waits", lambda message: message["group"] == stays["group"])
    assert (report["looked"], report["sampled"], report["wakeable"]) == (8, 8, 8)
    lines = {(int(place["where"].rpartition(":")[2]), place["tasks"]) for place in report["waits"]}
    assert lines == {(LINE["stays"], 8)}  # one has not started, and so is at the beginning of its function
    process.send("waits", group=sleeps["group"])
    report = process.wait("waits", lambda message: message["group"] == sleeps["group"])
    assert where(report) == (LINE["sleeps"], "sleeps", "sleep", 3)
    assert (report["timed"], report["until"]) == (3, 600)
    tick = process.tick(lambda tick: "threads" in tick)
    assert [thread["name"] for thread in tick["threads"]] == ["main"]
    assert tick["created"] >= 400 + 8 + 3 + 5 + 1
    assert finish(program) == "1\n"


def test_greenlets_that_end_are_freed_at_once_and_how_they_end_is_counted(monitor):
    program = monitor.start(
        HEAD + "import io\n"
        "gevent.get_hub().exception_stream = io.StringIO()\n"
        "event = gevent.event.Event()\n"
        "made = [gevent.spawn(fails), gevent.spawn(fails), gevent.spawn(kept), gevent.spawn(stays, event)]\n"
        "references = [weakref.ref(one) for one in made]\n"
        "gevent.sleep(0.01)\n"
        "made[-1].kill()\n"
        "del made\n"
        "gevent.sleep(0.01)\n"
        "print([reference() for reference in references])\n"
        "def chain(left):\n"
        "    if left: gevent.spawn_later(0, chain, left - 1)\n"
        "chain(5_000)\n"
        "while sum(type(one) is gevent.Greenlet for one in gc.get_objects()): gevent.sleep(0.01)\n"
        "print(max(len(one) for one in gc.get_objects() if type(one) is dict) < 10_000)\n"
        "until_input()\n",
        options=["outcomes"],
    )
    process = monitor.process()
    process.group("fails", ended=2, failed=2, completed=0)
    process.group("kept", ended=1, completed=1)
    process.group("stays", ended=1, cancelled=1)
    process.group("chain", created=5_000, ended=5_000, retained=0)
    assert finish(program).splitlines() == ["[None, None, None, None]", "True"]


def test_greenlets_of_a_framework_belong_to_the_function_of_the_program(monitor, tmp_path):
    package = tmp_path / "site-packages" / "framework.py"
    package.parent.mkdir()
    package.write_text("import gevent\ndef serve(handler): gevent.spawn(run, handler)\ndef run(h): h()\n")
    program = monitor.start(
        HEAD + f"sys.path.append({str(package.parent)!r})\n"
        "import framework\n"
        "for _ in range(5): framework.serve(sleeps)\n"
        "until_input()\n"
    )
    process = monitor.process()
    process.group("sleeps", created=5, live=5, moved=5)
    finish(program)


def test_what_blocks_a_hub_is_named(monitor):
    monitor.start(
        HEAD + "def crunch(seconds):\n"
        "    ends = time.monotonic() + seconds\n"
        "    while time.monotonic() < ends: pass\n"
        "def short(): crunch(0.002)\n"
        "def handle(): gevent.sleep(0.3); crunch(0.5)\n"
        "def main():\n"
        "    gevent.joinall([gevent.spawn(short) for _ in range(200)])\n"  # many greenlets are no block
        "    gevent.spawn(handle).join()\n"
        "    gevent.sleep(0.3)\n"
        "    crunch(0.5)\n"
        "gevent.spawn(sleeps)\n"
        "while True: main(); gevent.sleep(0.2)\n"
    )
    process = monitor.process()

    def callers():
        """Return the callers of crunch in the blocks whose process was not stopped."""
        blocks = [block for block in process.all("block") if block["cause"] == "code" and block["own"]]
        assert {block["stack"][block["own"][0]]["in"] for block in blocks} <= {"crunch"}
        return {block["stack"][block["own"][1]]["in"]: block for block in blocks}

    # On a busy machine, one that is short may be interrupted for as long as a block.
    found = eventually(
        lambda: {"handle", "main"} <= set(found := callers()) and found, "blocks of two functions"
    )
    assert found["handle"]["group"] == "handle"
    (loop,) = process.tick(lambda tick: "loops" in tick)["loops"]
    assert (loop["name"], loop["kind"]) == (found["handle"]["loop"], "gevent.Hub")


def test_a_hub_that_has_nothing_to_do_is_not_blocked(monitor):
    program = monitor.start(
        HEAD + "gevent.joinall([gevent.spawn(job, 1) for _ in range(50)])\n"
        "gevent.sleep(0.2)\n"
        "ends = time.monotonic() + 0.6\n"
        "while time.monotonic() < ends: pass\n"
        "print('done', flush=True)\n"
        "until_input()\n"
    )
    process = monitor.process()
    process.group("job", ended=50)
    assert program.stdout.readline() == "done\n"
    waited = kept_waiting(process)
    finish(program)
    process.wait("end")
    assert unexplained_blocks(process, waited) == []


def test_greenlets_that_exist_when_the_agent_starts_are_found(monitor):
    program = monitor.start(
        HEAD + "event = gevent.event.Event()\n"
        "before = [gevent.spawn(stays, event) for _ in range(5)]\n"
        "gevent.sleep(0.01)\n"
        f"exec({script(monitor.address)!r})\n"
        "while not any(name.endswith('.session') for name in sys.modules): gevent.sleep(0.01)\n"
        "gevent.sleep(0.5)\n"
        "after = [gevent.spawn(stays, event) for _ in range(2)]\n"
        "until_input()\n" + HUBS,
        watched=False,
    )
    process = monitor.process()
    process.group("stays", since=5, created=2, live=7)
    process.tick(lambda tick: tick.get("loops"))
    assert finish(program) == "1\n"


def test_greenlets_without_gevent_are_unknown(monitor):
    program = monitor.start(
        "import greenlet, sys\n"
        "one = greenlet.greenlet(lambda: greenlet.getcurrent().parent.switch())\n"
        "one.switch()\n"
        "sys.stdin.read()\n"
    )
    tick = monitor.process().tick(lambda tick: "uncounted" in tick)
    assert "greenlets" in tick["uncounted"]
    finish(program)


def test_a_program_that_only_imports_greenlet_has_no_tasks(monitor):
    program = monitor.start("import greenlet, sys\nsys.stdin.read()\n")
    assert "uncounted" not in monitor.process().tick()
    finish(program)
