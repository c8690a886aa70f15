"""The folders that only this user can access, and what is swept there."""

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from concwatch.links.agent_link import AgentListener
from concwatch.portable.bridge.private_folder import KEPT, output_file, sweep


@pytest.fixture
def runtime_folder(monkeypatch):
    """Make a folder with a short path the one for sockets."""
    with tempfile.TemporaryDirectory(dir=os.environ["TMPDIR"]) as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@pytest.fixture
def temporary(monkeypatch, tmp_path):
    """Make a folder the one for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_agent_socket_is_not_in_a_temporary_folder_with_a_long_path(tmp_path, monkeypatch):
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    listener = AgentListener()
    assert listener.path.exists()
    listener.close()
    assert not listener.path.parent.exists()


@pytest.mark.real
def test_folders_of_killed_monitors_are_removed_at_the_next_start_and_those_in_use_are_not(runtime_folder):
    text = (
        "from concwatch.links.agent_link import AgentListener; import os; listener = AgentListener();"
        "print(listener.path.parent, flush=True); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        check=False,
    )
    left = Path(killed.stdout.strip())
    assert left.exists()
    first = AgentListener()
    second = AgentListener()
    assert not left.exists()
    assert first.path.exists()
    assert first.path.parents[1] == second.path.parents[1] == left.parent
    assert left.parents[1] == runtime_folder
    assert left.parent.stat().st_mode & 0o777 == 0o700
    first.close()
    second.close()
    assert not list(runtime_folder.iterdir())


def test_output_is_removed_at_a_later_start_if_it_is_empty_or_old_and_nobody_uses_it(temporary):
    names = ("empty", "printed", "old", "used")
    files = {name: output_file() for name in names}
    for name, age in (("empty", 100), ("printed", 100), ("old", KEPT + 100), ("used", KEPT + 100)):
        files[name].write(b"" if name == "empty" else b"x")
        files[name].flush()
        os.utime(files[name].name, times=(0, os.stat(files[name].name).st_mtime - age))
    program = os.dup(files["used"].fileno())  # as the program's standard output
    for file in files.values():
        file.close()
    output_file().close()
    assert {name for name, file in files.items() if os.path.exists(file.name)} == {"printed", "used"}
    os.close(program)
    sweep()
    assert not os.path.exists(files["used"].name)
    (private,) = temporary.iterdir()
    assert private.stat().st_mode & 0o777 == 0o700


def test_sockets_of_programs_that_were_killed_are_removed(runtime_folder):
    folder = runtime_folder / f"concwatch-{os.geteuid()}"
    folder.mkdir(0o700)
    with socket.socket(socket.AF_UNIX) as listens, socket.socket(socket.AF_UNIX) as killed:
        for sock, name in ((listens, "1.sock"), (killed, "2.sock")):
            sock.bind(str(folder / name))
            os.utime(folder / name, (0, 0))
        listens.listen()
        sweep()
        assert [path.name for path in folder.iterdir()] == ["1.sock"]


def test_a_locked_or_new_folder_stays_and_that_of_another_user_is_not_touched(runtime_folder):
    private = runtime_folder / f"concwatch-{os.geteuid()}"
    folders = [private / name for name in ("watch-locked", "watch-young", "watch-old", "another")]
    for folder in folders:
        folder.mkdir(parents=True)
    private.chmod(0o755)
    for folder in folders[2:]:
        os.utime(folder, (0, 0))
    with (folders[0] / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sweep()
        assert len(list(private.iterdir())) == 4  # others can access it
        private.chmod(0o700)
        sweep()
        assert sorted(path.name for path in private.iterdir()) == ["another", "watch-locked", "watch-young"]
