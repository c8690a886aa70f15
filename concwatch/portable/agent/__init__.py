"""The agent: code that runs inside a user's program and reports its tasks.

The agent runs in a *watched process*. It counts tasks as they are created, scans the live ones from time to
time, and reports to a monitor; its protocol is specified in `concwatch.links.agent_messages`. It uses only
the standard library and Python 3.9 syntax, and imports nothing else of concwatch, because it is loaded by
programs that do not have concwatch installed.

    from concwatch import agent

    agent.start()   # listen: a monitor may attach from now on; nothing is counted until one does
    agent.stop()

What it does to the program
===========================
``create_task`` is replaced on the classes ``asyncio.BaseEventLoop`` and ``uvloop.Loop`` by a function that
counts and passes everything on; no task factory is set. For leftover tasks ``stop``, ``close`` and
``call_exception_handler`` are replaced too, and so are ``run_until_complete`` and ``run_forever``, without
adding a frame to tracebacks. The last report is sent before a call of ``os._exit``, or of ``os.kill`` or
``signal.raise_signal`` with a signal that ends the process; this takes at most 0.4 s. One thread reports;
``threading`` does not list it, and it exits while the program forks. It uses at most 1 % of the time, in
slices of about 1 ms. With ``timing`` on, a done callback is added to each timed task, and one callback to its
loop; the steps of tasks are timed by a callback before and one after each, through an attribute ``call_soon``
of the loop. An entry is added to ``gc.callbacks``, two instruments to trio, a spawn callback to gevent, and a
timer that fires every 30 ms to each running loop of asyncio or uvloop, and to each hub of gevent: if the loop
is busy, it waits until the agent's thread has done what is due, for at most 3.5 ms. ``__init__`` of the
executors of ``concurrent.futures`` and ``multiprocessing`` is replaced too. A tool id of ``sys.monitoring``
that is not predefined (4 or 3) is used for functions whose tasks are created by ``asyncio.Task(coro)``. While
the agent's modules are imported, no garbage is collected automatically. ``ctypes`` is loaded if a monitor
asks what memory is made of. While stacks are sampled on request, the interpreter's switch interval is 5 µs,
or up to 1 ms if threads compete, whenever the agent's thread waits. The agent never raises into the program:
an error of its own is counted and reported (`concwatch.portable.agent.basics.guard`).
"""

from .basics.guard import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

__all__ = ["start", "stop"]


def start(address: "Optional[str]" = None) -> None:
    """Report this process to a monitor: connect to its socket at ``address``, or listen until one attaches.

    Does nothing if the agent is already running. Never raises.
    """
    _start(address)


@guarded("")
def _start(address: "Optional[str]") -> None:
    from .sending import reporter

    reporter.start(address)


@guarded("")
def stop() -> None:
    """Remove all hooks and close the connection. Never raises."""
    from .sending import reporter

    reporter.stop()
