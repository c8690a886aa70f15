"""The server of the page that tasks of the workload ``http`` fetch. It runs in a process of its own."""

import asyncio
import os
import socket
from typing import TYPE_CHECKING

from concwatch.portable.machine.open_files import raise_limit

if TYPE_CHECKING:
    from aiohttp import web

PATH = "/page"
"""The path of the page; the parameter ``latency`` delays the response by that many seconds."""

SIZE = 102_400
"""Size of the page in bytes, about that of a typical web page."""

BACKLOG = 4_096
"""Connections that may wait to be accepted; the system may allow fewer."""

MAX_LATENCY = 1_000_000.0
"""Longest latency in seconds; more is a typing error."""

_HEAD = "<!DOCTYPE html>\n<html>\n<head><title>concwatch</title></head>\n<body>\n"
_TAIL = "</body>\n</html>\n"


def make_page() -> bytes:
    """Return the page: numbered paragraphs, `SIZE` bytes in all."""
    room = SIZE - len(_HEAD) - len(_TAIL)
    lines = "".join(f"<p>Paragraph {number}: what does one more task cost?</p>\n" for number in range(3_000))
    body = lines[: lines.rindex("\n", 0, room) + 1]
    filler = "\n" * (room - len(body))
    return (_HEAD + body + filler + _TAIL).encode()


async def _serve(listening: socket.socket) -> None:
    from aiohttp import web  # not at the top: the monitor imports this module, too

    page = make_page()

    async def answer(request: "web.Request") -> "web.Response":
        try:
            latency = float(request.query.get("latency", "0"))
        except ValueError:
            latency = -1.0
        if not 0 <= latency <= MAX_LATENCY:
            raise web.HTTPBadRequest(text=f"latency; expected seconds from 0 to {MAX_LATENCY:,.0f}\n")
        await asyncio.sleep(latency)
        return web.Response(body=page, content_type="text/html", charset="utf-8")

    app = web.Application()
    app.router.add_get(PATH, answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.SockSite(runner, listening, backlog=BACKLOG).start()
    # Nothing is ever written to standard input: it becomes readable when the monitor has ended.
    asyncio.get_running_loop().add_reader(0, os._exit, 0)
    await asyncio.Event().wait()


def serve(descriptor: int) -> None:
    """Serve on the listening socket ``descriptor`` until standard input is closed."""
    raise_limit()
    asyncio.run(_serve(socket.socket(fileno=descriptor)))
