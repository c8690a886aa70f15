"""The first lines that run on another host: they take the rest of the program from standard input.

Sent as text to ``python3 -c`` and run by whatever Python is there, so any version must be able to read them.
`concwatch.hosts.package` puts the line ``size = …`` before them.
"""

import os
import sys

size = globals().get("size", 0)  # bytes of the archive that follows


def refuse(message: str) -> None:
    """Report in one line of the wire why nothing can run here, and end."""
    text = message.replace("\\", "/").replace('"', "'")
    sys.stdout.write('\n{"type": "error", "command": null, "message": "%s"}\n' % text)
    sys.stdout.flush()
    sys.exit(2)


def archive(data: bytes) -> tuple:  # type: ignore[type-arg]  # Python 3.6 is to read this
    """Return the path of a file in memory with ``data``, and its descriptor, which must stay open."""
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
    """Take the archive and run the bridge in it."""
    version = "%s %s.%s" % (sys.implementation.name, sys.version_info[0], sys.version_info[1])
    if sys.version_info < (3, 9):
        refuse("%s is %s: Python 3.9 or newer is needed" % (sys.executable, version))
    if not os.path.isdir("/proc/self/fd"):
        refuse("this is %s: the bridge needs Linux with /proc" % sys.platform)
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        sys.exit(0)  # the other side has gone
    # Without the working directory, where anything may lie that is called like a standard module.
    sys.path[:] = [folder for folder in sys.path if folder not in ("", ".")]
    path, descriptor = archive(data)
    sys.path.insert(0, path)
    from concwatch.hosts.bridge import serve

    serve(path, descriptor)


if __name__ == "__main__":
    main()
