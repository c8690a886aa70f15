"""Why the agent cannot be loaded into a running process: one line, with what would change it."""

import os
import subprocess
import sys

import pytest

from concwatch.portable.bridge import injection
from concwatch.portable.machine.limits import read_text

pytestmark = pytest.mark.real

REFUSED = "ptrace: Operation not permitted."


@pytest.fixture
def python_process():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as program:
        yield program.pid
        program.kill()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"ptrace_scope": "1\n"}, "sudo sysctl kernel.yama.ptrace_scope=0"),
        ({"ptrace_scope": "2\n"}, "kernel.yama.ptrace_scope is 2; use sudo"),
        ({"ptrace_scope": "3\n"}, "kernel.yama.ptrace_scope is 3 until the system is restarted"),
        ({}, "--cap-add SYS_PTRACE"),
        ({"status": "Name:\tpython\nTracerPid:\t4711\n", "ptrace_scope": "1\n"}, "process 4711"),
    ],
    ids=["children only", "root only", "nobody", "capability", "traced already"],
)
def test_a_refusal_names_the_setting_that_would_change_it(
    monkeypatch, python_process, tmp_path, files, expected
):
    gdb = tmp_path / "gdb"
    gdb.write_text(f"#!/bin/sh\necho Could not attach to process. >&2\necho '{REFUSED}' >&2\n")
    gdb.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(injection, "python_version", lambda *_: (3, 11))
    monkeypatch.setattr(
        injection, "read_text", lambda path: files.get(os.path.basename(path), "") or read_text(path)
    )
    (tmp_path / "script.py").write_text("")
    problem = injection.inject(python_process, str(tmp_path / "script.py"), gdb=True)
    assert problem is not None
    assert problem.startswith("it may not be traced: ")
    assert expected in problem
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("concwatch: begun\nconcwatch: done", None),
        (
            "concwatch: begun\nconcwatch: the interpreter's queue of calls is full: attach again",
            "attach again",
        ),
        ('concwatch: No symbol "Py_AddPendingCall" in current context.', "no symbols for gdb"),
        ("Python scripting is not supported in this copy of GDB.", "the full gdb package"),
        ("gdb: a\x1b[31m problem", "gdb failed: "),
    ],
    ids=["done", "full", "no symbols", "no Python", "other"],
)
def test_what_gdb_says_becomes_one_line(monkeypatch, python_process, tmp_path, said, expected):
    gdb = tmp_path / "gdb"
    (tmp_path / "said").write_text(said + "\n[Inferior 1 (process 1) detached]\n")
    gdb.write_text(f"#!/bin/sh\nexec cat '{tmp_path}/said'\n")
    gdb.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(injection, "python_version", lambda *_: (3, 11))
    (tmp_path / "script.py").write_text("")
    problem = injection.inject(python_process, str(tmp_path / "script.py"), gdb=True)
    assert (problem is None) == (expected is None)
    if problem and expected:
        assert expected in problem
        assert problem.isprintable()


def test_a_process_of_another_file_system_is_recognized(monkeypatch, python_process, tmp_path):
    monkeypatch.setattr(os.path, "samefile", lambda *_: (_ for _ in ()).throw(FileNotFoundError()))
    problem = injection.inject(python_process, str(tmp_path), gdb=True)
    assert problem is not None
    assert "--host 'docker exec -i NAME'" in problem


def test_gdb_is_asked_for(monkeypatch, python_process, tmp_path):
    monkeypatch.setattr(injection, "python_version", lambda *_: (3, 11))
    monkeypatch.setattr(injection.shutil, "which", lambda name: None)
    assert "install gdb" in str(injection.inject(python_process, str(tmp_path), gdb=False))
    assert not injection.needs_gdb(python_process)
    monkeypatch.setattr(injection.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert "add --yes" in str(injection.inject(python_process, str(tmp_path), gdb=False))
    assert injection.needs_gdb(python_process)
