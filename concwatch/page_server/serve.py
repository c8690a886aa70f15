"""The page server: one page over HTTP, as late as the request asks for."""

import asyncio
import os
import socket

from aiohttp import web

from concwatch.page_server.page import BACKLOG, PATH, make_page
from concwatch.system.open_files import raise_limit

LONGEST = 1_000_000.0
"""Seconds of latency; more is a slip of the finger."""


async def _serve(listening: socket.socket) -> None:
    page = make_page()

    async def answer(request: web.Request) -> web.Response:
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
