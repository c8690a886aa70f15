"""A worker: one engine, its reporter, and the wire between them and whoever started it."""

from __future__ import annotations

import os
import sys
import threading
from functools import partial
from time import monotonic

from concwatch import wire
from concwatch.worker.burst import LONGEST_WAIT, MOST_CHUNKS, Burst
from concwatch.worker.collector import Collector
from concwatch.worker.engines import ENGINES
from concwatch.worker.engines.base import CPYTHONS
from concwatch.worker.reporter import FASTEST, SLOWEST, Reporter
from concwatch.worker.workloads import DEFAULT, WORDS, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from concwatch.worker.engines.base import Engine
    from concwatch.worker.workloads import Workload

    Fields = Dict[str, Any]


MOST_TASKS = 1_000_000_000
LARGEST = 1 << 62


class Channel:
    """The wire's two descriptors, kept private so that no task can read or write them by accident."""

    def __init__(self) -> None:
        self._input = os.dup(0)
        self._output = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        sys.stdout.flush()
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def send(self, type_: str, **fields: Any) -> None:
        """Write one report; a reader that is gone ends the process."""
        rest = memoryview(wire.encode(type_, **fields))
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self._output, rest) :]
            except OSError:
                os._exit(0)

    def lines(self) -> Any:
        """Yield each line that comes in, of one that is too long the beginning; ends with the input."""
        with open(self._input, "rb") as file:
            inside = False  # whether what comes next is the rest of a line that was too long
            for piece in iter(lambda: file.readline(wire.LONGEST_LINE), b""):
                if piece.strip() and not inside:
                    yield piece
                inside = not piece.endswith(b"\n")

    def refuse(self, command: Optional[str], error: ValueError) -> None:
        """Answer a command that cannot be obeyed: one line of bounded length, whatever it quotes."""
        self.send("error", command=command, message=" ".join(str(error).split())[:1000], detail=None)


def _field(fields: Fields, key: str, fits: Callable[[Any], bool], expected: str) -> Any:
    value = fields.get(key)
    if not fits(value):
        raise ValueError(f'"{key}" is {value!r}: expected {expected}')
    return value


def _whole(fields: Fields, key: str, largest: int) -> Any:
    expected = f"a whole number from 0 to {largest:,}"
    return _field(fields, key, lambda value: type(value) is int and 0 <= value <= largest, expected)


def _flag(fields: Fields, key: str) -> Any:
    return _field(fields, key, lambda value: type(value) is bool, "true or false")


def _word(fields: Fields, key: str) -> Any:
    return _field(fields, key, lambda value: type(value) is str, "a string")


def _rate(fields: Fields) -> Any:
    def fits(value: Any) -> bool:
        return type(value) in (int, float) and SLOWEST <= value <= FASTEST

    return _field(fields, "hz", fits, f"ticks a second from {SLOWEST} to {FASTEST:.0f}")


def _workload(fields: Fields) -> Workload:
    workload = parse(_word(fields, "spec"))
    if fields.get("url") is not None:
        workload.url = _word(fields, "url")
    return workload


def _burst(fields: Fields) -> Burst:
    def fits(wait: Any) -> bool:
        return wait is None or (type(wait) in (int, float) and 0 <= wait <= LONGEST_WAIT)

    return Burst(
        _whole(fields, "tasks", MOST_TASKS),
        max(1, _whole(fields, "chunks", MOST_CHUNKS)),
        _whole(fields, "older", MOST_TASKS),
        _field(fields, "read_after", fits, f"null, or seconds from 0 to {LONGEST_WAIT:,.0f}"),
    )


def _trace(reporter: Reporter, on: bool) -> None:
    if on == (reporter.memory is not dict):
        return
    import tracemalloc  # imports pickle and fnmatch

    if on:
        tracemalloc.start()
        reporter.memory = lambda: {
            "traced": tracemalloc.get_traced_memory()[0],
            "tracer": tracemalloc.get_tracemalloc_memory(),
        }
    else:
        reporter.memory = dict
        tracemalloc.stop()


def _lines(engine: Engine) -> Callable[[Fields], None]:
    looked: List[Any] = []

    def report(fields: Fields) -> None:
        if not looked:
            from concwatch.agent.traced import TracedLines  # seldom asked for

            looked.append(TracedLines())
        engine.send("lines", lines=looked[0].read())

    return report


def commands(engine: Engine, reporter: Reporter, collector: Collector) -> Dict[str, Callable[[Fields], None]]:
    """Return the commands of a worker: type → what it does, on the engine's own thread.

    Each raises ValueError, with one line for a person, for a field that is not as the wire specifies.
    """
    table: Dict[str, Callable[[Fields], None]] = {
        "refill": lambda fields: engine.goal.set_refill(_flag(fields, "on")),
        "workload": lambda fields: engine.use(_workload(fields)),
        "halt": lambda fields: engine.stop_growing(
            _word(fields, "wall"), _whole(fields, "value", LARGEST), ""
        ),
        "rate": lambda fields: reporter.set_rate(_rate(fields)),
        "trace": lambda fields: _trace(reporter, _flag(fields, "on")),
        "lines": _lines(engine),
        "gc": lambda fields: collector.set_mode(_word(fields, "mode")),
        "trim": lambda fields: collector.trim(),
        "threads": lambda fields: engine.set_threads(_whole(fields, "count", 1_000_000)),
        "stack": lambda fields: engine.set_stack(_whole(fields, "size", LARGEST)),
        "burst": lambda fields: engine.ask_burst(_burst(fields)),
    }
    return {name: act for name, act in table.items() if name in engine.can or name not in CPYTHONS}


def _take_commands(channel: Channel, engine: Engine, table: Dict[str, Callable[[Fields], None]]) -> None:
    """Pass every command to the engine's thread; at the end of the input, end the process at once."""
    for line in channel.lines():
        arrived = monotonic()
        name = None
        try:
            fields = wire.decode(line)
            name = fields["type"][:60]
            if name == "stop":
                break
            if name == "target":
                count = _whole(fields, "tasks", MOST_TASKS)
                engine.submit(lambda count=count, now=arrived: engine.ask(count, now))  # type: ignore[misc]  # defaults bind this turn's values
            elif name in table:
                engine.submit(_answered(channel, engine, name, partial(table[name], fields), arrived))
            else:
                from concwatch.text import nearest  # only an error needs it

                known = (*table, "target", "stop")
                raise ValueError(
                    f'unknown command "{name}": expected one of {", ".join(known)}{nearest(name, known)}'
                )
        except ValueError as error:
            channel.refuse(name, error)
        except MemoryError:
            engine.reserve.let_go()
            channel.refuse(name, ValueError("there is no memory to take it in"))
    os._exit(0)


def _answered(
    channel: Channel, engine: Engine, name: str, act: Callable[[], None], arrived: float
) -> Callable[[], None]:
    def apply() -> None:
        try:
            act()
        except ValueError as error:
            channel.refuse(name, error)
        except OSError as error:  # tasks have taken all files there are, and this would need one
            channel.refuse(name, ValueError(f"{name} could not be applied: {error}"))
        else:
            channel.send("applied", command=name, seconds=monotonic() - arrived, flags=engine.flags())

    return apply


def runtime() -> str:
    """Name the interpreter and its version: ``CPython 3.11.7``."""
    implementation = sys.implementation
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(implementation.name, implementation.name)
    return name + " " + ".".join(map(str, implementation.version[:3]))


def _no_thread(error: RuntimeError) -> str:
    """Return which limit leaves no room for a worker's own threads."""
    from concwatch.system.walls import wall_hit  # only here

    wall, value = wall_hit()
    return f"{error}: {wall}" + ("" if value is None else f" ({value:,})")


def serve(name: str, dont_write_bytecode: bool = sys.dont_write_bytecode) -> None:
    """Serve engine ``name`` on standard input and output until either ends.

    Args:
        name: one of `ENGINES`.
        dont_write_bytecode: what ``sys.dont_write_bytecode`` is to be for the user's own modules.
    """
    channel = Channel()
    collector = Collector()
    try:
        engine = ENGINES[name]()(channel.send, collector)
    except Exception as error:  # whatever a package does that is broken, or not of the right version
        why = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        channel.send("error", command=None, message=why, detail=None)
        sys.exit(f'engine "{name}" cannot run here: {why}')
    sys.dont_write_bytecode = dont_write_bytecode
    engine.load(parse(DEFAULT))
    reporter = Reporter(channel.send, engine, collector)
    engine.on_reached = reporter.tick_soon
    engine.traced = reporter.traced
    channel.send(
        "ready",
        protocol=wire.PROTOCOL,
        engine=name,
        runtime=runtime(),
        flags=engine.flags(),
        pid=os.getpid(),
        can=engine.can,
        workloads=WORDS,
    )
    table = commands(engine, reporter, collector)
    take = threading.Thread(
        target=_take_commands, args=(channel, engine, table), name="commands", daemon=True
    )
    try:
        take.start()
        reporter.start()
    except RuntimeError as error:
        sys.exit(_no_thread(error))
    try:
        engine.serve()
    except SystemExit:  # a coroutine's own wish
        raise
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        # Leaving by the usual way would wait for the threads of the pool, which may never end.
        os._exit(1)


def main() -> None:
    """Serve the engine named by the one argument; exit 2 with one line when there is no such engine."""
    known = ", ".join(ENGINES)
    if len(sys.argv) != 2:
        print(f"usage: python -m concwatch.worker ENGINE    (one of {known})", file=sys.stderr)
        sys.exit(2)
    name = sys.argv[1]
    if name not in ENGINES:
        from concwatch.text import nearest

        print(f'unknown engine "{name}": expected one of {known}{nearest(name, ENGINES)}', file=sys.stderr)
        sys.exit(2)
    serve(name)
