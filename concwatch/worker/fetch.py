"""Fetching a page, the workload ``http``: by requests where a task may block, by aiohttp on an event loop."""

from __future__ import annotations

from functools import partial

from concwatch.system.open_files import raise_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from concwatch.worker.workloads import Workload

DIRECT = {"http": None, "https": None, "all": None}
"""No proxy, whatever the environment has: aiohttp takes none either."""


class BadStatus(Exception):
    """The server answered, but not with the page."""


def find_fetch(workload: Workload, coroutine: bool) -> Callable[[], Any]:
    """Import the package that fetches; return a function that fetches the workload's page once, to its end.

    Args:
        workload: one with the word ``http``.
        coroutine: whether the engine needs a coroutine function, or else a plain one.

    Raises:
        ValueError: what is missing, in one line.
    """
    url = workload.url
    if url is None or not url.startswith(("http://", "https://")):
        raise ValueError(f'workload "{workload.spec}" needs "url", where to fetch: expected http://…')
    try:
        fetch = _with_aiohttp() if coroutine else _with_requests()
    except ImportError:
        package = "aiohttp" if coroutine else "requests"
        raise ValueError(
            f"workload \"{workload.spec}\" needs {package}: pip install 'concwatch[http]'"
        ) from None
    raise_limit()
    return partial(fetch, url)


def _with_aiohttp() -> Callable[[str], Any]:
    from aiohttp import ClientSession

    async def fetch(url: str) -> None:
        # One session a task, as the published experiment opens one client a call.
        async with ClientSession() as session, session.get(url) as response:
            _check(url, response.status)
            await response.read()  # raises for a body that is cut short

    return fetch


def _with_requests() -> Callable[[str], Any]:
    import requests

    def fetch(url: str) -> None:
        # The body is read behind this, and a body that is cut short raises.
        response = requests.get(url, proxies=DIRECT)  # type: ignore[arg-type]  # its stubs know no None here
        _check(url, response.status_code)

    return fetch


def _check(url: str, status: int) -> None:
    if status != 200:
        raise BadStatus(f"{url} answered {status}: expected 200")
