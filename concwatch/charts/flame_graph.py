"""Flame graphs: the stacks of a profile as a tree of blocks, its layout in columns, and as folded stacks."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from msgspec import Struct

from concwatch.links.agent_messages import Profile, ProfileFrame
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import counted, format_percent, format_seconds

CONFIDENCE = 1.96
"""The standard deviations of a 95 % interval."""

STARTERS = ("/threading.py", "/concurrent/futures/thread.py")
"""The ends of the files whose functions only call that of a thread."""

THREADS = {
    "main": "main thread",
    "concurrent.futures.thread._worker": "executor threads",
    "others": "more threads",
}
"""The function that threads run → their name, if that says more."""

OTHERS = "other threads"
"""The block of the CPU time of threads that were not sampled, as those in other languages."""

LEAST_REST = 0.01
"""The share of the CPU time above which that block is shown."""

FEWEST_LETTERS = 3
"""The fewest letters of a name that is shortened."""

MICRO = 1e6
"""Folded stacks count microseconds: other programs expect whole numbers."""


def sampled_percent(share: float) -> str:
    """Format a share that is known from samples, with at most one decimal: ``42 %``, ``4.2 %``."""
    return f"{_digits(share)} %"


def _digits(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.0995 else 1}f}".removesuffix(".0")


class FlameBlock:
    """A function as called by the one below it, with the CPU time of all stacks that begin so."""

    def __init__(
        self, name: str, file: str = "", own: bool = False, parent: "FlameBlock | None" = None
    ) -> None:
        self.name, self.file, self.own, self.parent = name, file, own, parent
        self.cpu = 0.0
        """The CPU seconds of it and of what it called."""
        self.itself = 0.0
        """Those of it alone."""
        self.samples = 0
        self.lines: dict[int, float] = {}
        """The CPU seconds by the line that ran."""
        self.children: list[FlameBlock] = []
        """The functions that it called: the program's own code first, then those with most CPU time."""
        self._by_function: dict[tuple[str, str], FlameBlock] = {}

    def called(self, name: str, file: str = "", own: bool = False) -> "FlameBlock":
        """Return the block of a function that it called, adding it if it is new."""
        found = self._by_function.get((name, file))
        if found is None:
            found = self._by_function[name, file] = FlameBlock(name, file, own, self)
            self.children.append(found)
        return found

    @property
    def leads_to_own(self) -> bool:
        """Whether it is the program's own code, or has called some."""
        return self.own or any(child.leads_to_own for child in self.children)

    @property
    def path(self) -> Sequence["FlameBlock"]:
        """The blocks from the outermost one to this one."""
        return [*(self.parent.path if self.parent else ()), self]

    @property
    def where(self) -> str:
        """Its file, in short, with the line that used most CPU time; empty if there is none."""
        if not self.lines:
            return short_place(self.file)
        return f"{short_place(self.file)}:{max(self.lines, key=lambda line: self.lines[line])}"

    def depth(self) -> int:
        """Return how many blocks are stacked on each other, with this one."""
        return 1 + max((child.depth() for child in self.children), default=0)

    def arrange(self) -> None:
        """Sort what it called."""
        self.children.sort(key=lambda child: (not child.leads_to_own, -child.cpu, child.name))
        for child in self.children:
            child.arrange()

    def walk(self) -> Iterator["FlameBlock"]:
        """Yield it and all blocks above it."""
        yield self
        for child in self.children:
            yield from child.walk()


class FlameGraph(Struct, frozen=True):
    """Where the CPU time of a process went."""

    TITLE: ClassVar[str] = "where CPU time went"

    name: str
    """The process."""
    profile: Profile
    root: FlameBlock

    @property
    def subtitle(self) -> str:
        """How much CPU time it is, and how that is known."""
        profile = self.profile
        cores = format_percent(profile.cpu / profile.seconds if profile.seconds else 0.0)
        used = f"{format_seconds(profile.cpu)} of CPU time in {format_seconds(profile.seconds)}"
        return f"{used} ({cores} of a core) · {counted(profile.samples, 'sample')}"

    def share(self, block: FlameBlock) -> float:
        """Return a block's share of the CPU time."""
        return block.cpu / self.root.cpu if self.root.cpu else 0.0

    def interval(self, block: FlameBlock) -> str:
        """Return its share with a 95 % interval: ``42 % ± 5``."""
        share, samples = self.share(block), self.root.samples
        margin = CONFIDENCE * math.sqrt(share * (1 - share) / samples) if samples else 0.0
        return f"{sampled_percent(share)}{f' ± {_digits(margin)}' if margin else ''}"

    def describe(self, block: FlameBlock) -> str:
        """Return a block's figures: its share, its CPU time, and what of it is its own."""
        parts = [self.interval(block), format_seconds(block.cpu)]
        if block.children and block.itself:
            parts.append(f"{sampled_percent(block.itself / block.cpu)} of it in itself")
        return " · ".join(parts)

    def own_functions(self) -> Sequence[tuple[FlameBlock, float]]:
        """Return the program's own functions with the CPU seconds in them and the libraries that they call.

        Each by the block in which most of that is, the functions with most first.
        """
        found: dict[tuple[str, str], float] = {}
        largest: dict[tuple[str, str], tuple[float, FlameBlock]] = {}
        for block, cpu in self._own_blocks(self.root, None).items():
            key = block.name, block.file
            found[key] = found.get(key, 0.0) + cpu
            largest[key] = max(largest.get(key, (0.0, block)), (cpu, block), key=lambda one: one[0])
        ranked = sorted(found.items(), key=lambda one: -one[1])
        return [(largest[key][1], cpu) for key, cpu in ranked]

    def _own_blocks(self, block: FlameBlock, own: FlameBlock | None) -> dict[FlameBlock, float]:
        """Return the blocks of the program's own code in a block, each with its CPU time but the others'."""
        own = block if block.own else own
        found = {own: block.itself} if own is not None else {}
        for child in block.children:
            for each, cpu in self._own_blocks(child, own).items():
                found[each] = found.get(each, 0.0) + cpu
        return found

    def answer(self, most: int = 3) -> str:
        """Return in which of its own functions the program spends most CPU time."""
        found = [
            f"{block.name} {sampled_percent(cpu / self.root.cpu)}"
            for block, cpu in self.own_functions()[:most]
            if cpu
        ]
        return f"most in {', '.join(found)} (own code with the libraries that it calls)" if found else ""

    def folded(self) -> str:
        """Return folded stacks, a line for each: its frames, a space, and its CPU time in microseconds."""
        lines = []
        for block in self.root.walk():
            amount = round(block.itself * MICRO)
            if amount and block.parent is not None:
                lines.append(f"{';'.join(map(_folded_name, block.path[1:]))} {amount}")
        return "".join(f"{line}\n" for line in lines)


def _folded_name(block: FlameBlock) -> str:
    """Return the name of a frame; semicolons separate frames, and the last space the amount."""
    name = block.name.replace(";", ":")
    return f"{name} ({short_place(block.file).replace(';', ':')})" if block.file else name


def thread_name(label: str) -> str:
    """Return the name of the threads that run a function, given its name."""
    return THREADS.get(label) or f"thread {label.removeprefix('__main__.')}"


def flame_graph(name: str, profile: Profile) -> FlameGraph:
    """Return the flame graph of a profile of the process ``name``."""
    root = FlameBlock(name)
    threads = len({stack.thread for stack in profile.stacks}) > 1 or not all(
        stack.frames for stack in profile.stacks
    )
    for stack in profile.stacks:
        block = root.called(thread_name(stack.thread)) if threads else root
        blocks = [root, block] if threads else [root]
        for frame in _called(profile.frames[index] for index in stack.frames):
            file, line = _file_and_line(frame)
            block = block.called(frame.in_, file, frame.own)
            if line:
                block.lines[line] = block.lines.get(line, 0.0) + stack.cpu
            blocks.append(block)
        for each in blocks:
            each.cpu += stack.cpu
            each.samples += stack.samples
        block.itself += stack.cpu
    rest = profile.cpu - root.cpu
    if rest > LEAST_REST * profile.cpu:
        other = root.called(OTHERS)
        other.cpu = other.itself = rest
        root.cpu += rest
    root.arrange()
    return FlameGraph(name, profile, root)


def _called(frames: Iterable[ProfileFrame]) -> Sequence[ProfileFrame]:
    """Return the frames without the outermost ones that only start a thread's function."""
    found = list(frames)
    others = (at for at, frame in enumerate(found) if not _file_and_line(frame)[0].endswith(STARTERS))
    return found[next(others, len(found) - 1) :]


def _file_and_line(frame: ProfileFrame) -> tuple[str, int]:
    file, _, line = frame.where.rpartition(":")
    return (file, int(line)) if line.isdecimal() else (frame.where, 0)


def shortened(name: str, letters: int) -> str:
    """Return the name of a function in at most ``letters``; empty if hardly any of it would be left."""
    if len(name) > letters:
        name = name.rpartition(".")[2]  # without its class
    if len(name) <= letters:
        return name
    return f"{name[: letters - 1]}…" if letters >= FEWEST_LETTERS else ""


class Placed(Struct, frozen=True):
    """A block in a row, from column ``left`` up to ``right``."""

    block: FlameBlock
    left: int
    right: int
    shade: bool
    """Alternates between neighbours, so that they can be told apart."""


def rows(zoomed: FlameBlock, width: int, most: int) -> Sequence[Sequence[Placed]]:
    """Return the rows of a flame graph, the outermost function first.

    Args:
        zoomed: the block that is as wide as all; those that it was called by are, too.
        width: the columns.
        most: the number of rows.

    Returns:
        The blocks of each row from the left; those narrower than half a column are left out.
    """
    found: list[list[Placed]] = [
        [Placed(block, 0, width, bool(at % 2))] for at, block in enumerate(zoomed.path)
    ]
    spans = [(zoomed, 0.0, float(width))]
    while spans and len(found) < most:
        spans = [span for span in _proportional(spans) if round(span[2]) > round(span[1])]
        row = [
            Placed(block, round(left), round(right), bool((at + len(found)) % 2))
            for at, (block, left, right) in enumerate(spans)
        ]
        if row:
            found.append(row)
    return found[:most]


def _proportional(
    spans: Iterable[tuple[FlameBlock, float, float]],
) -> Iterator[tuple[FlameBlock, float, float]]:
    """Yield what blocks have called, with where each begins and ends."""
    for block, left, right in spans:
        per_second = (right - left) / block.cpu if block.cpu else 0.0
        for child in block.children:
            end = left + child.cpu * per_second
            yield child, left, end
            left = end
