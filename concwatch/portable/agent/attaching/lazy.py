"""Start the agent in a process once there is something to report; most processes never have tasks.

The rest of the agent is loaded when the program imports a framework, when it starts its first thread, or at
the first garbage collection after `PATIENCE`. Until then, the monitor knows that the process is waiting.

Here and in the modules that this one imports, annotations are strings, because loading ``__future__`` takes
as long as any of them.
"""

import gc
import os
import sys
from time import monotonic, process_time

from ..basics.guard import ERRORS, guarded
from ..basics.imports import ImportHook

OPTIONS = "CONCWATCH_AGENT_OPTIONS"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any, ContextManager, Dict, Optional

FRAMEWORKS = ("asyncio", "trio", "gevent", "greenlet")
"""Modules whose import starts the agent."""

START_FUNCTIONS = ("_start_joinable_thread", "_start_new_thread")
"""The names by which ``threading`` knows the function that starts a thread: since Python 3.13, and before."""

PATIENCE = 1.0
"""Seconds after which a process without tasks gets an agent too, for its garbage collection and memory."""


_EMPTY_REPORT = """\
{{"type":"ready","protocol":{protocol},"engine":"agent","name":"{name}","pid":{pid},"ppid":{ppid},\
"runtime":"{runtime}","flags":[],"can":[],"workloads":[]}}
{{"type":"tick","time":{time},"number":1,"created":0,"live":0,"ended":0,"since":0,"left_over":0,\
"destroyed":0,"scan_created":0,"scan_time":{time},"cpu":{cpu}}}
{errors}{{"type":"waiting"}}
"""
"""The reports of a process that has nothing to report so far."""


class LazyStart:
    """Starts the agent later.

    Args:
        address: the monitor's socket.
        compiled: a context for imports of the agent's modules.
    """

    def __init__(self, address: str, compiled: "ContextManager[None]") -> None:
        self._address = address
        self._compiled = compiled
        self._due = monotonic() + PATIENCE
        self._waiting = True
        self._hook = ImportHook((*FRAMEWORKS, "threading"), self._imported)

    def install(self) -> None:
        """Start the agent now if the process already needs it, otherwise once it does."""
        if not set(FRAMEWORKS).isdisjoint(sys.modules) or "trace" in os.environ.get(OPTIONS, ""):
            self.start()
            return
        self._hook.install()
        getattr(gc, "callbacks", []).append(self._collected)  # PyPy has none
        self._announce()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._announce_child)
        threading = sys.modules.get("threading")
        if threading is not None:
            self._imported("threading", threading)

    def start(self) -> None:
        """Start the agent, and remove the hooks that waited for a reason to. Never raises."""
        if self._waiting:
            self._waiting = False
            if not self._start():
                self._announce()  # the error

    @guarded("")
    def _start(self) -> bool:
        self._hook.remove()
        callbacks = getattr(gc, "callbacks", [])
        if self._collected in callbacks:
            callbacks.remove(self._collected)
        collects = gc.isenabled()
        # What is loaded would count as five young collections, and bring the next one that takes milliseconds
        # forward, into the program's first requests.
        gc.disable()
        try:
            with self._compiled:
                from ..sending.reporter import start

                if "gevent" in sys.modules:
                    from ..hooking import greenlets  # noqa: F401
        finally:
            if collects:
                gc.enable()
        start(self._address)
        return True

    def _imported(self, name: str, module: "Optional[ModuleType]") -> None:
        if name == "greenlet" and "gevent" in sys.modules:  # the end of that import starts the agent
            return
        found = [one for one in START_FUNCTIONS if hasattr(module, one)]
        if name != "threading" or not found:
            self.start()
            return
        function, original = found[0], getattr(module, found[0])

        def start_thread(*args: "Any", **kw: "Any") -> "Any":
            if getattr(module, function) is start_thread:
                setattr(module, function, original)
            self.start()
            return original(*args, **kw)

        setattr(module, function, start_thread)

    @guarded("")
    def _collected(self, phase: str, info: "Dict[str, int]") -> None:
        # A framework that is in `sys.modules` by now is still being imported: its functions cannot be
        # replaced yet. The end of its import starts the agent.
        if (
            phase == "stop"
            and monotonic() >= self._due
            and set(FRAMEWORKS).isdisjoint(sys.modules)
            and not _within_import_system(sys._getframe(1).f_back)
        ):
            self.start()

    @guarded("")
    def _announce(self) -> None:
        """Report that the process has no tasks and no threads so far, over a connection of its own."""
        with self._compiled:
            from ..sending.places import connect
            from ..sending.process import PROTOCOL, name, runtime

        # Written by hand: loading the encoder takes longer than everything else here.
        report = _EMPTY_REPORT.format(
            protocol=PROTOCOL,
            name=name().replace("\\", "\\\\").replace('"', '\\"'),
            pid=os.getpid(),
            ppid=os.getppid(),
            runtime=runtime(),
            time=monotonic(),
            cpu=process_time(),
            errors=_errors(),
        )
        try:
            connection = connect(self._address)
            connection.send(report.encode(errors="replace"))
            connection.close()
        except OSError:  # the monitor has gone, or is busy
            pass

    def _announce_child(self) -> None:
        """Report a forked process, unless `subprocess` is about to execute another program in it."""
        if self._waiting and sys._getframe(1).f_globals.get("__name__") != "subprocess":
            self._announce()


def _within_import_system(frame: "Optional[FrameType]") -> bool:
    """Return whether a frame is of the import system itself, not of a module that is being imported.

    Its locks are not reentrant up to Python 3.11: an import there, as by a callback of the garbage collector,
    makes the program's own import raise KeyError, or never end.
    """
    return frame is not None and frame.f_code.co_filename.startswith("<frozen importlib.")


def _errors() -> str:
    """Return the line that reports the errors of the agent; empty without any."""
    if not ERRORS.changed:
        return ""
    from ..sending.json_lines import encode

    return encode("agent_errors", **ERRORS.report()).decode()
