"""Commands that run another command where few threads can be started."""

import os
import shutil
import sys

import pytest

from concwatch.portable.machine import limits


def after(setup, command):
    """Return a command that runs Python code, and then ``command`` in the same process."""
    code = f"import os, resource, sys; {setup}; os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", code, *command]


def low_user_limit(command):
    """Return the command, run by a user who can start about 250 more threads, and the limit."""
    limit = limits._user_threads() + 250 if os.geteuid() else 250
    command = after(f"resource.setrlimit(resource.RLIMIT_NPROC, ({limit}, {limit}))", command)
    if os.geteuid():
        return command, limit
    if not shutil.which("setpriv"):
        pytest.skip("the limit does not apply to root, and setpriv is not installed")
    # An unused user id, which may read the interpreter in any folder.
    reads = "-all,+dac_override,+dac_read_search"
    user = 54_000 + os.getpid() % 1_000  # differs from that of concurrent tests
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return [*become, f"--inh-caps={reads}", f"--ambient-caps={reads}", *command], limit


def low_pid_max(command):
    """Return the command, run in a pid namespace with a low pid_max, and the limit."""
    # Before Linux 6.14 pid_max was a setting of the whole machine.
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if os.geteuid() or release < (6, 14) or not shutil.which("unshare"):
        pytest.skip("a pid_max of a namespace needs root, Linux 6.14 and unshare")
    command = after("open('/proc/sys/kernel/pid_max', 'w').write('800')", command)
    return ["unshare", "-pf", "--mount-proc", "--kill-child", *command], 800
