"""The specification of the agent's protocol, and the types of its reports, which are decoded strictly.

Connections
===========
Agent and monitor communicate over a Unix stream socket in a folder of mode 0700. Each uses ``SO_PEERCRED``,
where available, to check that its peer runs as the same user or as root, and closes the connection
otherwise.

``watch``   The monitor listens, and starts the program with the path of its socket in the environment
            variable ``CONCWATCH_AGENT``, and a folder with the agent's ``sitecustomize`` first on
            ``PYTHONPATH``. Each Python process that the program starts opens a connection of its own, and so
            does each forked process. A process that has imported no framework and started no thread so far
            sends ``ready``, a tick of zeros and ``waiting``, and closes the connection; it connects again
            once it has, or at the first garbage collection after a second.
``attach``  The monitor listens, and makes the process run what
            `concwatch.portable.agent.attaching.inject.script` returns (through ``sys.remote_exec``, or gdb):
            the process connects to that path.
``start``   The process listens at the first path of
            `concwatch.portable.agent.sending.places.socket_paths` for its pid that it can bind,
            ``…/concwatch-UID/PID.sock``; the monitor connects to it. It serves one monitor at a time;
            another one waits.

All three use the same protocol. When the connection ends, for whatever reason, the agent removes its hooks
within 5 s; after ``start``, it listens again.

Lines
=====
As in `concwatch.portable.protocol.wire`: UTF-8, one JSON object per line, ended by ``\\n``, at most 1 MiB;
both sides ignore unknown keys and types; counts and bytes are whole numbers from 0 to 2**53, seconds may have
a fraction, and times are on a monotonic clock. Names are at most 200 characters, without control characters.
A report may contain lists of objects; a command is flat. Arguments, values and environment variables of the
program are never sent, only names that it gives to executors and to child processes. A monitor that
reads too slowly misses ticks, but no counts, because all figures are totals since the agent started.

Reports, agent to monitor
=========================
``ready``: sent first. The process is running, and its tasks are counted from now on.
    ``protocol``   1
    ``engine``     ``"agent"``
    ``name``       the process's name: the script's or module's name from its command line, followed by the
                   name of the child for a child of ``multiprocessing``: ``"crawl.py SpawnProcess-2"``
    ``pid``, ``ppid``  integers
    ``runtime``    ``"CPython 3.11.7"``
    ``flags``      list of strings: the loaded frameworks, ``"asyncio"``, ``"uvloop 0.21.0"`` and
                   ``"trio 0.30.0"``; ``"free-threaded"``; ``"blocks"`` if it looks for what blocks loops.
                   Also in ``applied``
    ``can``        list of strings: the commands below that it supports; never ``"target"``
    ``workloads``  an empty list
    ``started``    when the agent started, on its clock; differs once the process executes another program

``tick``: the whole process, 10 times a second unless ``rate`` changes it. Figures that are not available are
absent.
    ``time``       the agent's clock
    ``number``     how many ticks were created, including this one
    ``created``    tasks created since the agent started. Those created by calling ``asyncio.Task(coro)``
                   are not intercepted: they are included once a scan has found them alive. After that, since
                   Python 3.12, further tasks of the same function are included when they start
    ``live``       tasks that are not done, as of the last complete scan
    ``live_peak``  the highest ``live`` of all scans
    ``missed``     how many tasks at least were created by calling ``asyncio.Task(coro)`` and found by no
                   scan, according to the number in asyncio's default names, ``"Task-12"``; absent if 0
    ``uncounted``  why the process may have tasks although none was counted, so that all these figures are
                   unknown: it uses greenlets without gevent. Absent otherwise
    ``ended``      tasks that had ended by that scan. ``scan_created + since = live + ended``
    ``since``      tasks that already existed when the agent started
    ``scan_created``  ``created`` when that scan started
    ``scan_time``  when that scan started. A scan takes about a second for 30,000 live tasks, and 40 s for
                   1,000,000. These five are absent before the first scan completes. Since Python 3.14,
                   there is one scan per minute with more than about 100,000 tasks; an ``error`` reports that
    ``groups_time``  the ``scan_time`` as of which all groups that had changed were reported; the other groups
                   have not changed since they were. Absent before the first report
    ``existing``   task objects that exist now, including done ones that something still references; absent
                   since Python 3.14. ``existing - retained`` is more recent than ``live`` with many tasks
    ``retained``   done tasks that something still referenced at the scan; absent since Python 3.14
    ``left_over``  tasks that were left over since the agent started: pending when the main coroutine of their
                   loop ended, and then cancelled all at once, as by ``asyncio.run``; or pending when their
                   loop was closed. Unknown for a main coroutine on uvloop that calls ``sys.exit``
    ``destroyed``  tasks that were destroyed while pending
    ``queued``     calls waiting for a thread of a ``ThreadPoolExecutor``, all executors together
    ``completed``, ``failed``, ``cancelled``  tasks that ended since ``outcomes`` was switched on; absent
                                              without it
    ``lag``        seconds: the highest ``lag`` of ``loops``
    ``loops``      list of objects, at most 20, one per running event loop or hub of gevent: ``name``
                   (``"loop 1"``, in the order found), ``kind`` (its class), ``lag``: the longest time in
                   seconds since the last tick from requesting a callback to its call; a callback that is
                   overdue counts too
    ``threads``    list of objects ``name``, ``count``, ``created``, ``file``, ``line``, at most 20: how many
                   threads are live, and how many any reading has found, by the function that they run, the
                   rest as ``"others"``; read twice a second, or less often if there are many. The threads
                   of a program that gevent has patched are greenlets, and not among them
    ``files``, ``sockets``  the number of open files including sockets, and of sockets, where ``/proc`` is
                   available; read about every three seconds
    ``executors``  list of objects ``name`` (its ``thread_name_prefix``), ``threads``, ``queued``, at most 20:
                   each thread pool; those of the same name are added up
    ``executor_lines``  list of objects ``name`` (the class), ``line`` (``"/app/views.py:41"``), ``in`` (its
                   function), ``count``, ``workers``, ``created``, at most 20: how many executors and pools of
                   ``concurrent.futures`` and ``multiprocessing`` exist that have not been shut down, by the
                   line that created them; their threads or processes; and how many were created since the
                   agent started. Read together with ``threads``
    ``limiter``    object ``used``, ``total``, ``waiting``: AnyIO's default thread limiters, all loops
                   together
    ``gc``         seconds spent in garbage collection since the agent started
    ``cpu``        seconds of CPU time of the whole process
    ``busy``       seconds in which tasks ran on the event loops of asyncio and uvloop, as far as known; while
                   there are many steps, estimated from some of them
    ``looped``, ``covered``  the seconds of all loops over which ``busy`` is known, and the part of them in
                   which each step was timed. Absent without such a loop, and in asyncio's debug mode
    ``agent_cpu``  seconds of CPU time of the agent's own thread
    ``traced``, ``tracer``  bytes; as in `concwatch.portable.protocol.wire`, while ``tracemalloc`` traces
    ``flags``, ``name``  as in ``ready``, when they have changed
    ``stack_signal``  when it has changed: a signal that makes the process write the stack of its main thread
                   to the connection, as text of ``faulthandler``, even while code holds the interpreter's
                   lock; null without one. It may only be sent while the process has a handler for it
                   (``SigCgt`` in ``/proc/PID/status``)

``groups``: the groups that have changed since they were last sent. Sent after a scan, at most twice a second,
or once a second if there are 200 or more. A group is the tasks of one coroutine function; there are at most
1,001 groups, and at most 200 in one report.
    ``time``       the ``scan_time`` of the tick that these figures belong to
    ``more``       whether another report follows with further groups of the same scan
    ``groups``     list of objects:
        ``group``      integer, the number of the group in this process
        ``name``       the name of the function, qualified since Python 3.11: ``"Crawler.fetch_page"``
        ``file``, ``line``  where it is defined
        ``kind``       ``"asyncio"``, ``"trio"`` or ``"gevent"``: its tasks are the greenlets that run a
                       function. Those of ``spawn_raw`` are not counted
        ``own``        whether it is the program's own code, neither the standard library's nor an installed
                       package's
        ``created``, ``live``, ``ended``, ``since``, ``retained``  as in ``tick``, at that scan
        ``kept``       about how many done tasks something still references, estimated from one task for each
                       report: since Python 3.14, in place of ``retained``
        ``live_peak``  the highest ``live`` of all scans
        ``task_seconds``  the integral of ``live`` over time; divided by ``ended``, the mean life. Scans
                       are jittered, so that they are not in step with the program. Absent until three scans
                       have found a task, and if only scans find the tasks of ``direct`` or ``moved``
        ``direct``     how many of ``created`` were not counted at creation; more may have been missed
        ``moved``      how many of ``created`` were counted in another group until a scan found them. A task
                       whose function is not the program's own is moved to the innermost function of the
                       program in which it is first found waiting. With ``by_name``, a task with a name is
                       moved to the group of that name, with numbers replaced by ``N``, which has no file
        ``left_over``, ``destroyed``  as in ``tick``
        ``left_lines``  list of objects ``line``, ``tasks``, at most 5, the most frequent first: the lines
                       that created the leftover tasks; ``line`` is empty if it was not recorded. Absent
                       without leftover tasks
        ``completed``, ``failed``, ``cancelled``  absent without ``outcomes``
        ``oldest``     seconds since the oldest live sampled task was created; absent without one. One task
                       per group is sampled every half second, so that long-lived tasks are included. The
                       tasks of ``since`` are older, but their age is unknown
        ``busy``       as in ``tick``, of the tasks of this group
        ``durations``  list of pairs for timed tasks that have ended since the last report: the seconds from
                       the first step to the end, and how many tasks this one stands for. Tasks to be timed
                       are chosen with equal probability; absent without one
        ``timing``     list of pairs, at most 20, for timed tasks that have not ended, together with others of
                       about their age: their mean age, and how many tasks they stand for; absent without one
        ``starts``     list of strings, at most 5: lines that created tasks, ``"/app/crawl.py:41"``, the most
                       frequent first. They are read for the first 100 tasks of a group between two reports,
                       and for 400 in all

``waits``: the answer to the command: where the tasks of a group wait, at most 50 places. A *place* in a list
is an object ``where`` (``"/app/crawl.py:52"``), ``in`` (its function), ``tasks`` (how many are there); lists
of places within another have at most 5, the most frequent first.
    ``group``      the requested number
    ``looked``     tasks of the group that were examined, at most 20,000
    ``live``       tasks of the group that were live at the last scan
    ``timed``, ``until``  how many of them wait for something that a timer ends, or a deadline of trio or
                   AnyIO, and the seconds until the last of these; absent without one
    ``sampled``, ``wakeable``  how many of the others were examined further, at most 50, and how many of
                   these others may wake: they wait for an object that something besides the task holds,
                   but not for an event for which several wait, or a lock whose holder is stuck
    ``waits``      list of places, the most frequent first: the innermost line in the program's own code, or
                   in any code if there is none. Also ``on``: what that line awaits, by its own name:
                   ``"Semaphore"``, ``"BoundedSemaphore(5)"``, ``"Queue.get"``, ``"gather"``, ``"executor
                   NAME, in its queue"``, the function of a task; ``for``: places of the tasks that it waits
                   for; ``inside``: where those wait that have entered the lock or semaphore by ``async
                   with``: who has called ``acquire`` by itself is not known. The last two are absent if
                   empty, and for trio; the first 2,000 awaited tasks are examined. ``running``: true if the
                   tasks there run instead of waiting: they keep their loop busy; absent otherwise
    ``created``    list of places: the lines that created its tasks, as in ``starts``
    ``awaited_by``  list of places: where tasks wait that await tasks of this group
    ``oldest``     object ``age`` (seconds), ``where``, ``start`` (the line that created it, or null) of the
                   oldest sampled task, or null

``finished``: the answer to the command: what holds the ended tasks of a group that are still referenced.
    ``group``      the requested number
    ``looked``     how many of them were examined, at most 3
    ``kind``, ``within``, ``holders``  what holds most of these, as in ``objects``

``thread_waits``: the answer to the command: where the threads of a target wait, at most 20 places.
    ``name``, ``pool``  as requested
    ``waits``      as in ``waits``, without ``on``
    ``looked``, ``locked``  how many there are, and how many of them wait, without a time limit, for an
                   event of ``threading``, or a lock for which no other one waits

``cycle``: tasks each of which waits for the next, and the last for the first; once for each list of lines.
    ``tasks``      list of places, each with ``on``, as in ``waits``

``block``: what has blocked an event loop for 0.1 s or longer, or for as long as ``blocked_after`` says, or
at the start the option ``blocked-after:SECONDS`` (``inf`` for never). A block that lasts is reported each
second, under one number.
    ``block``      integer, the number of the block in this process
    ``loop``       the name of the loop, as in ``tick``
    ``time``, ``seconds``  when it began, to within 15 ms, and how long it has lasted
    ``ended``      whether it has ended
    ``cause``      ``"code"``: one task or callback ran all the time; ``"gc"``: garbage collection;
                   ``"stopped"``: the process, or the loop's thread, was stopped or waited for a processor.
                   Neither many short callbacks nor waiting for the interpreter's lock are a block
    ``exact``      for code: whether the stack was read during the block; otherwise the interpreter's lock was
                   held, and the cause is at the line or just before it
    ``stack``      for code: list of objects ``in`` (function) and ``where`` (``"/app/views.py:12"``), at most
                   20, innermost first, without the loop's own frames
    ``own``        for code: the indexes in ``stack`` of the program's own code
    ``group``      for code: the name of the task's group, or null

``lasting``: something else that lasts: reported each second under one number, and once it has ended.
    ``number``     integer, its number in this process
    ``kind``       ``"deadlock"``: threads, each of which waits for a lock that the next one holds, and the
                   last one for a lock of the first. It is known who holds a lock if it was entered by
                   ``with``, if the function that acquired it releases it, too, and of an ``RLock``;
                   ``"shutdown"``: tasks that were cancelled when the main coroutine had returned, as by
                   ``asyncio.run``, and have not ended
    ``seconds``, ``ended``  as in ``block``
    ``places``     list of places, at most 20, each with ``on``, as in ``waits``: where these wait

``agent_errors``: errors of the agent itself, none of which is raised into the program; figures may be missing
or wrong after one. Sent first with ``ready``, and when there are new ones, at most once a second.
    ``total``      how many there were since the agent started
    ``kinds``      list of objects, the first 10 kinds: ``error`` (the type of the exception), ``where`` (the
                   agent's innermost line, ``"concwatch/portable/agent/counting/scan.py:123"``), ``figures``
                   (which figures it concerns: ``"leftover tasks"``; empty for all), ``count``. The text of
                   an exception, which may have values of the program, is not sent

``lines``: the answer to the command: where traced memory was allocated.
    ``lines``      list of objects ``file``, ``line``, ``bytes``, ``grown`` (bytes more than at the last
                   ``lines``, may be negative), ``blocks``: the first 20 by growth

``objects``: the answer to the command: what has grown. The agent walks from modules, event loops, tasks and
the variables of running functions through attributes, closures and containers, and goes into at most 500
items of a container, or 100 of a larger one.
    ``searched``   how many objects it has visited
    ``complete``   whether it has visited all that it could reach, apart from items of large containers;
                   otherwise there were too many
    ``counted``    how many objects the garbage collector tracks: those that refer to others; null with more
                   than 200,000 blocks of memory, for which ``types`` is empty
    ``since``      seconds within which the types have grown
    ``types``      list of objects ``name`` (``"app.views.Session"``, ``"dict"``), ``count``, ``grown`` (how
                   many more, may be negative): the first 20 by growth
    ``containers``  list of objects, at most 4, those that have grown by most bytes first: lists,
                   dictionaries, sets, deques and what is derived from them, caches, buffers, iterators of
                   ``itertools.tee``, and functions registered with ``atexit``, which have grown steadily.
                   Those of weak references, and with fewer than 5 items, are not among them
        ``kind``       its type, or the class of a library whose attribute it is: ``"asyncio.Queue"``
        ``within``     the type of what contains it and is held by the holders: ``"dict"``; or else empty
        ``count``      1, or how many alike containers grow together
        ``items``, ``grown``  how many items it has, and how many more than at the beginning
        ``seconds``    within which it has grown
        ``bytes``      about how many bytes these take, from the sizes of some; null if that is unknown
        ``in_bytes``   whether its items are bytes: of a ``bytearray``, an array
        ``holders``    list of objects, at most 3: what holds it in the program's own code, or else in a
                       library. ``name`` of a variable or attribute (``"q"``, ``"Hub.connections"``), empty
                       for the cache of a function; ``in``, its function or module; ``where``, the line of
                       the function (where it is, if it runs or waits), or the file of the module
        ``function``   the program's own function to which its newest items refer, if only a library holds
                       it: an object like those of ``holders``, or null

``profile``: the answer to the command: where CPU time went. Threads in other languages have no stacks.
    ``seconds``    for how long stacks were sampled
    ``cpu``        CPU seconds of the process, without those of the agent: a few more than those of the stacks
    ``taken``, ``samples``  how often stacks were read, and how many of them belonged to a thread that ran
    ``frames``     list of objects ``in`` (function), ``where`` (``"/app/views.py:12"``, the line that ran),
                   ``own`` (whether it is the program's own code); an event loop itself is ``"event loop"``
    ``stacks``     list of objects, those with most CPU time first, as many as fit into a line: ``thread``,
                   the function that the thread runs, or ``"main"``; ``frames``, indexes, outermost first, at
                   most 200, without those of an event loop that runs the others; ``cpu``, seconds: the CPU
                   time of these threads is read, and divided among their samples; ``samples``

``memory``: the answer to the command: what RSS is made of, in bytes. All but ``unknown`` are absent where the
system does not say so.
    ``rss``, ``anonymous``, ``file_pages``, ``shared``  RSS and its parts, as in ``/proc/PID/status``
    ``stacks``, ``heap``, ``written``, ``other``  the parts of ``anonymous``: stacks of threads; what the C
                   library allocates for small and medium blocks; pages of mapped files that were changed; the
                   rest, such as what Python allocates for objects, and large blocks of the C library
    ``heap_size``  the address space of ``heap``
    ``arenas``     the part of ``heap`` that belongs to arenas of threads
    ``regions``, ``regions_rss``  the address space in ``other`` that whole arenas may take, where they cannot
                   be told from other mappings; and the part of it in RSS, at least
    ``malloc``     object, what the C library says of itself (``malloc_info`` of glibc): ``taken``, ``free``,
                   ``mapped``: what it has taken from the system, what of this is free, and what it has mapped
                   for large blocks; ``arenas``, how many; ``pause``, the seconds that asking took, in which
                   it allocates nothing for others. Or null
    ``unknown``    why ``malloc``, or everything, is unknown
    ``blocks``     integer, the blocks of memory that Python has allocated

``applied``: as in `concwatch.portable.protocol.wire`: a command has taken effect, and how long that took.
``error``: as in `concwatch.portable.protocol.wire`: a command was refused (``command``), or the agent reports
a limitation of this process (``command`` is null), each once.
``waiting``: the process has no tasks and no threads so far. It closes the connection, and connects again once
there is something to report.
``end``: the last report of a process that exits normally, after a last tick and last groups. Without it, the
process was killed, or was ended by code in another language.

Commands, monitor to agent
==========================
``rate``      ``hz``: send this many ticks per second, 0.1 to 10. Scans are as frequent, as far as 1 % of the
              process's time allows.
``waits``     ``group``: the number of a group. Answered by ``waits``.
``finished``  ``group``: the number of a group. Answered by ``finished``, after a walk as for ``objects``.
``thread_waits``  ``name``: a name of ``threads``; of ``executors`` if ``pool`` is true. Answered by
                  ``thread_waits``.
``outcomes``  ``on``: count the outcomes of tasks created from now on (0.3 to 1.7 µs more per task).
``timing``    ``on``: time some tasks from their first step to their end, and their steps, from now on.
``by_name``   ``on``: group tasks found from now on by their names, except asyncio's default names.
``blocked_after``  ``seconds``: report what blocks a loop for longer than that; null for never.
``trace``     ``on``: start or stop ``tracemalloc``. One that the program has started is not stopped.
``lines``     report the lines that hold traced memory. The process is stopped while a snapshot is taken.
``objects``   find what grows: which types of objects, and which containers. This takes up to 2 % of a core,
              and stops the process for up to 20 ms at a time; refused on free-threaded Python.
``profile``   ``seconds``: sample the stacks of all threads for this long, at most 600, about 100 times a
              second; answered by ``profile``. 0 ends it. Whenever the agent waits meanwhile, the switch
              interval of the interpreter is 5 µs, or up to 1 ms if threads compete. Refused except on Linux.
``memory``    ``longest``: report what RSS is made of, without ``malloc`` if asking it may take longer than
              these seconds; null or absent for no limit. Loads ``ctypes``. The maps of the process are read
              in slices; the C library locks its arenas, one after the other, while it counts what is free
              in them.
``detach``    remove the hooks and close the connection.
"""

import re
from collections.abc import Callable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from concwatch.links.messages import (
    Applied,
    Block,
    Clock,
    Count,
    Error,
    Int64,
    Seconds,
    ShortText,
    TextList,
    TracedLines,
    line_decoder,
)
from concwatch.portable.protocol.text import flat, plain

MAX_GROUPS = 200
"""The most groups in one report."""


MAX_TYPES = 20
"""The most types of objects in one report."""

MAX_CONTAINERS = 4
"""The most growing containers in one report."""

MAX_WAITING = 20
"""The most places in a report of what lasts."""

MAX_ERRORS = 10
"""The most kinds of the agent's own errors in one report."""

MAX_HOLDERS = 3
"""The most holders of one object in a report."""


class AgentReady(Struct, tag="ready", frozen=True):
    """The agent is running, and counts from now on."""

    name: ShortText
    pid: Int64
    ppid: Int64
    runtime: ShortText
    protocol: Count = 1
    flags: TextList = ()
    can: TextList = ()
    started: Clock | None = None


class LoopLag(Struct, frozen=True):
    """One running event loop."""

    name: ShortText
    lag: Seconds = 0.0
    kind: ShortText = ""


class ThreadCount(Struct, frozen=True):
    """Live threads of one target."""

    name: ShortText
    count: Count
    file: ShortText = ""
    line: Count = 0
    created: Count | None = None
    """How many were created since the agent started, at least."""


class Executor(Struct, frozen=True):
    """One thread pool."""

    name: ShortText
    threads: Count = 0
    queued: Count = 0


class ExecutorLine(Struct, frozen=True, rename={"in_": "in"}):
    """The executors that a line has created and that have not been shut down."""

    name: ShortText
    """Their class."""
    line: ShortText = ""
    in_: ShortText = ""
    """The function of the line."""
    count: Count = 0
    workers: Count = 0
    """Their threads or processes."""
    created: Count = 0
    """How many it has created since the agent started."""


class Limiter(Struct, frozen=True):
    """The sums of AnyIO's thread limiters."""

    used: Count = 0
    total: float = 0
    waiting: Count = 0


class AgentTick(Struct, tag="tick", frozen=True):
    """The counters of the whole process; None for those that are not available."""

    time: Clock
    number: Count = 0
    created: Count = 0
    live: Count | None = None
    ended: Count | None = None
    since: Count | None = None
    scan_created: Count | None = None
    live_peak: Count | None = None
    missed: Count = 0
    uncounted: ShortText = ""
    scan_time: Clock | None = None
    groups_time: Clock | None = None
    existing: Count | None = None
    retained: Count | None = None
    left_over: Count | None = None
    destroyed: Count | None = None
    queued: Count | None = None
    completed: Count | None = None
    failed: Count | None = None
    cancelled: Count | None = None
    lag: Seconds | None = None
    loops: tuple[LoopLag, ...] = ()
    threads: tuple[ThreadCount, ...] = ()
    files: Count | None = None
    sockets: Count | None = None
    executors: tuple[Executor, ...] = ()
    executor_lines: tuple[ExecutorLine, ...] | None = None
    limiter: Limiter | None = None
    gc: Seconds | None = None
    cpu: Seconds | None = None
    agent_cpu: Seconds | None = None
    busy: Seconds | None = None
    """The seconds in which tasks ran on the event loops."""
    looped: Seconds | None = None
    """The seconds of all loops over which ``busy`` is known."""
    covered: Seconds | None = None
    """The part of ``looped`` in which each step of a task was timed."""
    traced: Count | None = None
    tracer: Count | None = None
    flags: TextList = ()
    name: ShortText = ""
    """The process's new name; empty if it has not changed."""
    stack_signal: Count | None = None
    """The signal that makes it write its stack; None if it has not changed."""


class LineCount(Struct, frozen=True):
    """How many tasks a line created; the line is empty if it was not recorded."""

    line: ShortText
    tasks: Count


class GroupReport(Struct, frozen=True):
    """The tasks of one coroutine function at the last scan."""

    group: Count
    name: ShortText
    file: ShortText = ""
    line: Count = 0
    kind: ShortText = "asyncio"
    own: bool = False
    created: Count = 0
    live: Count = 0
    ended: Count = 0
    since: Count = 0
    retained: Count | None = None
    kept: Count | None = None
    """The same, estimated from some tasks."""
    completed: Count | None = None
    failed: Count | None = None
    cancelled: Count | None = None
    live_peak: Count | None = None
    task_seconds: Clock | None = None
    direct: Count = 0
    moved: Count = 0
    oldest: Seconds | None = None
    busy: Seconds = 0.0
    """The seconds in which its tasks ran."""
    durations: tuple[tuple[Seconds, Count], ...] = ()
    """Of timed tasks that have ended since the last report: seconds, and how many tasks each stands for."""
    timing: tuple[tuple[Seconds, Count], ...] = ()
    """Of timed tasks that have not ended: their mean ages, and how many tasks each stands for."""
    starts: TextList = ()
    left_over: Count | None = None
    destroyed: Count | None = None
    left_lines: tuple[LineCount, ...] = ()


class Groups(Struct, tag="groups", frozen=True):
    """The groups that have changed since their last report."""

    time: Clock
    groups: Annotated[tuple[GroupReport, ...], Meta(max_length=MAX_GROUPS)]
    more: bool = False
    """Whether another report follows with further groups of the same scan."""


class TaskPlace(Struct, frozen=True, rename={"in_": "in"}):
    """A line and its function, and how many tasks are there."""

    where: ShortText
    tasks: Count
    in_: ShortText = ""


class WaitPlace(TaskPlace, frozen=True, rename={"for_": "for"}, omit_defaults=True):
    """A line at which tasks of a group wait, and how many."""

    on: ShortText = ""
    """What they wait for, by its own name."""
    for_: tuple[TaskPlace, ...] = ()
    """Where the tasks that they wait for wait themselves."""
    inside: tuple[TaskPlace, ...] = ()
    """Where those wait that hold the lock or semaphore."""
    running: bool = False
    """Whether they run there instead of waiting."""


class OldestTask(Struct, frozen=True):
    """The oldest known task of a group."""

    age: Seconds
    where: ShortText = ""
    start: ShortText | None = None


class Waits(Struct, tag="waits", frozen=True):
    """Where the tasks of a group wait, most frequent first."""

    group: Count
    looked: Count = 0
    live: Count = 0
    waits: tuple[WaitPlace, ...] = ()
    oldest: OldestTask | None = None
    timed: Count = 0
    until: Seconds | None = None
    sampled: Count = 0
    wakeable: Count = 0
    """Of those sampled, the tasks that something else may wake."""
    created: tuple[TaskPlace, ...] = ()
    """The lines that created its sampled tasks."""
    awaited_by: tuple[TaskPlace, ...] = ()
    """Where the tasks wait that await tasks of the group."""


class ThreadWaits(Struct, tag="thread_waits", frozen=True):
    """Where the threads of a target, or of an executor, wait, most frequent first."""

    name: ShortText
    waits: tuple[WaitPlace, ...] = ()
    looked: Count = 0
    locked: Count = 0
    """The threads that wait for an event of ``threading``, or for a lock for which no other one waits."""
    pool: bool = False
    """Whether ``name`` is that of an executor."""


class Cycle(Struct, tag="cycle", frozen=True):
    """Tasks that wait each for the next, and the last for the first."""

    tasks: tuple[WaitPlace, ...] = ()


class Lasting(Struct, tag="lasting", frozen=True):
    """Something that lasts in the process, other than the block of a loop."""

    number: Count
    kind: Literal["deadlock", "shutdown"]
    seconds: Seconds
    ended: bool = False
    places: Annotated[tuple[WaitPlace, ...], Meta(max_length=MAX_WAITING)] = ()
    """Where threads or tasks wait."""


class AgentErrorKind(Struct, frozen=True):
    """Alike errors of the agent itself."""

    error: ShortText
    """The type of the exception."""
    where: ShortText = ""
    """The agent's innermost line."""
    figures: ShortText = ""
    """The figures that may be missing or wrong because of it; empty for all."""
    count: Count = 1


class AgentErrors(Struct, tag="agent_errors", frozen=True):
    """The errors of the agent itself so far."""

    total: Count = 0
    kinds: Annotated[tuple[AgentErrorKind, ...], Meta(max_length=MAX_ERRORS)] = ()


class Holder(Struct, frozen=True, rename={"in_": "in"}):
    """A variable, attribute or cache that holds something."""

    name: ShortText = ""
    """Its name; empty if it has none."""
    in_: ShortText = ""
    """The function or module that it belongs to."""
    where: ShortText = ""
    """The line or file of that."""


class HeldValue(Struct, frozen=True):
    """An object, and what holds it."""

    kind: ShortText
    """Its type, or the class of a library whose attribute it is."""
    within: ShortText = ""
    """The type of what contains it and is held by the holders; empty if they hold it itself."""
    holders: Annotated[tuple[Holder, ...], Meta(max_length=MAX_HOLDERS)] = ()


class Container(HeldValue, frozen=True):
    """A container that grows, or several within another one."""

    count: Count = 1
    items: Count = 0
    grown: Count = 0
    """Items more than at the beginning."""
    bytes: Count | None = 0
    """About how many bytes these take; None if that is unknown."""
    seconds: Seconds | None = None
    """Within how many seconds it has grown."""
    in_bytes: bool = False
    """Whether its items are bytes."""
    function: Holder | None = None
    """The program's own function to which its newest items refer, if only a library holds it."""


class Finished(HeldValue, tag="finished", frozen=True):
    """What holds most of some ended tasks of a group that are still referenced."""

    group: Count = 0
    looked: Count = 0
    """How many were examined."""


class ObjectCount(Struct, frozen=True):
    """The objects of one type."""

    name: ShortText
    count: Count
    grown: Int64 = 0
    """More than at the beginning."""


class Objects(Struct, tag="objects", frozen=True):
    """What has grown within a few seconds."""

    counted: Count | None
    """How many objects the garbage collector tracks; None if there are too many to count."""
    since: Seconds
    """How many seconds that took."""
    types: Annotated[tuple[ObjectCount, ...], Meta(max_length=MAX_TYPES)] = ()
    """The objects that the garbage collector tracks, by type, those that have grown most first."""
    containers: Annotated[tuple[Container, ...], Meta(max_length=MAX_CONTAINERS)] = ()
    """Those that have grown most, by bytes."""
    searched: Count = 0
    """How many objects were visited."""
    complete: bool = True
    """Whether all that can be reached were visited, apart from items of large containers."""


class ProfileFrame(Struct, frozen=True, rename={"in_": "in"}):
    """A line of a function."""

    in_: ShortText
    where: ShortText = ""
    own: bool = False
    """Whether it is the program's own code."""


class ProfileStack(Struct, frozen=True):
    """The CPU time of one stack."""

    thread: ShortText
    """The function that its threads run."""
    frames: tuple[Count, ...] = ()
    """The indexes of its frames, outermost first."""
    cpu: Seconds = 0.0
    samples: Count = 0


class Profile(Struct, tag="profile", frozen=True):
    """Where the CPU time of a process went."""

    seconds: Seconds
    cpu: Seconds
    """CPU seconds of the whole process, without those of the agent."""
    taken: Count = 0
    """How often stacks were read."""
    samples: Count = 0
    """How many of them were of a thread that ran."""
    frames: tuple[ProfileFrame, ...] = ()
    stacks: tuple[ProfileStack, ...] = ()

    def __post_init__(self) -> None:
        """Check the indexes; raises ValueError."""
        if any(index >= len(self.frames) for stack in self.stacks for index in stack.frames):
            raise ValueError("the index of a frame is too large")


class MallocFigures(Struct, frozen=True):
    """What the C library says of its heap, in bytes."""

    taken: Count = 0
    """What it has taken from the system, without ``mapped``."""
    free: Count = 0
    """The part of that which is free."""
    mapped: Count = 0
    """What it has mapped for large blocks."""
    arenas: Count = 0
    pause: Seconds = 0.0
    """How long asking took."""


class MemoryParts(Struct, tag="memory", frozen=True):
    """What RSS is made of, in bytes; None where that is unknown."""

    rss: Count | None = None
    anonymous: Count | None = None
    file_pages: Count | None = None
    shared: Count | None = None
    stacks: Count = 0
    heap: Count = 0
    written: Count = 0
    other: Count = 0
    """The parts of anonymous memory."""
    heap_size: Count = 0
    """The address space of ``heap``."""
    arenas: Count = 0
    """The part of ``heap`` that belongs to arenas of threads."""
    regions: Count = 0
    """The address space in ``other`` that whole arenas may take."""
    regions_rss: Count = 0
    """The part of that in RSS, at least."""
    malloc: MallocFigures | None = None
    unknown: ShortText = ""
    """Why that, or everything, is unknown."""
    blocks: Count | None = None
    """Blocks of memory that Python has allocated."""


class AgentEnd(Struct, tag="end", frozen=True):
    """The process is about to exit."""


class AgentWaiting(Struct, tag="waiting", frozen=True):
    """The process has no tasks and no threads so far; its agent connects again once it has."""


AgentReport = (
    AgentReady
    | AgentWaiting
    | AgentTick
    | Groups
    | Block
    | Waits
    | ThreadWaits
    | Cycle
    | Lasting
    | AgentErrors
    | TracedLines
    | Objects
    | MemoryParts
    | Finished
    | Profile
    | Applied
    | Error
    | AgentEnd
)

_decode_json: Callable[[bytes], AgentReport | None] = line_decoder(AgentReport, "an agent's")

_FRAME = re.compile(rb'  File "(.{1,400})", line (\d{1,9}) in (.{1,200})')
_OTHERS = (b"Current thread ", b"Thread ", b"Stack (most recent call first)", b"  ")
"""The beginnings of lines of `faulthandler`."""


class RawFrame(Struct, frozen=True):
    """A line of a stack that was written because of ``stack_signal``; the innermost comes first."""

    function: str
    where: str
    """File and line."""


def decode_report(line: bytes) -> AgentReport | RawFrame | None:
    """Decode one line from an agent; see `line_decoder`."""
    if not line.startswith(_OTHERS):
        return _decode_json(line)
    found = _FRAME.fullmatch(line.rstrip(b"\r\n"))
    if found is None:
        return None
    file, number, function = (flat(plain(part.decode(errors="replace"))) for part in found.groups())
    return RawFrame(function, f"{file}:{number}")
