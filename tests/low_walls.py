"""Real walls that are near: commands that run another one where few threads can be started."""

import os
import shutil
import sys

import pytest

from concwatch.system import walls


def after(setup, command):
    """The command, run by a Python that first lowers a limit for itself."""
    code = f"import os, resource, sys; {setup}; os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", code, *command]


def low_user_limit(command):
    """The command run by a user who may have about 250 threads more than now, and that limit."""
    limit = walls._user_threads() + 250 if os.geteuid() else 250
    command = after(f"resource.setrlimit(resource.RLIMIT_NPROC, ({limit}, {limit}))", command)
    if os.geteuid():
        return command, limit
    if not shutil.which("setpriv"):
        pytest.skip("the superuser is bound by no ulimit -u, and there is no setpriv to become another")
    # A user that nobody is, who may still read the interpreter wherever it lies.
    reads = "-all,+dac_override,+dac_read_search"
    user = 54_000 + os.getpid() % 1_000  # another one where another test runs at the same time
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return [*become, f"--inh-caps={reads}", f"--ambient-caps={reads}", *command], limit


def low_pid_max(command):
    """The command run in a pid namespace of its own that has room for few, and how many."""
    # Before Linux 6.14 pid_max was one for the whole machine: then it must not be touched.
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if os.geteuid() or release < (6, 14) or not shutil.which("unshare"):
        pytest.skip("a pid_max of one's own needs root, Linux 6.14 and unshare")
    command = after("open('/proc/sys/kernel/pid_max', 'w').write('800')", command)
    return ["unshare", "-pf", "--mount-proc", "--kill-child", *command], 800
