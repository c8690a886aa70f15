"""The wire, the protocol between concwatch and a worker: any program that speaks it can be an engine.

A worker is a process that runs tasks of one kind and nothing else. concwatch starts it, writes commands to
its standard input and reads reports from its standard output. This text is the complete specification.

Lines
=====
Both directions carry UTF-8 text, one JSON object per line, ended by ``\\n``. Every object has the key
``"type"``; the other keys are listed below. Commands are flat: their values are strings, numbers, true,
false or null. Counts and bytes are whole numbers, seconds may have a fraction. Both sides ignore unknown
keys, and concwatch ignores unknown types too, so that either side can be newer than the other; a worker
answers an unknown command with ``error``. A report is at most 1 MiB long; flush after each one. Counts and
bytes are 0 to 2**53, names and flags a few words without control characters. A line that violates this, and
a tick whose counters decreased or do not add up, is logged once and skipped; after a hundred of them
concwatch ends the worker. concwatch reads about ten times a second, at most 1,000 reports each time: the
pipe of a worker that sends more fills up. Standard error is free text, of which concwatch shows the end. A
worker must make sure that what its tasks print cannot reach its standard output.

The lane of a watched program has no target: its ``can`` does not include ``"target"``. It sends other
reports, with a ``group`` of tasks for each coroutine function, and answers ``waits``: see
`concwatch.links.agent_messages`, which specifies them.

Lifecycle
=========
1. The worker starts, loads everything that its tasks will need, and sends ``ready``.
2. It holds its target, initially 0: while fewer tasks are live it creates more, in slices of at most about
   10 ms so that commands and ticks get through; while more are live it cancels exactly the excess.
3. About ten times a second it sends a ``tick``, however busy it is, from a thread of its own if the runtime
   has threads.
4. At ``stop``, at the end of its standard input, and when its standard output is closed, it exits at once. A
   worker never outlives the process that started it. Only if it has run the set-up of the user's function, it
   ends its tasks and runs the tear-down first, for which it has two seconds in all.

Reports, worker to concwatch
============================
``ready``: the worker is ready for commands.
    ``protocol``   1
    ``engine``     string, the name that it was started with
    ``runtime``    string, what runs it, with its version: ``"CPython 3.11.7"``
    ``flags``      list of strings, what else affects its figures: ``["uvloop 0.23.0"]``
    ``pid``        integer, the process whose memory counts
    ``can``        list of strings, the optional commands that it supports, of ``"trace"``, ``"lines"``,
                   ``"gc"``, ``"trim"``, ``"threads"``, ``"stack"``, ``"burst"``, ``"anatomy"``
    ``workloads``  list of strings, the workloads that it supports; ``"module:function"``: the user's own

``tick``: the counters so far, at one moment. ``created = live + completed + failed + cancelled``.
    ``time``       seconds on a monotonic clock; only differences are meaningful
    ``created``    tasks created so far
    ``live``       tasks created and not yet ended
    ``queued``     those of ``live`` that have not begun because they wait for a thread (else 0)
    ``completed``  tasks that ended by themselves
    ``failed``     tasks that ended with an error
    ``cancelled``  tasks that the worker cancelled
    ``lag``        seconds: the longest delay of a wake-up by this engine since the last tick, including one
                   that is overdue now
    ``cpu``        seconds of CPU time that the whole process has used; absent whenever ``switches`` is
    ``switches``   context switches of the whole process, voluntary and involuntary; absent where the runtime
                   does not report them, and from ticks in which reading them would take too long
    ``durations``  list of seconds, from a task's beginning to its end, of the tasks that were timed and have
                   completed since the last tick; absent where tasks are not timed. At most 1,000 a second are
                   timed, chosen at creation independently of their duration; none of a burst. At most
                   10,000 per tick
    ``delays``     list of seconds, from a task's creation to its beginning, of the tasks that were timed and
                   have begun since the last tick; at most 10,000; absent where tasks are not timed. From
                   their number follows how many timed tasks are live, and how old they are: a beginning
                   should not be reported only when the task has ended
    ``failures``   list of objects ``type`` (of the exception), ``where`` (the line of the user's code that it
                   came from, ``"/app/jobs.py:12"``, or ``""``) and ``count``: the tasks of the present
                   workload that have failed, by kind; absent if nothing has changed since the last one. A
                   dozen kinds are counted one by one, and the tasks of further ones together, under the type
                   ``""``
    ``gc``         seconds spent in garbage collection; absent where the runtime does not report it
    ``traced``     bytes that are traced; absent while tracing is off
    ``tracer``     bytes that the tracer itself takes; absent while tracing is off
    ``heap``       bytes of live objects by the runtime's own count; absent where it has none
    ``number``     the number of ticks sent, including this one; absent where the worker does not count them

``reached``: once for each ``target``, when it has been met: all are live or, if tasks end meanwhile, at least
as many have been created. A ``tick`` should follow at once.
    ``target``     that target
    ``live``       tasks live now
    ``created``    tasks created since the command arrived; all have begun, or are queued
    ``cancelled``  tasks cancelled since then
    ``seconds``    from the command's arrival to now

``burst``: once for each ``burst``, when all of its tasks have ended. A ``tick`` should follow at once.
    ``tasks``           tasks created
    ``create_seconds``  seconds to create them; without their first steps if tasks begin later
    ``create_cpu``      CPU seconds of the whole process meanwhile
    ``seconds``         from the first creation to the last end, summed over the parts
    ``cpu``             CPU seconds of the whole process meanwhile
    ``live``            tasks live at the reading; null without a reading
    ``traced``          bytes traced at the reading beyond those before the burst; null while tracing is off

``limit``: no more tasks can be created. Live tasks stay; their number becomes the target.
    ``standing``   tasks live now
    ``wanted``     the target that could not be met
    ``wall``       string, the name of the limit that was hit: ``"vm.max_map_count"``, ``"pid_max"``,
                   ``"threads-max"``, ``"ulimit -u"``, ``"cgroup pids.max"``, ``"ulimit -n"`` (open files),
                   ``"memory"``, a limit of the runtime such as ``"processes +P"``, the one that ``halt``
                   named, or ``"unknown"``: then concwatch finds out which limit on threads it was
    ``value``      that limit's value, or null
    ``detail``     string, the runtime's error message

``block``: what has blocked the event loop for 0.1 s or longer, while tasks run the user's own function. A
worker need not send it. A block that continues is reported every second, under the same number.
    ``block``      integer, the number of the block
    ``loop``       string, a name of the loop
    ``time``       when it began, on the clock of ticks
    ``seconds``    how long it has lasted
    ``ended``      whether it has ended
    ``cause``      ``"code"``: one task or callback ran all the time; ``"gc"``: the process collected garbage;
                   ``"stopped"``: the process was stopped, or waited for a processor
    ``exact``      for code: whether the stack was read during the block, not just after it
    ``stack``      for code: list of objects ``in`` (function) and ``where`` (``"/app/views.py:12"``), at most
                   20, innermost first
    ``own``        for code: the indexes in ``stack`` of the user's code
    ``group``      null; in a watched program, the name of the group of the task

``lines``: answers the command ``lines``: where traced memory was allocated.
    ``lines``      list of objects ``file``, ``line``, ``bytes``, ``grown`` (bytes more than at the last
                   ``lines``, or fewer if negative), ``blocks``: the 20 that grew most

``anatomy``: answers the command ``anatomy``: what the memory of a live task consists of.
    ``live``       tasks live now
    ``sampled``    those of them that were looked at
    ``taken``      bytes of RSS that looking has taken, which are no task's
    ``parts``      list of objects ``name``, ``count`` and ``bytes``, both a task, and ``function``, the name
                   of the user's function whose frame or variable it is, else empty; at most 100. Their sum is
                   what RSS grows by with a task, as far as it is known

``applied``: a command other than ``target`` has taken effect.
    ``command``    its type
    ``seconds``    from its arrival to now
    ``flags``      the current ones, as in ``ready``; absent if a worker's never change

``error``: something failed and the worker continues unchanged; before ``ready`` it means that the engine
cannot run here, and the worker exits.
    ``command``    the type of the rejected command; null if a task failed
    ``message``    one line for the user: what is wrong, and what was expected
    ``detail``     a traceback, or null. Only the first failing task of a workload is reported; ticks have
                   their number as ``failed`` and their kinds as ``failures``

Reports of a bridge
===================
On another host a bridge starts the worker, forwards both directions, and adds reports of its own, with times
on its host's clock. It has three more commands. ``start``, the first, has ``engine`` and ``environment``, an
object of variables; for a program that follows on the same pipe its ``size`` in bytes, ``arguments``,
``system`` and ``processor``; for one that is built there ``ways``, as `concwatch.runtimes.recipe` makes
them, and ``sources``, the size of a zip file that follows. ``beat`` has a ``number``; 4.5 seconds without one
end bridge and worker. ``survey`` requests a list of the Pythons and tools on the host.

Instead of starting a worker it can watch a program: ``watch`` has its ``command``, a list of strings, and
``attach`` the ``pid`` of a running process, and ``gdb``, whether gdb may be used. ``agent`` has the number
of a ``connection`` and a ``line`` for that agent, as `concwatch.links.agent_messages` specifies it, null
to close it.
``stop`` terminates the program; ``end`` ends the bridge and kills all processes that the program has left
behind.

``host``: the machine, as the first report and then once a second.
    ``time``       seconds
    ``name``       string, its host name
    ``system``     string, the operating system with its version
    ``processor``  string
    ``python``     string, the Python that runs the bridge
    ``cores``      number of usable cores
    ``memory_total``      bytes of the machine, or the limit of a control group
    ``memory_available``  bytes of these that are available
    ``memory_group``      the folder of the control group with the lowest limit, or null
    ``busy``       CPU seconds used by all programs
    ``own``        CPU seconds used by the bridge
    ``boot_id``    identifies the start of the machine: hosts that have the same one share a memory budget
    ``walls``      the limits on threads, in the first report: list of ``name``, ``value``, ``used`` and
                   ``a_thread``, what one more thread uses of it
``process``: figures of the worker's process from the system, as often as it ticks, more often while it grows.
    ``time``       seconds
    ``state``      one letter, as in ``ps``: ``T`` is stopped
    ``rss``        bytes of resident memory
    ``virtual``    bytes of address space
    ``peak_rss``   bytes, the peak of ``rss``
    ``anonymous``  bytes of ``rss`` that are anonymous memory, null if unknown
    ``shared``     bytes of ``rss`` that are shared memory, with tmpfs, null if unknown; the rest are pages of
                   files
    ``shared_grown``  bytes of ``shared`` that were allocated since the bridge first measured it, null if
                   unknown
    ``threads``    number of threads
    ``cpu_seconds``  CPU seconds used so far
    ``kernel_stack``    bytes of the kernel stacks of its threads, null if unknown
    ``page_tables``     bytes of its page tables, null if unknown
    ``kernel_objects``  bytes of slab objects and socket buffers that the kernel holds for it, null if unknown
    ``objects_known``   how these are known: ``control group``, ``estimated``, or empty
    ``cpu_quota``       cores that the tightest of its control groups allows, null without a quota
    ``throttled``       seconds for which that quota has throttled its group since the bridge first measured
                        it, added up over the cores, null if unknown
``echo``: answers ``beat``.
    ``number``     that of the command
``survey``: answers ``survey``.
    ``pythons``    list of strings, the versions of Python on the host
    ``tools``      list of strings, the tools of other languages on the host
``building``: the worker is being built there.
    ``text``       string, one line of progress
``built``: the worker has been built.
    ``seconds``    how long that took
``started``: the program that is watched has started.
    ``pid``        its process id
``output``: what the program has written.
    ``text``       string
``processes``: all processes of the program and all attached ones, five times a second.
    ``time``       seconds
    ``rows``       list of ``pid``, ``ppid``, ``name``, ``why`` (why it has no agent, or null), the
                   figures of ``process``, and, each null if unknown, ``pss`` in bytes, ``memory_limit``
                   and ``memory_used`` in bytes (the limit of its control groups that leaves the least, and
                   what its group uses without the cache that is dropped first), and ``started`` in seconds
                   since the epoch
``agent``: a line from an agent.
    ``connection``  number of its connection
    ``pid``        the agent's process id
    ``report``     the report, null when the connection has ended
``exited``: the program has ended.
    ``status``     its exit status; negative for a signal
``ended``: the last line: the worker has ended.
    ``status``     its exit status; negative for a signal

Commands, concwatch to worker
=============================
``target``    ``tasks``: hold this many live tasks. Sent again, it applies again (a new burst without refill).
``refill``    ``on``: true (initially): a task that ends is replaced. false: a target is one burst of tasks
              that are not replaced when they end.
``workload``  ``spec``, ``url``, ``addresses``, ``arguments``: what each task does, see below; what to fetch
              or connect to, only for ``http`` and ``connect``; the number of addresses, 1 to 254, only for
              ``connect``; what the user's function is called with, only for that and if there are any: one
              string, in which each argument ends with a null character. In addition the parts of the spec,
              so that no worker has to parse it: ``word``, and if the word has them ``seconds``, ``to``,
              ``count``, ``size`` in bytes, ``rate`` in tasks a second. Live tasks are cancelled and
              replaced. Answered by ``error``, with nothing changed, if the spec is wrong or something that
              it needs is missing.
``halt``      ``wall``, ``value``: stop growing. The number of live tasks becomes the target. Answered by a
              ``limit`` report with this name and value.
``rate``      ``hz``: send this many ticks a second, 0.1 to 100.
``stop``      exit at once. Answered by ``error`` if a tear-down fails.
Optional, see ``can``:
``trace``     ``on``: start or stop tracing the runtime's allocations.
``lines``     report the lines that hold traced memory. Takes a snapshot, during which the process is stopped.
              Rejected while tracing is off.
``anatomy``   report what the memory of a task consists of. All tasks are stopped meanwhile. Rejected while
              too few are live.
``gc``        ``mode``: ``"default"``; ``"frozen"``: do not collect while a slice of tasks is created, then
              freeze what it has created; ``"off"``: no collection.
``trim``      collect garbage, then return free memory to the system.
``threads``   ``count``: the number of threads that run the tasks.
``stack``     ``size``: stack size, in bytes, of threads started from now on; 0 for the system's default.
``burst``     ``tasks``, ``chunks``, ``older``, ``read_after``: while no task is live, run ``tasks`` tasks to
              their end, created as fast as the runtime can, without slices. ``chunks`` (at least 1): the
              number of parts; each starts when the previous one has ended. ``older``: extra tasks, created
              first, that are not counted and begin only after the timed ones exist. ``read_after``: seconds
              from the creation of a part to a reading, or null. Answered by ``burst``; then the target is 0.
              Where counting each end would cost a task memory, the tasks of a part count as live until all
              of them have ended.

Workloads
=========
``sleep:SECONDS``         sleep for SECONDS                  ``hold``           wait until cancelled
``sleep:SECONDS..TO``     a different time for each task, spread evenly from SECONDS to TO
``churn:RATE/s``          sleep a random time, exponentially distributed; its mean is target ÷ RATE seconds,
                          at least 0.001: about RATE tasks a second end, whatever the target is. A task draws
                          its time with the target of that moment; a new target changes no task that is live.
                          Where tasks wait for a thread, the mean is threads ÷ RATE if that is less. No task
                          sleeps longer than a million seconds
``ticks:COUNTxSECONDS``   sleep COUNT times for SECONDS      ``nop``            end at once
``payload:BYTES``         hold that much touched memory until cancelled
``spin:SECONDS``          use that much CPU time
``module:function``       call the user's own function. One that yields is a set-up: it is run once by each
                          worker before the first task, what it yields is the function that each task calls,
                          and what follows is the tear-down. If the set-up fails, the command is rejected.
                          Where tasks run in several interpreters, each of them runs it, at its first task
``http:SECONDS``          GET ``url`` once and read the whole body. A status other than 200 and a truncated
                          body are failures. The server answers after SECONDS; ``http`` alone is the same
                          as ``http:0.15``
``connect:SECONDS``       open a TCP connection, send ``ping`` and a newline, read them back, and do so again
                          every SECONDS, until cancelled. ``connect`` alone does it once, then holds the
                          connection. A connection that is refused, reset or closed by the server is a
                          failure; a task that ends closes its own. ``url`` is ``tcp://127.0.0.1:PORT``.
                          Connection number k goes to the same port of 127.0.0.(1 + k mod ``addresses``),
                          since there are about 28,000 ports for connections to one address
"""

PROTOCOL = 1
