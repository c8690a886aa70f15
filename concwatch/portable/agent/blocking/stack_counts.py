"""Counts of stacks, by the functions that threads run; they keep no code of the program alive."""

from __future__ import annotations

from _weakref import ref

from ..basics.names import printable
from ..basics.own_code import is_agent, is_own, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple

    Stack = Tuple[int, ...]
    """The indexes of its frames, outermost first."""

MAX_DEPTH = 200
"""The most frames of a stack; of a deeper one the outermost are kept."""

MAX_LABELS = 100
"""The most functions of threads that are counted separately."""

MAX_STACKS = 5_000
"""The most stacks that are counted separately."""

MAX_FRAMES = 20_000
"""The most different frames."""

MAX_CHARACTERS, MAX_INDEXES = 300_000, 60_000
"""The most characters of names and files, and the most frames of stacks, in a report, which is one line."""

FEWEST_SAMPLES = 5
"""The fewest samples of a frame that show how often a thread that runs is delayed."""

MORE_IDLE = 0.25
"""How much more of the possible share of idle samples shows that threads mostly wait in a frame."""

OTHERS = "others"

LOOP = "event loop", ""
"""The frame that stands for the loop itself."""


class CountedStacks:
    """The stacks of threads that run the same function."""

    def __init__(self) -> None:
        self.cpu = 0.0
        """The CPU seconds of these threads."""
        self.samples: Dict[Stack, int] = {}
        self.weights: Dict[Stack, float] = {}
        """For how many samples those of each stack stand."""
        self.ran: Dict[int, int] = {}
        """By innermost frame: the samples of threads that ran."""
        self.idle: Dict[int, int] = {}
        """By innermost frame: the samples of threads that did not."""

    def idle_share(self, frame: int) -> float:
        """Return the share of the samples with an innermost frame in which the thread did not run."""
        idle = self.idle.get(frame, 0)
        return idle / max(1, idle + self.ran.get(frame, 0))

    def waiting(self) -> Set[int]:
        """Return the innermost frames in which these threads mostly wait.

        Threads that wait for a processor, or for the interpreter's lock, often do not run either: the other
        frames show how often.
        """
        enough = [self.idle_share(frame) for frame, samples in self.ran.items() if samples >= FEWEST_SAMPLES]
        usual = min(enough, default=1.0)
        return {frame for frame in self.ran if self.idle_share(frame) > usual + MORE_IDLE * (1 - usual)}


class StackCounts:
    """Counts the stacks of all threads."""

    def __init__(self) -> None:
        self._by_label: Dict[str, CountedStacks] = {}
        self._known: Dict[Tuple[int, int], Tuple[Callable[[], Optional[CodeType]], int]] = {}
        """By ``id`` of the code and instruction: a weak reference to the code, and the index of the frame."""
        self._indexes: Dict[Tuple[str, str], int] = {}
        self._own: List[bool] = []
        self._loop = self._index(LOOP, False)
        self._stacks = 0

    def of(self, label: str) -> CountedStacks:
        """Return the stacks of the threads with a label."""
        if label not in self._by_label and len(self._by_label) >= MAX_LABELS:
            label = OTHERS
        return self._by_label.setdefault(label, CountedStacks())

    def read(self, frame: Optional[FrameType], outer: int = 0) -> Stack:
        """Return the stack of a frame, without frames of the agent.

        Args:
            frame: the innermost frame.
            outer: how many of the outermost frames are those of an event loop, which are left out. If there
                are no others, the stack is `LOOP`.
        """
        found: List[int] = []
        while frame is not None:
            code = frame.f_code
            known = self._known.get((id(code), frame.f_lasti))
            if known is None or known[0]() is not code:
                known = self._add(frame)
            found.append(known[1])
            frame = frame.f_back
        found.reverse()
        stack = [index for index in found[outer:] if index >= 0][:MAX_DEPTH]
        if outer and not stack:
            stack.append(self._loop)
        return tuple(stack)

    def _index(self, place: Tuple[str, str], own: bool) -> int:
        """Return the index of a frame; -1 if there are too many."""
        index = self._indexes.get(place, -1)
        if index < 0 and len(self._own) < MAX_FRAMES:
            index = self._indexes[place] = len(self._own)
            self._own.append(own)
        return index

    def _add(self, frame: FrameType) -> Tuple[Callable[[], Optional[CodeType]], int]:
        code, index = frame.f_code, -1
        if not is_agent(code.co_filename):
            place = name_of(code), printable(f"{code.co_filename}:{frame.f_lineno or 0}")
            index = self._index(place, is_own(code.co_filename))
        if len(self._known) >= 2 * MAX_FRAMES:
            self._known.clear()
        known = self._known[id(code), frame.f_lasti] = ref(code), index
        return known

    def count(self, counts: CountedStacks, stack: Stack, ran: bool, weight: float = 1.0) -> None:
        """Count a sample.

        Args:
            counts: those of the thread's function.
            stack: the stack, which is not empty.
            ran: whether the thread ran directly after the sample.
            weight: for how many samples it stands.
        """
        frames = counts.ran if ran else counts.idle
        frames[stack[-1]] = frames.get(stack[-1], 0) + 1
        if not ran:
            return
        if stack not in counts.samples:
            if self._stacks >= MAX_STACKS:
                return
            self._stacks += 1
        counts.samples[stack] = counts.samples.get(stack, 0) + 1
        counts.weights[stack] = counts.weights.get(stack, 0.0) + weight

    def _divided(self, counts: CountedStacks, each: float) -> Dict[Stack, float]:
        """Divide the CPU time of threads among their stacks."""
        waiting, cpu = counts.waiting(), counts.cpu
        waits = {stack: weight for stack, weight in counts.weights.items() if stack[-1] in waiting}
        runs = {stack: weight for stack, weight in counts.weights.items() if stack[-1] not in waiting}
        # A thread that waits may be woken directly after a sample, which then counts: where threads mostly
        # wait, they have used what they have not used elsewhere.
        left = min(sum(waits.values()) * each, max(0.0, cpu - sum(runs.values()) * each)) if runs else cpu
        found: Dict[Stack, float] = {}
        for weights, part in ((runs, cpu - left), (waits, left)):
            whole = sum(weights.values())
            found.update({stack: part * weight / whole for stack, weight in weights.items()})
        return found or ({(): cpu} if cpu else {})

    def report(self, each: float) -> Dict[str, Any]:
        """Return the fields ``samples``, ``frames`` and ``stacks`` of the report.

        Args:
            each: the seconds for which a sample stands.
        """
        found: List[Tuple[float, str, Stack, int]] = []
        for label, counts in self._by_label.items():
            for stack, cpu in self._divided(counts, each).items():
                found.append((cpu, label, stack, counts.samples.get(stack, 0)))
        found.sort(key=lambda one: -one[0])
        places = list(self._indexes)
        new: Dict[int, int] = {}
        stacks: List[Dict[str, Any]] = []
        characters = indexes = 0
        for cpu, label, stack, samples in found:
            added = [index for index in dict.fromkeys(stack) if index not in new]
            characters += sum([len(places[index][0]) + len(places[index][1]) for index in added])
            indexes += len(stack)
            if characters > MAX_CHARACTERS or indexes > MAX_INDEXES:
                break
            for index in added:
                new[index] = len(new)
            frames = [new[index] for index in stack]
            stacks.append({"thread": label, "frames": frames, "cpu": round(cpu, 6), "samples": samples})
        frames_ = [
            {"in": places[index][0], "where": places[index][1], "own": self._own[index]} for index in new
        ]
        return {"samples": sum([one[3] for one in found]), "frames": frames_, "stacks": stacks}
