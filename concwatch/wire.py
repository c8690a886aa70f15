"""The wire between concwatch and a worker: what it is, so that any program can be an engine.

A worker is a process that runs tasks of one kind and nothing else. concwatch starts it, writes commands to
its standard input and reads reports from its standard output. This text is the whole specification.

Lines
=====
Both directions carry UTF-8 text, one JSON object a line, ended by ``\\n``. Every object has the key
``"type"``; the other keys are listed below. Commands are flat: their values are strings, numbers, true,
false or null. Counts and bytes are whole numbers, seconds may have a fraction. Both sides ignore keys that
they do not know, and concwatch ignores unknown types too, so that either side can be the newer one; a worker
answers a command that it does not know by ``error``. A report is at most 1 MiB long; flush after each.
Counts and bytes are 0 to 2**53, names and flags a few words without control characters. A line that is not
so, and a tick whose counters fell or do not add up, is told once and passed over; after a hundred of them the
worker is given up. concwatch looks about ten times a second, at 1,000 reports at most: a worker that sends
more waits for its pipe. Standard error is free text, of which concwatch shows the last. A worker must make
sure that what its tasks print cannot land on its standard output.

A program that is watched has a lane without a target: it does what it does, and its ``can`` does not name
``"target"``. It reports by other lines, each coroutine function a ``group`` of tasks, and answers ``waits``:
see `concwatch.agent`, which specifies them.

A life
======
1. The worker starts, prepares its runtime so far that nothing is loaded later, and sends ``ready``.
2. It holds its target, 0 at first: while fewer tasks are live it creates more, in slices of at most about
   10 ms so that commands and ticks get through; while more are live it cancels exactly the excess.
3. About ten times a second it sends a ``tick``, whatever else it does, from a thread of its own where the
   runtime has one.
4. At ``stop``, and at the end of its standard input, it exits at once. So it does when its standard output
   is gone. A worker never outlives whoever started it.

Reports, worker to concwatch
============================
``ready``: the worker stands and waits for commands.
    ``protocol``   1
    ``engine``     string, the name it was started under
    ``runtime``    string, what runs it, with its version: ``"CPython 3.11.7"``
    ``flags``      list of strings, what else shapes its figures: ``["uvloop 0.23.0"]``
    ``pid``        integer, the process whose memory counts
    ``can``        list of strings, the optional commands that it understands, of ``"trace"``, ``"lines"``,
                   ``"gc"``, ``"trim"``, ``"threads"``, ``"stack"``, ``"burst"``
    ``workloads``  list of strings, the workload words it knows; ``"module:function"`` means the user's own

``tick``: everything since the start, at one moment. ``created = live + completed + failed + cancelled``.
    ``time``       seconds on a clock that never goes back; only differences mean anything
    ``created``    tasks created so far
    ``live``       tasks created and not yet ended
    ``queued``     those of ``live`` that have not begun because they wait for a thread (else 0)
    ``completed``  tasks that ended by themselves
    ``failed``     tasks that ended with an error
    ``cancelled``  tasks that the worker ended
    ``lag``        seconds: how late, at worst since the last tick, something that this engine should have
                   woken was woken; also counts one that is overdue now
    ``cpu``        seconds of CPU time that the whole process has used so far; absent as ``switches`` is
    ``switches``   context switches of the whole process so far, voluntary and not; absent where the runtime
                   cannot tell, and from ticks in which to ask would take too long
    ``durations``  list of seconds, from a task's beginning to its end, of the tasks that were timed and have
                   completed since the last tick; absent where tasks are not timed. At most 1,000 a second are
                   timed, chosen when they are created, by nothing that their length depends on; those of a
                   burst are not. At most 10,000 a tick
    ``delays``     list of seconds, from a task's creation to its beginning, of the tasks that were timed and
                   have begun since the last tick; at most 10,000; absent where tasks are not timed
    ``gc``         seconds spent in garbage collection so far; absent where the runtime cannot tell
    ``traced``     bytes the tracer knows of; absent while nothing is traced
    ``tracer``     bytes the tracer itself takes; absent while nothing is traced
    ``heap``       bytes that live objects take by the runtime's own count; absent where it has none
    ``number``     how many ticks the worker has sent, this one included; absent where it does not count them

``reached``: once for each ``target``, when what it asked for has happened. A ``tick`` should follow at once.
    ``target``     the number asked for
    ``live``       tasks live now
    ``created``    tasks created since the command arrived; all have begun, or are queued
    ``cancelled``  tasks cancelled since then
    ``seconds``    from the command's arrival to now

``burst``: once for each ``burst``, when all of its tasks have ended. A ``tick`` should follow at once.
    ``tasks``           tasks created
    ``create_seconds``  seconds that creating them took; without first steps where tasks begin only later
    ``create_cpu``      CPU seconds of the whole process in that time
    ``seconds``         from the first one's creation to the last one's end, parts added up
    ``cpu``             CPU seconds of the whole process in that time
    ``live``            tasks live at the reading; null without one
    ``traced``          bytes traced at the reading beyond those before the burst; null untraced

``limit``: the machine refused another task. What stands stays; the worker keeps that number as its target.
    ``standing``   tasks live now
    ``wanted``     the target that could not be reached
    ``wall``       string, which limit was hit, by its usual name: ``"vm.max_map_count"``, ``"pid_max"``,
                   ``"threads-max"``, ``"ulimit -u"``, ``"cgroup pids.max"``, ``"ulimit -n"`` (open files),
                   ``"memory"``, one of the runtime's own such as ``"processes +P"``, the one that ``halt``
                   gave, or ``"unknown"``: then concwatch looks from outside which limit on threads it was
    ``value``      that limit's value, or null
    ``detail``     string, the runtime's own words

``lines``: answers the command: where traced memory was allocated.
    ``lines``      list of objects ``file``, ``line``, ``bytes``, ``grown`` (bytes more than at the last
                   ``lines``, maybe negative), ``blocks``: the first 20 by growth

``applied``: a command other than ``target`` has taken effect.
    ``command``    its type
    ``seconds``    from its arrival to now
    ``flags``      as in ``ready``, as they are now; absent where a worker's never change

``error``: something went wrong and the worker goes on as it was; before ``ready`` it exits instead, since
its engine cannot run here.
    ``command``    the type of the command that was refused; null where a task failed
    ``message``    one line for a person: what, and what was expected
    ``detail``     a traceback, or null. For failing tasks only the first of a workload is reported; the
                   counter ``failed`` tells how many

Reports of a bridge
===================
On another host a bridge starts the worker, passes both directions on, and adds reports of its own. Its clock
is its host's. It understands three commands more. ``start``, the first, has ``engine`` and ``environment``,
an object of variables; for a program that follows on the same pipe its ``size`` in bytes, ``arguments``,
``system`` and ``processor``; for one that is built there ``ways``, as `concwatch.runtimes.recipe` writes
them, and ``sources``, the size of a zip file that follows. ``beat`` has a ``number``; without one for 4.5
seconds bridge and worker end. ``survey`` asks what else is there.

In place of a worker it may watch a program: ``watch`` has its ``command``, a list of strings, and ``attach``
the ``pid`` of a process that runs already, and ``gdb``, whether gdb may be used. ``agent`` has the number of
a ``connection`` and a ``line`` for that agent, as `concwatch.agent` specifies it, null to close it. ``stop``
asks the program to end, ``end`` has the bridge end, and with it all that the program has left behind.

``host``: the machine, before all else and then once a second.
    ``time``       seconds
    ``name``       string, what it calls itself
    ``system``     string, with its version
    ``processor``  string
    ``python``     string, what runs the bridge
    ``cores``      cores that may be used
    ``memory_total``      bytes that the machine has, or a control group allows
    ``memory_available``  bytes that are left of them
    ``memory_group``      the folder of the control group that binds, or null
    ``busy``       CPU seconds that all programs have used
    ``own``        CPU seconds that the bridge has used
    ``walls``      the limits on threads, in the first report: list of ``name``, ``value``, ``used`` and
                   ``a_thread``, what one more thread takes of it
``process``: the worker's process as the system sees it, as often as it ticks, and oftener while it grows.
    ``time``       seconds
    ``rss``        bytes of memory that are resident
    ``virtual``    bytes of address space
    ``peak_rss``   bytes, the most that were ever resident
    ``threads``    threads of the process
    ``cpu_seconds``  CPU seconds used so far
``echo``: answers ``beat``.
    ``number``     that of the command
``survey``: answers the command.
    ``pythons``    list of strings, the versions of Python that can be named there
    ``tools``      list of strings, what other languages need
``building``: the worker is being built there.
    ``text``       string, a line of what happens
``built``: it has been built.
    ``seconds``    how long that took
``started``: the program that is watched has started.
    ``pid``        its process
``output``: what it has written.
    ``text``       string
``processes``: all of its processes and those attached to, five times a second.
    ``time``       seconds
    ``rows``       list of ``pid``, ``ppid``, ``name``, ``why`` (why it has no agent, if so) and the figures
                   of ``process``
``agent``: a line of an agent's.
    ``connection``  number of its connection
    ``pid``        its process
    ``report``     the report, null when the connection has ended
``exited``: the program has ended.
    ``status``     its exit status; less than 0 for a signal
``ended``: the last line: the worker has ended.
    ``status``     its exit status; less than 0 for a signal

Commands, concwatch to worker
=============================
``target``    ``tasks``: hold this many live tasks. Sent again, it asks again (a new burst without refill).
``refill``    ``on``: true (at first): a task that ends is replaced. false: a target is one burst; what ends
              is not replaced.
``workload``  ``spec``, ``url``: what each task does, see below; where to fetch, for ``http`` alone. Besides
              these the parts of the spec, so that no worker has to read it: ``word``, and where the word has
              them ``seconds``, ``to``, ``count``, ``size`` in bytes. Live tasks are cancelled and replaced.
              Answered by ``error``, with nothing changed, where the spec is wrong, or what it needs is not
              there.
``halt``      ``wall``, ``value``: stop growing. What is live becomes the target, and a ``limit`` report
              with this wall and value answers.
``rate``      ``hz``: send this many ticks a second, 0.1 to 100.
``stop``      exit at once.
Optional, see ``can``:
``trace``     ``on``: start or end tracing of the runtime's allocations.
``lines``     the lines that hold traced memory. Takes a snapshot: the process stands still meanwhile. Refused
              while nothing is traced.
``gc``        ``mode``: ``"default"``; ``"frozen"``: collect nothing while a slice of tasks is created, and
              freeze what it has created; ``"off"``: no collection.
``trim``      collect, then give free memory back to the system.
``threads``   ``count``: how many threads serve the tasks.
``stack``     ``size``: bytes of stack of threads started from now on; 0 for the system's own size.
``burst``     ``tasks``, ``chunks``, ``older``, ``read_after``: with no task live, run so many to their end,
              created as fast as the runtime can, without slices. ``chunks`` (1 at least): in so many parts,
              each begun when the last has ended. ``older``: create so many more first, which do not count
              and have not begun while the time is taken. ``read_after``: seconds from the creation of a part
              to a reading, or null. Answered by ``burst``; the target is 0 then. Where counting each end
              would weigh on a task, the tasks of a part count as live until the part has ended.

Workloads
=========
``sleep:SECONDS``         sleep that long                    ``hold``           wait until cancelled
``sleep:SECONDS..TO``     sleep that long at least and at most, spread evenly over tasks
``ticks:COUNTxSECONDS``   sleep so many times that long      ``nop``            end at once
``payload:BYTES``         hold that much touched memory until cancelled
``spin:SECONDS``          use that much CPU time             ``module:function``  the user's own
``http:SECONDS``          GET ``url`` and read the body to its end, once. A status other than 200 and a body
                          that is cut short are failures. The page comes after SECONDS by itself; ``http``
                          alone is the same with 0.15
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Tuple

# Why not the json and typing modules: they bring re and enum with them, 1.3 MB in every worker, when a bare
# interpreter with threads weighs 9.4 MB. What the wire needs of JSON is small.

PROTOCOL = 1
LONGEST_LINE = 1 << 20
"""Bytes: a longer line is refused."""

_SPACE = " \t\r\n"
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = "0123456789abcdefABCDEF"
_WORDS = {"true": True, "false": False, "null": None}


def _quoted(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if not text.isprintable():
        text = "".join(char if char >= " " else f"\\u{ord(char):04x}" for char in text)
    return '"' + text + '"'


def _text(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return _object_text(value)
    return "[" + ",".join(map(_text, value)) + "]"


def _object_text(fields: Dict[str, Any]) -> str:
    return "{" + ",".join([f'"{key}":{_text(value)}' for key, value in fields.items()]) + "}"


def encode(type_: str, **fields: Any) -> bytes:
    """Write one message as a line of the wire, its line end included.

    Args:
        type_: the message's type.
        fields: strings, finite numbers, booleans, None, and sequences and dictionaries of these.
    """
    text = _object_text({"type": type_, **fields}) + "\n"
    return text.encode(errors="replace")  # half a surrogate pair is not text


def decode(line: bytes) -> Dict[str, Any]:
    """Read a command, a flat JSON object with a string under ``"type"``.

    Raises:
        ValueError: it is not one; the message is for a person.
    """
    try:
        fields = _object(line.decode().strip(_SPACE))
    except (ValueError, LookupError):  # cut short, or not UTF-8
        fields = {}
    if not isinstance(fields.get("type"), str):
        shown = line[:60].decode(errors="replace").strip()
        raise ValueError(f'not a command: {shown!r}: expected one flat JSON object such as {{"type":"stop"}}')
    return fields


def _object(text: str) -> Dict[str, Any]:
    """Read ``{"key":value,...}``; whatever is wrong is a ValueError or a LookupError."""
    fields: Dict[str, Any] = {}
    at = _expect(text, 0, "{")
    while text[at] != "}":
        if fields:
            at = _expect(text, at, ",")
        key, at = _string(text, at)
        fields[key], at = _value(text, _expect(text, at, ":"))
    if at + 1 != len(text):
        raise ValueError
    return fields


def _expect(text: str, at: int, char: str) -> int:
    if text[at] != char:
        raise ValueError
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at


def _value(text: str, at: int) -> Tuple[Any, int]:
    if text[at] == '"':
        return _string(text, at)
    end = at
    while text[end] not in ",}" + _SPACE:
        end += 1
    word = text[at:end]
    if word in _WORDS:
        return _WORDS[word], _skip(text, end)
    digits = word[1:] if word[:1] == "-" else word
    whole, point, fraction = digits.partition(".")
    # int() and float() alone would also read "1_0", "nan", "٣", "01" and "1.".
    if len(word) > 40 or not digits.isascii() or "_" in digits or not whole[:1].isdigit():
        raise ValueError
    if (whole[0] == "0" and whole[1:2].isdigit()) or (point and not fraction[:1].isdigit()):
        raise ValueError
    if not digits.isdigit():
        return float(word), _skip(text, end)
    number = 0
    for digit in digits:  # int() would take a logarithm: 192 KiB of the C library's tables, at the first task
        number = 10 * number + ord(digit) - 48
    return (-number if word[0] == "-" else number), _skip(text, end)


def _string(text: str, at: int) -> Tuple[str, int]:
    parts = []
    at = at + 1 if text[at] == '"' else len(text)
    while text[at] != '"':
        if text[at] < " ":
            raise ValueError
        if text[at] != "\\":
            parts.append(text[at])
            at += 1
        elif text[at + 1] == "u":
            digits = text[at + 2 : at + 6]
            if digits.strip(_HEX):  # int() alone would also read "0x1f" and " +1f"
                raise ValueError
            parts.append(chr(int(digits, 16)))
            at += 6
        else:
            parts.append(_ESCAPES[text[at + 1]])
            at += 2
    # A character outside the basic plane comes as two escapes, which are halves of UTF-16.
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace"), _skip(text, at + 1)
