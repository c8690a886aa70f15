"""The web server's routes: the page, its static files, its session and downloads."""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler
from textual_serve.server import Server

from concwatch.web.door import Door
from concwatch.web.listening import read_address
from concwatch.web.session import PageSession

PAGE = Path(__file__).with_name("page.html")

HEARTBEAT = 5.0
"""Seconds between two pings; a browser that has lost its network is noticed after about 15 s."""

REFUSED = (
    "concwatch: refused; expected a request of its own page, opened at the address that was printed at start "
    "or at a name given with --name\n"
)

NO_TOKEN = "concwatch: refused; expected the address with the token that was printed at start\n"

HEADERS = {
    "Cache-Control": "no-cache",
    # Load nothing from other origins, and allow no other site to embed the page (clickjacking).
    "Content-Security-Policy": (
        "default-src 'self' 'unsafe-inline' data:; connect-src 'self' ws: wss:; frame-ancestors 'self'"
    ),
}


def is_allowed(request: web.Request, names: Collection[str]) -> bool:
    """Return whether a request comes from this server's own page.

    Any web page can make its visitor's browser connect to this machine. The browser sends the page's
    ``Origin``, and the ``Host`` name under which it reached the server; an unknown name may be an attacker's
    that resolves to this machine (DNS rebinding).

    Args:
        request: the request.
        names: this server's names in lower case, besides IP addresses and "localhost".
    """
    host = request.headers.get("Host", "")
    origin = request.headers.get("Origin")
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        known = read_address(name) is not None or name in names or f".{name}".endswith(".localhost")
        return known and (origin is None or urlsplit(origin).netloc == host)
    except ValueError:  # not a valid address
        return False


class Site:
    """The web application.

    Args:
        command: the program to run for each page, and its arguments.
        names: this server's names, besides IP addresses and "localhost".
        heartbeat: seconds between two pings of a page.
        token: what a browser must know; None for no token.
    """

    def __init__(
        self, command: Sequence[str], names: Collection[str], heartbeat: float, token: str | None = None
    ) -> None:
        self._door = Door(token)
        self._command = command
        self._names = frozenset(name.lower().rstrip(".") for name in names)
        self._heartbeat = heartbeat
        self._sessions: set[PageSession] = set()
        self._downloads: dict[str, Path] = {}

    def app(self) -> web.Application:
        """Return the application for aiohttp."""

        @web.middleware
        async def check_request(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not is_allowed(request, self._names):
                raise web.HTTPForbidden(text=REFUSED)
            if not self._door.admits(request):
                raise web.HTTPForbidden(text=NO_TOKEN)
            return await handler(request)

        app = web.Application(middlewares=[check_request])
        app.add_routes(
            [
                web.get("/", self._show_page),
                web.get("/ws", self._run_session),
                web.get("/download/{key}", self._send_file),
                # The page's terminal is that of textual-serve.
                web.static("/static", Server(self._command[0]).statics_path),
            ]
        )
        app.on_shutdown.append(self._close_sessions)
        return app

    async def _show_page(self, request: web.Request) -> web.StreamResponse:
        return self._door.cookie_for(request) or web.FileResponse(PAGE, headers=HEADERS)

    async def _send_file(self, request: web.Request) -> web.FileResponse:
        path = self._downloads.get(request.match_info["key"])
        if path is None:
            raise web.HTTPNotFound(text="concwatch: no such file is offered\n")
        return web.FileResponse(path, headers={"Content-Disposition": f'attachment; filename="{path.name}"'})

    async def _run_session(self, request: web.Request) -> web.WebSocketResponse:
        session = PageSession(self._command, self._downloads, self._heartbeat)
        self._sessions.add(session)
        try:
            return await session.serve(request)
        finally:
            self._sessions.discard(session)

    async def _close_sessions(self, _: web.Application) -> None:
        await asyncio.gather(*(session.close() for session in self._sessions))
