"""The agent: what reports the tasks of somebody's own program, from inside; this text specifies its wire.

The agent runs in a *watched process*. It counts tasks as they are created, looks now and then at those that
are live, and tells a monitor. It is the standard library alone, Python 3.9 syntax, and imports nothing else
of concwatch, because it is loaded by programs that have no concwatch. (This file is long for its
specification.)

    from concwatch import agent

    agent.start()   # listen: a monitor may attach from now on; until then nothing is counted
    agent.stop()

How they meet
=============
Both sides talk over a Unix stream socket in a folder of mode 0700. Each checks by ``SO_PEERCRED``, where the
system has it, that its peer runs as the same user or as root, and closes the connection otherwise.

``watch``   The monitor listens, and starts the program with the path of its socket in the environment
            variable ``CONCWATCH_AGENT`` and the folder ``concwatch/agent/site`` first on ``PYTHONPATH``. Each
            Python process that comes of it connects by itself, one connection a process. A fork connects
            anew.
``attach``  The monitor listens, and has the process run `concwatch.agent.inject.script` (through
            ``sys.remote_exec``, or gdb): the process connects to that path.
``start``   The process listens at the first of `concwatch.agent.places.socket_paths` of its pid that it can
            have, ``…/concwatch-UID/PID.sock``; the monitor connects there. One monitor at a time: another one
            waits.

From the first byte all three are the same. When the connection ends, whoever closed it and however, the agent
takes its hooks back within 5 s; after ``start`` it listens again.

Lines
=====
As in `concwatch.wire`: UTF-8, a JSON object a line, ended by ``\\n``, at most 1 MiB; unknown keys and types
are ignored by both sides; counts and bytes are whole numbers from 0 to 2**53, seconds may have a fraction, a
time is on a clock that never goes back. Names are at most 200 characters, none of which commands a terminal.
A report may hold lists of objects; a command is flat. No argument, value or environment variable of the
program is ever sent. A monitor that reads too slowly loses ticks, never counts: all figures are totals since
the agent began.

Reports, agent to monitor
=========================
``ready``: sent first. The process stands and is counted from now on.
    ``protocol``   1
    ``engine``     ``"agent"``
    ``name``       what the process is called: the script's or module's name from its command line, and for a
                   child of ``multiprocessing`` that child's name behind it: ``"crawl.py SpawnProcess-2"``
    ``pid``, ``ppid``  integers
    ``runtime``    ``"CPython 3.11.7"``
    ``flags``      list of strings: ``"asyncio"``, ``"uvloop 0.21.0"``, ``"trio 0.30.0"``,
                   ``"free-threaded"``: what of it is loaded. Also in ``applied``
    ``can``        list of strings, the commands below that it understands; never ``"target"``
    ``workloads``  an empty list

``tick``: the whole process, 10 times a second unless told otherwise. Figures that cannot be had are absent.
    ``time``       the agent's clock
    ``number``     how many ticks were made, this one included
    ``created``    tasks created since the agent began, now. Those made by ``asyncio.Task(coro)`` directly go
                   past the counting: they are in from when a scan finds them alive, and as far as it does
    ``live``       tasks not yet done, as the last whole scan found them
    ``ended``      tasks that ended by that scan. ``scan_created + since = live + ended``
    ``since``      tasks, older than the agent, that it found when it began
    ``scan_created``  ``created`` when that scan began
    ``scan_time``  when that scan began. The more tasks live, the older it gets: about a second at 40,000,
                   half a minute at 1,000,000. These five are absent before the first scan has ended.
                   From Python 3.14 on, with more than about 100,000, once a minute: an ``error`` says so
    ``existing``   task objects now, done ones that something still holds included; absent from Python 3.14
                   on. ``existing - retained`` is a fresher ``live`` for a process with very many
    ``retained``   done tasks that the scan found still held; absent from Python 3.14 on
    ``queued``     calls waiting for a thread of a ``ThreadPoolExecutor``, all executors together
    ``completed``, ``failed``, ``cancelled``  tasks that ended since ``outcomes`` was switched on; absent
                                              without
    ``lag``        seconds: the worst of ``loops``
    ``loops``      list of objects, at most 20, a running event loop each: ``name`` (``"loop 1"``, in the
                   order found), ``kind`` (its class), ``lag``: seconds from a wake-up that was asked for to
                   its coming, at worst since the last tick; also counts one that is overdue now
    ``threads``    list of objects ``name``, ``count``, at most 20: live threads by target, the rest as
                   ``"others"``; about once a second
    ``executors``  list of objects ``name``, ``threads``, ``queued``, at most 20: each thread pool
    ``limiter``    object ``used``, ``total``, ``waiting``: AnyIO's default limiters of threads, all loops
                   together
    ``gc``         seconds spent in garbage collection since the agent began
    ``cpu``        seconds of CPU time of the whole process
    ``agent_cpu``  seconds of CPU time of the agent's own thread
    ``traced``, ``tracer``  bytes; as in `concwatch.wire`, while ``tracemalloc`` traces
    ``flags``, ``name``  as in ``ready``, when they have changed

``groups``: after a scan, twice a second at most: the groups that have changed since they were last sent,
where a group is the tasks of one coroutine function. The first 200 by live tasks, then by created ones, and
`rest`.
    ``time``       the ``scan_time`` of the tick that these figures belong to
    ``groups``     list of objects:
        ``group``      integer, this process's own number of it
        ``name``       its qualified name where Python tells it (3.11 on): ``"Crawler.fetch_page"``
        ``file``, ``line``  where it is defined
        ``kind``       ``"asyncio"`` or ``"trio"``
        ``own``        whether it is the program's own, neither of the standard library nor an installed
                       package
        ``created``, ``live``, ``ended``, ``since``, ``retained``  as in ``tick``, of that scan
        ``completed``, ``failed``, ``cancelled``  absent without ``outcomes``
        ``oldest``     seconds since the oldest live one that was noted was created. Absent while none is
                       known. One creation in half a second is noted for each group: what stays long is among
                       them. Those that ``since`` counts are older, by nobody knows how much
        ``starts``     list of strings, at most 5: lines that created those noted, ``"/app/crawl.py:41"``, the
                       most frequent first
    ``rest``       object ``groups``, ``created``, ``live``, ``ended``, ``since``, ``retained``: all that are
                   not among the first 200; absent where there are none

``waits``: answers the command. Tasks of a group by where they stand, at most 50 places.
    ``group``      the number asked for
    ``looked``     tasks looked at; at most 20,000 of a group are
    ``live``       tasks of the group that were live by the last scan
    ``waits``      list of objects, the most frequent first: ``where``: ``"/app/crawl.py:52"``, the innermost
                   line of the program's own code, or of any where there is none; ``in``: the function it is
                   in; ``on``: the innermost coroutine awaited, or what that awaits; ``tasks``: how many
    ``oldest``     object ``age`` (seconds), ``where``, ``start`` (the line that created it, or null) of the
                   oldest task noted, or null

``lines``: answers the command: where traced memory was allocated.
    ``lines``      list of objects ``file``, ``line``, ``bytes``, ``grown`` (bytes more than at the last
                   ``lines``, maybe negative), ``blocks``: the first 20 by growth

``applied``: as in `concwatch.wire`: a command has taken effect, and how long that took.
``error``: as in `concwatch.wire`: a command that was refused (``command``), or what the agent cannot do here
(``command`` null), each once.
``end``: the process ends in the ordinary way; the last report, behind a last tick and last groups. Without it
the process was killed, or left by ``os._exit``, as the children of ``multiprocessing`` do.

Commands, monitor to agent
==========================
``rate``      ``hz``: send this many ticks a second, 0.1 to 10. Scans are as often, as far as 1 % of the
              process's time allows.
``waits``     ``group``: a group's number. Answered by ``waits``.
``outcomes``  ``on``: count how tasks end that are created from now on (0.3 to 1.7 µs more for each).
``trace``     ``on``: start or end ``tracemalloc``. Ending leaves one alone that the program has started.
``lines``     the lines that hold traced memory. Takes a snapshot: the process stands still meanwhile.
``detach``    take the hooks back and close the connection.

What it does to the program
===========================
``create_task`` is replaced on the classes ``asyncio.BaseEventLoop`` and ``uvloop.Loop`` by one that counts
and passes everything through; no task factory is set. One thread reports; it is not to be seen in
``threading``, and it is not there while the program forks. It uses 1 % of the time, in turns of about 2 ms.
``gc.callbacks`` gets an entry. trio is told to call an instrument. Nothing of it raises into the program.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

__all__ = ["start", "stop"]


def start(address: Optional[str] = None) -> None:
    """Report this process to a monitor: connect to its socket at ``address``, or listen for one to attach.

    Does nothing where the agent runs already. Never raises for what the system refuses.
    """
    from .reporter import start as begin

    begin(address)


def stop() -> None:
    """Take all hooks back and close the connection."""
    from .reporter import stop as end

    end()
