"""One temporary folder for a test session and all that it starts, removed at its end."""

import atexit
import os
import subprocess
import tempfile

VARIABLE = "TEMPORARY_FOLDER_OF_TESTS"
"""The environment variable that holds its path; the workers of pytest-xdist inherit it."""

REMOVE = 'read -r _; rm -rf "$0"'
"""A shell command that removes a folder once its standard input is closed."""


def use_temporary_folder() -> None:
    """Make a new folder that of all temporary files and sockets, of this process and its children.

    However this process ends, even by SIGKILL, the folder is removed: by a shell that outlives it. What
    pytest keeps of earlier sessions (``tmp_path``) is only kept with ``--basetemp``.
    """
    folder = os.environ.get(VARIABLE, "")
    if not folder:
        # Sockets are created in it, whose paths must not be long.
        folder = os.environ[VARIABLE] = tempfile.mkdtemp(prefix="cw-")
        remover = subprocess.Popen(
            ["sh", "-c", REMOVE, folder],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        atexit.register(remover.communicate)
    tempfile.tempdir = folder
    os.environ |= dict.fromkeys(("TMPDIR", "TMUX_TMPDIR", "XDG_RUNTIME_DIR"), folder)
    os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="state-")
