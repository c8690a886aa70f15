"""The first program that runs on another host: reads the rest of concwatch from standard input.

Sent as text and run by the Python found there, so the syntax must be valid in any Python 3.
`concwatch.hosts.package` adds the line ``size = …`` before it.
"""

import os
import sys

size = globals().get("size", 0)  # of the archive that follows, in bytes


def fail(message: str) -> None:
    """Send an ``error`` message on the wire and exit."""
    text = message.replace("\\", "/").replace('"', "'")
    sys.stdout.write('\n{"type": "error", "command": null, "message": "%s"}\n' % text)
    sys.stdout.flush()
    sys.exit(2)


def archive_file(data: bytes) -> tuple:  # type: ignore[type-arg]  # must parse on Python 3.6
    """Write ``data`` to an in-memory file. Return its path and its descriptor, which must stay open."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("concwatch")
    else:
        import tempfile

        descriptor, name = tempfile.mkstemp()
        os.unlink(name)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    return "/proc/self/fd/%d" % descriptor, descriptor


def main() -> None:
    """Read the archive and run the bridge from it."""
    version = "%s %s.%s" % (sys.implementation.name, sys.version_info[0], sys.version_info[1])
    if sys.version_info < (3, 9):
        fail("%s is %s: Python 3.9 or newer is needed" % (sys.executable, version))
    if not os.path.isdir("/proc/self/fd"):
        fail("this is %s: the bridge needs Linux with /proc" % sys.platform)
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        sys.exit(0)  # the connection has closed
    # Not the working directory: a file there may have the name of a standard module.
    sys.path[:] = [folder for folder in sys.path if folder not in ("", ".")]
    import zlib

    path, descriptor = archive_file(zlib.decompress(data))
    sys.path.insert(0, path)
    from concwatch.portable.bridge.bridge import serve

    serve(path, descriptor)


if __name__ == "__main__":
    main()
