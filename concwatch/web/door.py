"""Access control: a browser is admitted at the address with the token, and then by a cookie.

Any user of this machine can connect to the server's port. The token is in the address that is printed at
start, which only the user who started it can read. The cookie is another secret: the token is nowhere else.
"""

import secrets
from hmac import compare_digest
from urllib.parse import urlencode

from aiohttp import web

PARAMETER = "token"
"""The parameter of the address that holds the token."""

COOKIE = "concwatch-{port}"
"""The name of the cookie: browsers send cookies to all ports of a host."""


class Door:
    """Checks each request.

    Args:
        token: the token; None to let everybody in.
    """

    def __init__(self, token: str | None) -> None:
        self._token = token
        self._secret = secrets.token_urlsafe()

    def admits(self, request: web.Request) -> bool:
        """Return whether a request has the token or the cookie."""
        if self._token is None:
            return True
        cookies = [value for name, value in request.cookies.items() if name == _cookie_name(request)]
        return any([self._has_token(request), *(_equal(value, self._secret) for value in cookies)])

    def _has_token(self, request: web.Request) -> bool:
        given = request.query.getall(PARAMETER, [])
        return self._token is not None and any(_equal(value, self._token) for value in given)

    def cookie_for(self, request: web.Request) -> web.Response | None:
        """Return a redirection to the same address without the token, which sets the cookie.

        None if the request has no token. So the token is neither in the page's address nor in its history.
        """
        if not self._has_token(request):
            return None
        rest = [(name, value) for name, value in request.query.items() if name != PARAMETER]
        # Relative, since a reverse proxy may serve the page under a path of its own.
        response = web.Response(status=303, headers={"Location": f"?{urlencode(rest)}" if rest else "./"})
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-store"
        response.set_cookie(
            _cookie_name(request),
            self._secret,
            path="/",
            httponly=True,
            samesite="Lax",  # "Strict" is not sent after a link in another page
            secure=request.headers.get("X-Forwarded-Proto") == "https",
        )
        return response


def new_token() -> str:
    """Return an unguessable token."""
    return secrets.token_urlsafe()


def with_token(url: str, token: str | None) -> str:
    """Return the address to open: ``url`` with the token."""
    return url if token is None else f"{url}/?{urlencode({PARAMETER: token})}"


def _cookie_name(request: web.Request) -> str:
    address = request.transport.get_extra_info("sockname") if request.transport else None
    return COOKIE.format(port=address[1] if address else 0)


def _equal(given: str, expected: str) -> bool:
    """Compare in a time that does not depend on where they differ."""
    return compare_digest(given.encode(errors="replace"), expected.encode())
