"""Standard input, output and error of this program, which may be missing, full, or without a reader."""

import errno
import os
import sys

STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}
"""The three by name, in the order of their descriptors, and what is done with each."""

UNWRITABLE = (errno.ENOSPC, errno.EFBIG, errno.EIO)
"""What comes of writing on a full disk, or to a terminal that is gone."""

UNREAD = 141
"""Exit status where nobody reads standard output any more: 128 + SIGPIPE."""


def fill_missing() -> None:
    """Have those that were closed when the program was started lead to nothing.

    Otherwise a pipe or a file of this program's own takes the free descriptor, and what is meant for a
    person goes there.
    """
    for name, mode in STREAMS.items():
        if getattr(sys, name) is None:
            # The lowest free descriptor is the missing one's, since those before it are there by now.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # open as long as the program runs


def is_unwritable(error: OSError) -> bool:
    """Whether standard output could not be written, and not a file, which the error would name."""
    return error.filename is None and error.errno in UNWRITABLE


def let_go(descriptor: int) -> None:
    """Have all that is written there from now on, what still waits included, go nowhere."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
