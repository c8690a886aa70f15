"""Profiles: what the agent reports of a program whose CPU time is known, and what it leaves behind."""

import gc
import sys
import weakref

import pytest

from concwatch.portable.agent.blocking import profiler
from concwatch.portable.agent.blocking.profiler import SUPPORTED, Profiler, stands_for
from concwatch.portable.agent.blocking.stack_counts import MAX_DEPTH, StackCounts
from concwatch.portable.agent.sending.commands import OVERDUE
from concwatch.portable.agent.sending.json_lines import LONGEST_LINE, encode
from tests.agent_driver import eventually, finish, oldest_and_newest

real = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the clocks of threads"),
]

# Of random lengths: on a busy machine the kernel takes the processor away every 4 ms, which could be at the
# same places each time.
BURNS = """
import asyncio, json, os, random, sys, threading, time
DATA = list(range(2000))
def spins(seconds):
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        for _ in range(100): pass
def dumps(seconds):
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        json.dumps(DATA)
async def in_python():
    while not ended:
        spins(random.uniform(0.003, 0.009))
        await asyncio.sleep(0)
async def in_c():
    while not ended:
        dumps(random.uniform(0.001, 0.003))
        await asyncio.sleep(0)
def sleeps():
    while not ended: time.sleep(0.002)
ended = []
def reads():
    for line in sys.stdin:
        if line == "interval\\n":
            print(sys.getswitchinterval(), flush=True)
        elif line == "change\\n":
            sys.setswitchinterval(0.0123)
            print(0, flush=True)
        elif line == "fork\\n":
            pid = os.fork()
            if not pid:
                os.write(1, f"{sys.getswitchinterval()}\\n".encode())
                os._exit(0)
            os.waitpid(pid, 0)
    ended.append(1)
async def main():
    threading.Thread(target=sleeps).start()
    threading.Thread(target=reads).start()
    await asyncio.gather(in_python(), in_c())
asyncio.run(main())
"""


def shares(*profiles):
    """Return the share of each function, with what it called, and of each function that threads run."""
    found = {}
    for profile in profiles:
        for stack in profile["stacks"]:
            names = {profile["frames"][index]["in"] for index in stack["frames"]}
            for name in {*names, f"thread {stack['thread']}"}:
                found[name] = found.get(name, 0.0) + stack["cpu"]
    whole = sum(stack["cpu"] for profile in profiles for stack in profile["stacks"])
    return {name: cpu / whole for name, cpu in found.items()}


def profiles_of(process, samples):
    """Return profiles of 3 s each that have so many samples together, with which chance no longer decides."""
    profiles = []

    def enough():
        process.send("profile", seconds=3)
        profiles.append(process.wait("profile", lambda profile: profile not in profiles))
        return sum(profile["samples"] for profile in profiles) >= samples

    eventually(enough, f"{samples} samples")
    return profiles


def asked(program, text):
    program.stdin.write(f"{text}\n")
    program.stdin.flush()
    return float(program.stdout.readline())


def wait_until_shortened(program):
    """Wait until the program reads a shorter switch interval: while the agent waits, it is."""
    eventually(lambda: asked(program, "interval") < 0.005, "shorter switch interval")


class TestReal:
    """With real programs."""

    pytestmark = real

    @oldest_and_newest
    def test_a_profile_has_cpu_time_by_function_and_none_of_what_waits(self, monitor, python):
        program = monitor.start(BURNS, python=python, PYTHONWARNINGS="ignore")
        process = monitor.process()
        process.tick(lambda tick: tick.get("loops"))
        assert "profile" in process.ready["can"]
        profiles = profiles_of(process, samples=150)
        profile, found = profiles[-1], shares(*profiles)
        assert found["spins"] > 0.4  # 0.75 is expected
        assert found["spins"] > found["dumps"] > 0.05
        assert found["in_python"] >= found["spins"]
        assert found.get("thread __main__.sleeps", 0.0) < 0.1
        assert profile["cpu"] >= 0.9 * sum(stack["cpu"] for stack in profile["stacks"])
        assert 3 <= profile["seconds"] < 60
        assert 0 < profile["samples"] <= 3 * profile["taken"]
        places = {frame["in"]: frame for frame in profile["frames"]}
        assert places["spins"]["own"]
        assert places["spins"]["where"].rpartition("/")[2].startswith("program.py:")
        assert not [frame for frame in profile["frames"] if "concwatch/portable/agent" in frame["where"]]
        loops = [frame for frame in profile["frames"] if frame["in"].endswith(("run_forever", "_run_once"))]
        assert not loops
        assert asked(program, "interval") == 0.005
        finish(program)

    def test_a_second_one_is_refused_and_one_can_be_ended(self, monitor):
        program = monitor.start(BURNS)
        process = monitor.process()
        process.send("profile", seconds=500)
        process.send("profile", seconds=1)
        error = process.wait("error", lambda error: error["command"] == "profile")
        assert error["message"].startswith("stacks are being sampled already")
        wait_until_shortened(program)
        process.send("profile", seconds=0)
        assert process.wait("profile")["seconds"] < 500
        for wrong in (-1, 601, "x", None, True):
            process.send("profile", seconds=wrong)
        wrong = process.wait("error", lambda error: "True" in error["message"])
        assert wrong["message"] == '"seconds" is True; expected a number from 0 to 600'
        finish(program)

    def test_a_switch_interval_that_the_program_sets_meanwhile_is_kept(self, monitor):
        program = monitor.start(BURNS)
        process = monitor.process()
        process.send("profile", seconds=500)
        wait_until_shortened(program)
        asked(program, "change")
        process.send("profile", seconds=0)
        process.wait("profile")
        assert asked(program, "interval") == pytest.approx(0.0123)
        finish(program)

    @oldest_and_newest
    def test_the_switch_interval_is_the_programs_in_a_child_and_after_the_monitor_has_gone(
        self, monitor, python
    ):
        program = monitor.start(BURNS, python=python, PYTHONWARNINGS="ignore")
        process = monitor.process()
        process.send("profile", seconds=500)
        wait_until_shortened(program)
        assert asked(program, "fork") == 0.005
        wait_until_shortened(program)
        process.disconnect()
        eventually(lambda: asked(program, "interval") == 0.005, "switch interval of the program")
        finish(program)


def frame_of(function, *arguments):
    """Return the innermost frame of a call of ``function``, which returns it."""
    return function(*arguments)


def current():
    return sys._getframe()


def recursive(depth):
    return recursive(depth - 1) if depth else sys._getframe()


def named(counts, stack):
    places = list(counts._indexes)
    return [places[index][0].rpartition(".")[2] for index in stack]


def test_stacks_are_outermost_first_without_the_frames_of_a_loop():
    counts = StackCounts()
    whole = counts.read(frame_of(current))
    assert named(counts, whole)[-3:] == [
        "test_stacks_are_outermost_first_without_the_frames_of_a_loop",
        "frame_of",
        "current",
    ]
    assert named(counts, counts.read(frame_of(current), len(whole) - 1)) == ["current"]
    assert named(counts, counts.read(frame_of(current), len(whole))) == ["event loop"]
    assert len(counts.read(recursive(300))) == MAX_DEPTH


def test_no_code_is_kept_alive():
    counts, names = StackCounts(), {}
    exec("import sys\ndef gone(): return sys._getframe()", names)
    code = weakref.ref(names["gone"].__code__)
    counts.count(counts.of("main"), counts.read(names["gone"]()), True)
    names.clear()
    gc.collect()
    assert code() is None
    assert counts.report(0.01)["frames"][-1]["in"] == "gone"


def test_the_longest_report_fits_into_a_line():
    counts = StackCounts()
    names = {"sys": sys}
    for number in range(3_000):
        exec(f"def {'f' * 150}{number}(): return sys._getframe()", names)
        counts.count(counts.of(f"thread {number}"), counts.read(list(names.values())[-1]()), True)
        counts.count(counts.of("main"), counts.read(recursive(number % 300)), True)
    for label in list(counts._by_label):
        counts.of(label).cpu = 1.0
    report = counts.report(0.01)
    assert len(encode("profile", seconds=1.0, cpu=1.0, taken=1, **report)) <= LONGEST_LINE
    assert report["stacks"]
    assert len(counts._by_label) <= 101


@pytest.mark.parametrize(
    ("cpu", "running", "delayed", "woken", "waiting", "expected"),
    [
        (5.0, 450, 0, 50, 0, 0.5),  # the loop never waits
        (1.0, 80, 0, 40, 500, 0.2),  # it is sometimes woken directly after a sample
        (0.8, 80, 0, 40, 500, 0.0),
        (2.0, 80, 0, 10, 500, 0.1),  # most is of callbacks that were missed
        (1.0, 100, 300, 100, 300, 0.5),  # other threads delay it
        (0.1, 0, 0, 10, 500, 0.1),
    ],
)
def test_where_threads_wait_they_have_used_what_they_have_not_elsewhere(
    cpu, running, delayed, woken, waiting, expected
):
    counts = StackCounts()
    main, frame = counts.of("main"), frame_of(current)
    depth = len(counts.read(frame))
    main.cpu = cpu
    for outer, ran, idle in ((depth - 1, running, delayed), (depth, woken, waiting)):
        for number in range(ran + idle):
            counts.count(main, counts.read(frame, outer), number < ran)
    report = counts.report(0.01)
    found = {report["frames"][stack["frames"][-1]]["in"]: stack["cpu"] for stack in report["stacks"]}
    assert found.get("event loop", 0.0) == pytest.approx(expected)
    assert sum(found.values()) == pytest.approx(cpu)


@pytest.mark.parametrize(
    ("due", "late", "since", "most", "expected"),
    [
        (1, 0.0, 0.010, 0.010, 1),
        (11, 0.1, 0.110, 0.110, 11),  # its code has kept the lock
        (11, 0.1, 0.055, 0.055, 11),  # so it has, at half the speed
        (11, 0.1, 0.055, 0.110, 6),  # it has run beside the one that has
        (11, 0.1, 0.001, 0.110, 1),
        (31, 0.3, 0.010, 0.010, 1),  # the system ran something else
    ],
)
def test_a_late_sample_stands_for_those_that_code_has_delayed(due, late, since, most, expected):
    assert stands_for(due, late, since, most) == pytest.approx(expected)


class KeepsTheLock:
    """A thread of a program that runs ``computes`` and ``keeps`` in turn, in virtual time.

    The latter keeps the interpreter's lock: until its end, the agent's thread waits for that.

    Args:
        computes, keeps: for how many seconds each runs.
    """

    def __init__(self, monkeypatch, computes, keeps):
        self.now, self._computes, self._keeps = 0.0, computes, keeps
        monkeypatch.setattr(profiler, "monotonic", lambda: self.now)
        monkeypatch.setattr(profiler, "sleep", lambda seconds: self.wait(self.now + seconds))
        monkeypatch.setattr(Profiler, "_add_threads", lambda *_: None)
        monkeypatch.setattr(Profiler, "_read", lambda profiler: self._sampled(profiler))
        self._counts = self.used = None

    def wait(self, until):
        """Let time pass until then, or until the lock can be had after that."""
        phase = until % (self._computes + self._keeps)
        self._is_kept = phase > self._computes
        self.now = until + self._computes + self._keeps - phase if self._is_kept else until

    def cpu(self):
        return self.now

    def _sampled(self, profiler):
        self.counts = profiler._stacks.of("main")
        since, self.used = self.now - (self.used or 0.0), self.now
        self.counts.cpu += since
        code = keeps if self._is_kept else computes
        return [(1, self, profiler._stacks.read(frame_of(code)), since)]


def keeps():
    return sys._getframe()


def computes():
    return sys._getframe()


@pytest.mark.skipif(not SUPPORTED, reason="needs the clocks of threads")
@pytest.mark.parametrize("seconds", [0.002, 0.007, 0.025, 0.1, 0.7])
def test_code_that_keeps_the_lock_has_its_share(monkeypatch, seconds):
    program, reports = KeepsTheLock(monkeypatch, computes=0.02, keeps=seconds), []
    sampled = Profiler(100.0, reports.append)
    try:
        delay = 0.0
        while delay is not None:
            program.wait(program.now + max(0.0, delay))
            while (delay := sampled.step(program.now)) is not None and delay < -OVERDUE:
                pass
    finally:
        sampled.close()
    (report,) = reports
    found = shares(report)
    assert found["keeps"] + found["computes"] == pytest.approx(1)
    assert found["keeps"] == pytest.approx(seconds / (seconds + 0.02), abs=0.015)


def test_cpu_time_without_samples_is_reported():
    counts = StackCounts()
    counts.of("main").cpu = 0.2
    assert counts.report(0.01)["stacks"] == [{"thread": "main", "frames": [], "cpu": 0.2, "samples": 0}]
