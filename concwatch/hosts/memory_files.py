"""Files in memory, from which a bridge starts workers; standard library, Python 3.9."""

from __future__ import annotations

import importlib.util
import os
import zipfile


def memory_file(name: str, data: bytes) -> int:
    """Return the descriptor of a file in memory, or of one without a name, that holds ``data``."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create(name, 0)  # kept across exec
    else:
        import tempfile

        descriptor, path = tempfile.mkstemp()
        os.unlink(path)
        os.set_inheritable(descriptor, True)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    return descriptor


def runnable(name: str, data: bytes) -> int:
    """Return the descriptor of a program in memory: one that is still open for writing cannot be run."""
    file = memory_file(name, data)
    descriptor = os.open(f"/proc/self/fd/{file}", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    os.close(file)
    return descriptor


def compiled(archive: str) -> int:
    """Return the descriptor of a zip file with what a worker imports of ``archive``, compiled.

    A worker that compiles it itself would weigh 0.7 MB more, and take a tenth of a second longer to start.
    """
    import io
    import marshal

    out = io.BytesIO()
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)  # by hash, never checked
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            if not name.startswith("concwatch/hosts/"):
                code = compile(source.read(name), f"{archive}/{name}", "exec", dont_inherit=True)
                target.writestr(name + "c", header + marshal.dumps(code))
    return memory_file("concwatch-worker", out.getvalue())
