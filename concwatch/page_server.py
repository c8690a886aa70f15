"""The page that tasks of the workload ``http`` fetch, and its server, a process of its own."""

import asyncio
import os
import socket
from typing import TYPE_CHECKING

from concwatch.system.open_files import raise_limit

if TYPE_CHECKING:
    from aiohttp import web

PATH = "/page"
"""The path of its address; the query may say ``latency``, seconds until it is sent."""

SIZE = 102_400
"""Bytes: about what a page of a usual site weighs."""

BACKLOG = 4_096
"""Connections that may wait to be accepted; the system may allow fewer."""

LONGEST = 1_000_000.0
"""Seconds of latency; more is a slip of the finger."""

_HEAD = "<!DOCTYPE html>\n<html>\n<head><title>concwatch</title></head>\n<body>\n"
_TAIL = "</body>\n</html>\n"


def make_page() -> bytes:
    """Write the page, the same every time: numbered paragraphs, `SIZE` bytes in all."""
    room = SIZE - len(_HEAD) - len(_TAIL)
    lines = "".join(f"<p>Paragraph {number}: what does one more task cost?</p>\n" for number in range(3_000))
    body = lines[: lines.rindex("\n", 0, room) + 1]
    filler = "\n" * (room - len(body))
    return (_HEAD + body + filler + _TAIL).encode()


async def _serve(listening: socket.socket) -> None:
    from aiohttp import web  # only here: who merely looks up the address has no use for it

    page = make_page()

    async def answer(request: "web.Request") -> "web.Response":
        try:
            latency = float(request.query.get("latency", "0"))
        except ValueError:
            latency = -1.0
        if not 0 <= latency <= LONGEST:
            raise web.HTTPBadRequest(text=f"latency: expected seconds from 0 to {LONGEST:,.0f}\n")
        await asyncio.sleep(latency)
        return web.Response(body=page, content_type="text/html", charset="utf-8")

    app = web.Application()
    app.router.add_get(PATH, answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.SockSite(runner, listening, backlog=BACKLOG).start()
    # Nobody writes there: when it can be read, whoever started this is gone.
    asyncio.get_running_loop().add_reader(0, os._exit, 0)
    await asyncio.Event().wait()


def serve(descriptor: int) -> None:
    """Serve on the listening socket behind ``descriptor`` until standard input ends."""
    raise_limit()
    asyncio.run(_serve(socket.socket(fileno=descriptor)))
