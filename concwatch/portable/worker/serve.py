"""A worker process: one engine, its reporter, and the wire to the process that started it."""

from __future__ import annotations

import os
import sys
import threading
from functools import partial
from time import monotonic

from concwatch.portable.agent.memory.memory_maps import read_memory_maps
from concwatch.portable.agent.sending.json_lines import LONGEST_LINE, decode, encode
from concwatch.portable.protocol import PROTOCOL
from concwatch.portable.protocol.workloads import DEFAULT, END, WORDS, parse, split_arguments
from concwatch.portable.worker.burst import LONGEST_WAIT, MAX_CHUNKS, Burst
from concwatch.portable.worker.collector import Collector
from concwatch.portable.worker.engines import ENGINES
from concwatch.portable.worker.engines.base import CPYTHON_COMMANDS, idle_maps
from concwatch.portable.worker.reporter import MAX_RATE, MIN_RATE, TickReporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from concwatch.portable.protocol.workloads import Workload
    from concwatch.portable.worker.engines.base import BaseEngine
    from concwatch.portable.worker.inbox import Waits

    Fields = Dict[str, Any]
    Commands = Dict[str, Callable[[Fields], Optional[Waits]]]
    """A handler returns what the engine waits for until the command has taken effect."""


MAX_TASKS = 1_000_000_000
MAX_INTEGER = 1 << 62
MAX_ADDRESSES = 254
"""Loopback addresses from 127.0.0.1 on."""


class Channel:
    """The wire's two file descriptors, duplicated so that no task can read or write them by accident."""

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
        """Write one report; exit the process if the reader is gone."""
        rest = memoryview(encode(type_, **fields))
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self._output, rest) :]
            except OSError:
                os._exit(0)

    def lines(self) -> Any:
        """Yield each line of the input, but only the beginning of one that is too long."""
        with open(self._input, "rb") as file:
            continued = False  # whether the next piece belongs to a line that was too long
            for piece in iter(lambda: file.readline(LONGEST_LINE), b""):
                if piece.strip() and not continued:
                    yield piece
                continued = not piece.endswith(b"\n")

    def refuse(self, command: Optional[str], error: ValueError) -> None:
        """Answer an invalid command with an ``error`` of one line of bounded length, whatever it quotes."""
        self.send("error", command=command, message=" ".join(str(error).split())[:1000], detail=None)


def _field(fields: Fields, key: str, fits: Callable[[Any], bool], expected: str) -> Any:
    value = fields.get(key)
    if not fits(value):
        raise ValueError(f'"{key}" is {value!r}; expected {expected}')
    return value


def _integer(fields: Fields, key: str, largest: int) -> Any:
    expected = f"a whole number from 0 to {largest:,}"
    return _field(fields, key, lambda value: type(value) is int and 0 <= value <= largest, expected)


def _boolean(fields: Fields, key: str) -> Any:
    return _field(fields, key, lambda value: type(value) is bool, "true or false")


def _string(fields: Fields, key: str) -> Any:
    return _field(fields, key, lambda value: type(value) is str, "a string")


def _rate(fields: Fields) -> Any:
    def fits(value: Any) -> bool:
        return type(value) in (int, float) and MIN_RATE <= value <= MAX_RATE

    return _field(fields, "hz", fits, f"ticks a second from {MIN_RATE} to {MAX_RATE:.0f}")


def _workload(fields: Fields) -> Workload:
    workload = parse(_string(fields, "spec"))
    if fields.get("url") is not None:
        workload.url = _string(fields, "url")
    if fields.get("arguments") is not None:
        expected = "arguments that each end with a null character"
        text = _field(
            fields, "arguments", lambda value: type(value) is str and value[-1:] in ("", END), expected
        )
        workload.arguments = split_arguments(text)
    if fields.get("addresses") is not None:
        workload.addresses = max(1, _integer(fields, "addresses", MAX_ADDRESSES))
    return workload


def _burst(fields: Fields) -> Burst:
    def fits(wait: Any) -> bool:
        return wait is None or (type(wait) in (int, float) and 0 <= wait <= LONGEST_WAIT)

    return Burst(
        _integer(fields, "tasks", MAX_TASKS),
        max(1, _integer(fields, "chunks", MAX_CHUNKS)),
        _integer(fields, "older", MAX_TASKS),
        _field(fields, "read_after", fits, f"null, or seconds from 0 to {LONGEST_WAIT:,.0f}"),
    )


def _trace(reporter: TickReporter, on: bool) -> None:
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


def _lines(engine: BaseEngine) -> Callable[[Fields], None]:
    loaded: List[Any] = []

    def report(fields: Fields) -> None:
        if not loaded:
            from concwatch.portable.agent.memory.traced import TracedLineReader  # rarely needed

            loaded.append(TracedLineReader())
        engine.send("lines", lines=loaded[0].read())

    return report


def _anatomy(engine: BaseEngine, reporter: TickReporter) -> Callable[[Fields], None]:
    def report(fields: Fields) -> None:
        maps, tracer = read_memory_maps(), reporter.memory().get("tracer", 0)
        # Compiled at each look, it would take a megabyte of the memory that is measured.
        kept, sys.dont_write_bytecode = sys.dont_write_bytecode, False
        try:
            from concwatch.portable.worker.anatomy import anatomy  # rarely needed
        finally:
            sys.dont_write_bytecode = kept
        engine.collector.unfreeze()  # or what refers to a task would not be found
        try:
            found = anatomy(engine.tasks, maps, engine.idle_maps, engine.native, tracer)
        finally:
            engine.collector.freeze()
        after = read_memory_maps()  # what this has taken is not a task's
        engine.send("anatomy", taken=max(0, sum(after.values()) - sum(maps.values())), **found)
        engine.idle_maps = {kind: size + after[kind] - maps[kind] for kind, size in engine.idle_maps.items()}

    return report


def commands(engine: BaseEngine, reporter: TickReporter, collector: Collector) -> Commands:
    """Return a worker's commands: type → handler, called on the engine's thread.

    Each handler raises ValueError, with a message of one line, for a field that violates the specification.
    """
    table: Commands = {
        "refill": lambda fields: engine.tracker.set_refill(_boolean(fields, "on")),
        "workload": lambda fields: engine.set_workload(_workload(fields)),
        "halt": lambda fields: engine.limits.stop_growing(
            _string(fields, "wall"), _integer(fields, "value", MAX_INTEGER), ""
        ),
        "rate": lambda fields: reporter.set_rate(_rate(fields)),
        "trace": lambda fields: _trace(reporter, _boolean(fields, "on")),
        "lines": _lines(engine),
        "anatomy": _anatomy(engine, reporter),
        "gc": lambda fields: collector.set_mode(_string(fields, "mode")),
        "trim": lambda fields: collector.trim(),
        "threads": lambda fields: engine.set_threads(_integer(fields, "count", 1_000_000)),
        "stack": lambda fields: engine.set_stack(_integer(fields, "size", MAX_INTEGER)),
        "burst": lambda fields: engine.bursts.queue(_burst(fields)),
    }
    return {
        name: handler for name, handler in table.items() if name in engine.can or name not in CPYTHON_COMMANDS
    }


def _read_commands(channel: Channel, engine: BaseEngine, table: Commands) -> None:
    """Pass every command to the engine's thread; exit the process when the input ends."""
    for line in channel.lines():
        arrived = monotonic()
        name = None
        try:
            fields = decode(line)
            name = fields["type"][:60]
            if name == "stop":
                break
            if name == "target":
                count = _integer(fields, "tasks", MAX_TASKS)
                engine.inbox.submit(partial(engine.set_target, count, arrived))
            elif name in table:
                engine.inbox.submit(_answered(channel, engine, name, partial(table[name], fields), arrived))
            else:
                from concwatch.portable.protocol.text import suggest  # only an error needs it

                names = (*table, "target", "stop")
                raise ValueError(
                    f'unknown command "{name}"; expected one of {", ".join(names)}{suggest(name, names)}'
                )
        except ValueError as error:
            channel.refuse(name, error)
        except MemoryError:
            engine.reserve.release()
            channel.refuse(name, ValueError("out of memory while reading it"))

    def ended() -> bool:
        # A thread that is being started in place of one that has ended is not live yet, but is wanted to end.
        return not engine.counts.live and not engine.wanted()

    try:
        engine.setups.finish(engine.inbox.submit, partial(engine.set_target, 0, monotonic()), ended)
    except ValueError as error:
        channel.refuse("stop", error)
    os._exit(0)


def _answered(
    channel: Channel, engine: BaseEngine, name: str, handle: Callable[[], Optional[Waits]], arrived: float
) -> Callable[[], Waits]:
    def apply() -> Waits:
        try:
            yield from handle() or ()
        except ValueError as error:
            channel.refuse(name, error)
        except OSError as error:  # tasks have opened all files that the limit allows
            channel.refuse(name, ValueError(f"{name} could not be applied: {error}"))
        else:
            channel.send("applied", command=name, seconds=monotonic() - arrived, flags=engine.flags())
        return True

    return apply


def runtime() -> str:
    """Return the interpreter's name and version: ``CPython 3.11.7``."""
    implementation = sys.implementation
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(implementation.name, implementation.name)
    return name + " " + ".".join(map(str, implementation.version[:3]))


def _thread_error(error: RuntimeError) -> str:
    """Return an error message that names the limit that leaves no thread for the worker itself."""
    from concwatch.portable.machine.limits import limit_hit  # only an error needs it

    limit, value = limit_hit()
    return f"{error}: {limit}" + ("" if value is None else f" ({value:,})")


def serve(name: str, dont_write_bytecode: bool = sys.dont_write_bytecode) -> None:
    """Serve engine ``name`` on standard input and output until either is closed.

    Args:
        name: one of `ENGINES`.
        dont_write_bytecode: the value of ``sys.dont_write_bytecode`` for the user's own modules.
    """
    channel = Channel()
    collector = Collector()
    try:
        engine = ENGINES[name].load()(channel.send, collector)
    except Exception as error:  # a broken or incompatible package may raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        channel.send("error", command=None, message=why, detail=None)
        sys.exit(f'engine "{name}" cannot run here: {why}')
    sys.dont_write_bytecode = dont_write_bytecode
    engine.load(parse(DEFAULT))
    reporter = TickReporter(channel.send, engine, collector)
    engine.on_reached = reporter.tick_soon
    engine.traced = reporter.traced
    channel.send(
        "ready",
        protocol=PROTOCOL,
        engine=name,
        runtime=runtime(),
        flags=engine.flags(),
        pid=os.getpid(),
        can=engine.can,
        workloads=WORDS,
    )
    table = commands(engine, reporter, collector)
    reader = threading.Thread(
        target=_read_commands, args=(channel, engine, table), name="commands", daemon=True
    )
    try:
        reader.start()
        reporter.start()
    except RuntimeError as error:
        sys.exit(_thread_error(error))
    engine.idle_maps = idle_maps(engine.can)
    try:
        engine.serve()
    except SystemExit:  # a user's coroutine called sys.exit
        raise
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        # A normal exit would wait for the pool's threads, which may never end.
        os._exit(1)


def main() -> None:
    """Serve the engine named by the argument; exit with status 2 and one line if there is no such engine."""
    names = ", ".join(ENGINES)
    if len(sys.argv) != 2:
        print(f"usage: python -m concwatch.portable.worker ENGINE    (one of {names})", file=sys.stderr)
        sys.exit(2)
    name = sys.argv[1]
    if name not in ENGINES:
        from concwatch.portable.protocol.text import suggest

        print(f'unknown engine "{name}"; expected one of {names}{suggest(name, ENGINES)}', file=sys.stderr)
        sys.exit(2)
    serve(name)
