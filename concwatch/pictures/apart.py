"""Pictures drawn by another process, so that the one that asks goes on meanwhile."""

import asyncio
import contextlib
import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
"""The folder that this package stands in."""

# Not "-m", which would take modules from the working directory.
_START = (
    "import sys; sys.path.insert(0, {root!r}); from concwatch.pictures.png import to_png; "
    "sys.stdout.buffer.write(to_png(sys.stdin.buffer.read().decode()))"
)


async def to_png_apart(svg: str) -> bytes:
    """Do what `to_png` does; resvg keeps Python's lock, so in a thread it would hold up the event loop.

    Raises:
        ValueError: it could not be drawn; the message is the last line of what the other process said.
        OSError: the other process could not be started.
    """
    drawing = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        _START.format(root=ROOT),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        png, said = await drawing.communicate(svg.encode())
    finally:
        if drawing.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                drawing.kill()
            await drawing.wait()
    if drawing.returncode:
        lines = said.decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), f"status {drawing.returncode}")
        raise ValueError(last)
    return png
