"""Pictures drawn by another process, so that the one that asks goes on meanwhile."""

import asyncio
import subprocess

from concwatch.system.child import python_command

_DRAW = (
    "from concwatch.pictures.png import to_png; "
    "sys.stdout.buffer.write(to_png(sys.stdin.buffer.read().decode()))"
)


async def draw_png(svg: str) -> bytes:
    """Do what `to_png` does; resvg keeps Python's lock, so in a thread it would hold up the event loop.

    Raises:
        ValueError: it could not be drawn; the message is the last line of what the other process said.
        OSError: the other process could not be started.
    """
    pipe = subprocess.PIPE
    command = python_command(_DRAW)
    drawing = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: ASYNC220  # a millisecond
    try:
        # In a thread, which sees to its end whatever becomes of the caller, who may be cancelled twice.
        png, said = await asyncio.to_thread(drawing.communicate, svg.encode())
    finally:
        drawing.kill()  # nothing to it once it has ended
    if drawing.returncode:
        lines = said.decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), f"status {drawing.returncode}")
        raise ValueError(last)
    return png
