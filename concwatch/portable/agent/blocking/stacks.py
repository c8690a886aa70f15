"""Sample what the thread of an event loop runs, and find what ran longest."""

from __future__ import annotations

from os import O_RDONLY, close, read
from os import open as open_file
from os.path import join

from ..basics.names import printable
from ..basics.own_code import is_agent, is_own, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Dict, List, Optional, Tuple

    from ..counting.counted_group import CountedGroup

    Place = Tuple[str, str]
    """A function, and its file and the line that runs: ``"/app/crawl.py:41"``."""

    Usage = Tuple[float, float, int]
    """The CPU seconds of a thread, the seconds that it waited for a processor, and how often it got one."""

MAX_FRAMES = 100
"""The most frames that are examined."""

MAX_STACK = 20
"""The most frames that are reported, innermost first."""

COROUTINE = 0x80
"""The flag of the code of a coroutine function (``inspect.CO_COROUTINE``)."""


RUN_FILE = join("asyncio", "events.py")
"""The end of the path of the file whose ``_run`` calls everything that an event loop of asyncio runs."""


class StackSample:
    """What the thread of a loop ran at one moment.

    Args:
        time: when.
        key: what ran: the id of a task, or of the code of a callback; 0 for the loop itself.
        stack: the places of the frames, innermost first.
        own: the indexes in ``stack`` of the program's own code.
        group: the name of the task's group; empty if it is none.
        late: the seconds by which the sample was taken later than it was due.
    """

    __slots__ = ("began", "group", "key", "late", "own", "stack", "time", "usage")

    def __init__(
        self,
        time: float,
        key: int,
        stack: List[Place],
        own: List[int],
        group: str,
        late: float = 0.0,
    ) -> None:
        self.time, self.key, self.stack, self.own, self.group, self.late = time, key, stack, own, group, late
        self.began = 0.0
        """When what ran began, at the earliest; 0 if unknown."""
        self.usage: Optional[Usage] = None
        """The usage of the thread at that time; None if unknown."""

    @property
    def place(self) -> int:
        """The index in ``stack`` of the innermost place in the program's own code, or in any code."""
        return self.own[0] if self.own else 0


def depth(frame: Optional[FrameType]) -> int:
    """Return the number of frames of a stack."""
    frames = 0
    while frame is not None:
        frames += 1
        frame = frame.f_back
    return frames


def loop_depth(frame: Optional[FrameType]) -> int:
    """Return the number of outermost frames of a stack that are asyncio's loop; 0 without one."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_run" and code.co_filename.endswith(RUN_FILE):
            return depth(frame)
        frame = frame.f_back
    return 0


def take_sample(
    frame: Optional[FrameType],
    outer: int,
    task: int,
    group: Optional[CountedGroup],
    now: float,
    late: float = 0.0,
) -> StackSample:
    """Return a sample of a stack, without the ``outer`` frames of the loop and those of the agent.

    Args:
        frame: the innermost frame.
        outer: how many frames are the loop's.
        task: the id of the running task; 0 if there is none.
        group: its group, if known.
        now: the current time.
        late: the seconds by which the sample is taken later than it was due.
    """
    frames: List[FrameType] = []
    while frame is not None and len(frames) < MAX_FRAMES + outer:
        frames.append(frame)
        frame = frame.f_back
    del frames[max(0, len(frames) - outer) :]
    frames = [one for one in frames if not is_agent(one.f_code.co_filename)]
    stack: List[Place] = []
    own: List[int] = []
    outermost = outermost_own = ""
    for at, one in enumerate(frames):
        code = one.f_code
        if at < MAX_STACK:
            if is_own(code.co_filename):
                own.append(at)
            stack.append((name_of(code), printable(f"{code.co_filename}:{one.f_lineno or 0}")))
        if code.co_flags & COROUTINE:
            outermost = name_of(code)
            outermost_own = outermost if is_own(code.co_filename) else outermost_own
    # A task of a framework that no scan has found yet is in the group of the framework's function.
    known = group.name if group is not None else outermost
    name = known if group is not None and group.own else outermost_own or known
    key = (task or id(frames[-1].f_code)) if frames else 0
    return StackSample(now, key, stack, own, name, late)


def usage_of(native_id: int) -> Optional[Usage]:
    """Return the usage of a thread of this process; None where the system does not report it."""
    try:
        file = open_file(f"/proc/self/task/{native_id}/schedstat", O_RDONLY)
        try:
            cpu, waited, slices = read(file, 100).split()
        finally:
            close(file)
        return int(cpu) / 1e9, int(waited) / 1e9, int(slices)
    except (OSError, ValueError):
        return None


class Run:
    """Consecutive samples of the same task or callback.

    Args:
        sample: the first sample.
        began: when the task or callback began to run, at the latest.
    """

    def __init__(self, sample: StackSample, began: float) -> None:
        self.samples = [sample]
        self.began = self.ended = began
        self.usage: Optional[Usage] = None
        """The usage of the thread at the end."""

    @property
    def seconds(self) -> float:
        """How long it ran; 0 for the loop itself."""
        return self.ended - self.began if self.samples[0].key else 0.0

    def used(self) -> Optional[Usage]:
        """Return the usage of the thread since the first sample; None if unknown."""
        first, last = self.samples[0].usage, self.usage
        if first is None or last is None:
            return None
        return last[0] - first[0], last[1] - first[1], last[2] - first[2]

    def typical(self) -> StackSample:
        """Return the last sample of the place that ran longest, each up to its sample from the one before."""
        seconds: Dict[Place, float] = {}
        before = self.began
        for sample in self.samples:
            place = sample.stack[sample.place]
            seconds[place] = seconds.get(place, 0.0) + sample.time - before
            before = sample.time
        longest = max(seconds, key=lambda place: seconds[place])
        return next(one for one in reversed(self.samples) if one.stack[one.place] == longest)


def longest_run(
    samples: List[StackSample], began: float, ended: float, usage: Optional[Usage] = None
) -> Optional[Run]:
    """Return what ran longest between two times; None without samples.

    Args:
        samples: the samples between them.
        began: the first time.
        ended: the second time.
        usage: the usage of the thread at that time.
    """
    runs: List[Run] = []
    for sample in samples:
        if runs and runs[-1].samples[0].key == sample.key:
            runs[-1].samples.append(sample)
        else:
            if runs:
                runs[-1].ended = began = (runs[-1].samples[-1].time + sample.time) / 2
                runs[-1].usage = sample.usage
            runs.append(Run(sample, max(began, sample.began)))
    if runs:
        runs[-1].ended, runs[-1].usage = ended, usage
    return max(runs, key=lambda run: run.seconds, default=None)
