"""The settings that all lanes share, and the commands that send them to a worker."""

from collections import deque
from collections.abc import Callable

import msgspec
from msgspec import Struct, structs

from concwatch.portable.protocol.units import format_bytes, format_rate, format_seconds
from concwatch.portable.protocol.workloads import (
    CHURN,
    CONNECT,
    HTTP,
    MAX_SECONDS,
    USER,
    join_arguments,
    parse,
)

PARTS = {
    CHURN: ("rate",),
    "sleep": ("seconds", "to"),
    "spin": ("seconds",),
    "ticks": ("count", "seconds"),
    "payload": ("size",),
    HTTP: ("seconds",),
    CONNECT: ("seconds",),
}
"""Word of a workload → the names of its values on the wire."""

Command = tuple[str, dict[str, object]]
"""A command and its fields."""


class Settings(Struct, frozen=True):
    """The settings that all lanes share."""

    workload: str = "sleep:10"
    refill: bool = True
    trace: bool = False
    gc: str = "default"
    threads: int | None = None
    """Threads of a pool; None for the engine's default."""
    stack: int | None = None
    """Bytes of stack of each thread; None for the system's default."""
    url: str | None = msgspec.field(default=None, name="page")
    """What tasks that connect to a server fetch, or connect to; a recording calls it ``page``."""
    addresses: int = 1
    """How many loopback addresses, from that one on, tasks connect to in turn."""
    arguments: tuple[str, ...] = ()
    """The arguments of the user's function."""


ON_SCREEN = CHURN
"""The default workload on the screen: the same number of tasks ends each second, however many are live."""

UNTIL_STOPPED = "sleep"
"""The default workload of `run`: tasks sleep until it is done, so that all can be live at once."""

LARGEST_TARGET = 1_000_000
"""The maximum of a slider, unless the machine sets a lower one."""


def slider_end(fits: int | None) -> int:
    """Return the maximum of a slider; ``fits`` is what limits on threads allow, None for any."""
    return LARGEST_TARGET if fits is None else min(LARGEST_TARGET, max(100, fits // 100 * 100))


def connects(workload: str) -> bool:
    """Return whether each task of that workload has a connection to a server."""
    return workload.partition(":")[0].strip() in (HTTP, CONNECT)


def with_rate(workload: str, rate: int) -> str:
    """Return the workload with the engine's ``rate``, in tasks a second, if it is ``churn`` without one."""
    return f"{CHURN}:{rate}/s" if workload.strip() == CHURN else workload


def parts(workload: str) -> dict[str, object]:
    """Return the parts of a workload by name, for workers that do not parse the text."""
    parsed = parse(workload)
    return {"word": parsed.word, **dict(zip(PARTS.get(parsed.word, ()), parsed.values, strict=False))}


def commands(settings: Settings, can: Callable[[str], bool], rate: int) -> list[Command]:
    """Return the commands that apply ``settings``: those that the worker ``can`` run.

    ``rate`` is how many tasks of the workload ``churn`` end a second, unless it says so itself.
    """
    spec = with_rate(settings.workload, rate)
    workload = {"spec": spec, **parts(spec)}
    if connects(settings.workload):
        workload["url"] = settings.url
    if workload["word"] == CONNECT:
        workload["addresses"] = settings.addresses
    if workload["word"] == USER and settings.arguments:
        workload["arguments"] = join_arguments(settings.arguments)
    found: list[Command] = [
        ("workload", workload),
        ("refill", {"on": settings.refill}),
    ]
    for command, field, value in (
        ("trace", "on", settings.trace),
        ("gc", "mode", settings.gc),
        ("threads", "count", settings.threads),
        ("stack", "size", settings.stack),
    ):
        if can(command) and value is not None:
            found.append((command, {field: value}))
    return found


class WorkerSettings:
    """The settings of one worker, and the commands that change them; handles its answers."""

    def __init__(self, settings: Settings, rate: int) -> None:
        self._rate = rate
        self.current = settings
        """The settings sent last; before the worker is ready, those that will be sent."""
        self.unanswered: list[str] = []
        """Commands that the worker must accept before it counts as running."""
        # The workload and its server in effect, then those that were sent and are not answered yet.
        self._workloads: deque[tuple[str, str | None, int]] = deque([("", None, 1)])

    def all(self, can: Callable[[str], bool], hz: float) -> list[Command]:
        """Return the commands for all settings; the rate comes last, since a tick follows it at once."""
        found: list[Command] = [*commands(self.current, can, self._rate), ("rate", {"hz": hz})]
        self.unanswered = [command for command, _ in found]
        return self._sent(found)

    def changes(self, settings: Settings, can: Callable[[str], bool]) -> list[Command]:
        """Adopt ``settings``, and return the commands for what has changed."""
        before, self.current = commands(self.current, can, self._rate), settings
        after = commands(settings, can, self._rate)
        return self._sent([command for command in after if command not in before])

    def _sent(self, found: list[Command]) -> list[Command]:
        """Record that these commands are sent."""
        if any(command == "workload" for command, _ in found):
            current = self.current
            self._workloads.append((current.workload, current.url, current.addresses))
        return found

    def handle_applied(self, command: str) -> None:
        """Record that the worker has applied a command."""
        if command == "workload" and len(self._workloads) > 1:
            self._workloads.popleft()
        if command in self.unanswered:
            self.unanswered.remove(command)

    def handle_refused(self, command: str) -> None:
        """Go back to the workload in effect if the worker refused another, so that it can be sent again."""
        if command == "workload" and len(self._workloads) > 1:
            del self._workloads[1]
            workload, url, addresses = self._workloads[0]
            self.current = structs.replace(self.current, workload=workload, url=url, addresses=addresses)


def describe(spec: str) -> str:
    """Return what each task of a workload does: ``sleeps 5 to 15 s``, ``holds 4 KiB``."""
    workload = parse(spec)
    values = [value for value in workload.values if isinstance(value, int | float)]
    match workload.word, values:
        case "sleep", [least, most]:
            unit = format_seconds(most).rpartition(" ")[2]
            return f"sleeps {format_seconds(least).removesuffix(f' {unit}')} to {format_seconds(most)}"
        case "churn", _ if spec.strip() == CHURN:
            return "sleeps a while"
        case "churn", [rate]:
            return f"sleeps, {format_rate(rate)} end"
        case "sleep", [seconds] if seconds == MAX_SECONDS:
            return "sleeps until stopped"
        case "sleep", [seconds]:
            return f"sleeps {format_seconds(seconds).removesuffix(' 00 s')}"
        case "ticks", [count, seconds]:
            return f"sleeps {count:,} × {format_seconds(seconds)}"
        case "hold", _:
            return "waits until stopped"
        case "payload", [size]:
            return f"holds {format_bytes(size)}"
        case "spin", [seconds]:
            return f"computes {format_seconds(seconds)}"
        case "nop", _:
            return "ends at once"
        case "http", _:
            return "fetches a page"
        case "connect", []:
            return "holds a connection"
        case "connect", [seconds]:
            return f"sends a line every {format_seconds(seconds)}"
    return f"calls {spec}"
