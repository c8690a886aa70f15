"""A script for gdb's own Python: make the process that gdb has stopped run a text of Python.

gdb stops the process at an arbitrary point. There a thread may be inside ``malloc`` or a garbage collection,
hold any lock, and copy memory in vector registers, which gdb before 14 does not restore on all processors. So
it continues until a thread enters one of the `ENTERED` functions: at the entry of a function no vector
register is in use. Only what takes no lock of the program's is called there: ``mmap``, a system call, for
memory that holds the text, and ``Py_AddPendingCall``, which puts ``PyRun_SimpleString`` into the queue of the
interpreter. The main thread calls that at the next point between two bytecodes that allows it, as it does
signal handlers.

A main thread that sleeps runs no bytecode. If it has released the interpreter's lock, and is in one of the
system calls that wait, or acquires a lock of Python, it holds no lock of ``malloc``. There the text is run at
once, as by any callback from C.

`concwatch.portable.agent.attaching.inject.gdb_command` calls `main`.
"""

import os
import signal
import threading

import gdb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List

WAITING = {0, 7, 23, 34, 35, 42, 43, 45, 47, 61, 128, 130, 230, 232, 247, 270, 271, 281, 288, 441}
"""System calls of x86-64 that wait, and that ``malloc`` does not make: read, poll, select, pause, nanosleep,
connect, accept, recvfrom, recvmsg, wait4, rt_sigtimedwait, rt_sigsuspend, clock_nanosleep, epoll_wait,
waitid, pselect6, ppoll, epoll_pwait, accept4, epoll_pwait2."""

FUTEX = 202
"""The system call of x86-64 that waits for any lock."""

LOCKS = {"PyThread_acquire_lock_timed", "PyEvent_WaitTimed"}
"""The functions that wait for a lock of Python's, or, since 3.13, for the end of a thread."""

LOCK_FRAMES = 12
"""The number of innermost frames in which these are looked for."""

ENTERED = (
    "_PyEval_EvalFrameDefault",
    "_Py_Dealloc",
    "PyObject_Malloc",
    "PyObject_Free",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)
"""Functions that a thread that runs Python enters soon. Each calls what the compiler does not know, so that
no caller keeps anything in a vector register meanwhile; none has an argument in one."""

ENTRY_LIMIT = 10.0
"""Seconds until one of them must have been entered."""

PAGE = 4096
"""Bytes of memory for the text; it stays, since nobody knows when the text has been run."""


def call(name: str, signature: str, *arguments: "Any") -> "Any":
    """Call a function of the process; raises gdb.error if it has none of this name."""
    return gdb.parse_and_eval("(" + signature + ") " + name).dereference()(*arguments)


def waits() -> bool:
    """Return whether the main thread waits without the interpreter's lock and those of ``malloc``."""
    frame = gdb.newest_frame()
    try:
        system_call = int(frame.read_register("orig_rax")) & 0xFFFFFFFF
    except ValueError:  # another processor
        return False
    names: "List[Any]" = []
    while frame is not None and len(names) < LOCK_FRAMES:
        if frame.type() == gdb.SIGTRAMP_FRAME:  # in a signal handler
            return False
        names.append(frame.name())
        frame = frame.older()
    in_lock = system_call == FUTEX and bool(LOCKS.intersection(names))
    return (in_lock or system_call in WAITING) and not int(call("PyGILState_Check", "int (*)(void)"))


def enter() -> bool:
    """Let the process go on until a thread enters one of `ENTERED`. Return False if none does."""
    entries = {int(gdb.parse_and_eval("(long) " + name)) for name in ENTERED}
    breakpoints = [gdb.Breakpoint("*" + str(entry), internal=True) for entry in entries]
    stopped = threading.Event()
    pid = gdb.selected_inferior().pid

    def stop() -> None:
        stopped.set()
        os.kill(pid, signal.SIGSTOP)

    timer = threading.Timer(ENTRY_LIMIT, stop)
    timer.start()
    try:
        gdb.execute("continue", to_string=True)
    finally:
        timer.cancel()
        timer.join()
        for breakpoint in breakpoints:
            breakpoint.delete()
    entered = int(gdb.newest_frame().pc()) in entries
    if entered and stopped.is_set():
        os.kill(pid, signal.SIGCONT)  # both at once
    return entered


def main(text: str, mark: str, begun: str, done: str) -> None:
    """Run ``text``, or put it into the queue, and print ``done`` or the problem.

    Args:
        text: Python, ASCII.
        mark: what the printed lines begin with.
        begun: printed before functions of the process are called: from then on gdb must not be killed.
        done: printed at the end.
    """
    if not gdb.selected_inferior().pid:  # gdb has printed why it did not attach
        return
    try:
        function = gdb.parse_and_eval("(int (*)(char *)) PyRun_SimpleString")
        gdb.parse_and_eval("(int (*)(void *, void *)) Py_AddPendingCall")
        print(mark + begun, flush=True)
        waiting = waits()
        if not waiting and not enter():
            print(mark + "its threads do not run Python: attach again when they do", flush=True)
            return
        # Readable and writable; private and anonymous.
        memory = call("mmap", "char *(*)(long, long, int, int, int, long)", 0, PAGE, 3, 0x22, -1, 0)
        if int(memory) % PAGE or len(text) >= PAGE:
            print(mark + "the process has no memory left", flush=True)
            return
        gdb.selected_inferior().write_memory(int(memory), text.encode() + b"\0")
        if waiting:
            state = call("PyGILState_Ensure", "int (*)(void)")
            function.dereference()(memory)
            call("PyGILState_Release", "void (*)(int)", state)
        elif int(call("Py_AddPendingCall", "int (*)(void *, void *)", function, memory)):
            done = "the interpreter's queue of calls is full: attach again"
    except gdb.error as error:
        done = str(error)
    print(mark + done, flush=True)
