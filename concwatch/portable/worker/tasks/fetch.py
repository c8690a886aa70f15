"""The ``http`` workload: fetch a page, with requests in tasks that may block, else with aiohttp."""

from __future__ import annotations

from functools import partial

from concwatch.portable.machine.open_files import raise_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from concwatch.portable.protocol.workloads import Workload

DIRECT = {"http": None, "https": None, "all": None}
"""Proxies for requests: none, whatever the environment sets; aiohttp uses none either."""


class BadStatus(Exception):
    """The server answered with a status other than 200."""


def load_fetch(workload: Workload, coroutine: bool) -> Callable[[], Any]:
    """Import the HTTP client; return a function that fetches the workload's page once.

    Args:
        workload: one whose word is ``http``.
        coroutine: whether the engine needs a coroutine function rather than a plain one.

    Raises:
        ValueError: one line that says what is missing.
    """
    url = workload.url
    if url is None or not url.startswith(("http://", "https://")):
        raise ValueError(f'workload "{workload.spec}" needs a "url" to fetch; expected http://…')
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
        # One session per task, as the published experiment opens one client per call.
        async with ClientSession() as session, session.get(url) as response:
            _check(url, response.status)
            await response.read()  # raises if the body is truncated

    return fetch


def _with_requests() -> Callable[[str], Any]:
    import requests

    def fetch(url: str) -> None:
        # Reads the whole body, and raises if it is truncated.
        response = requests.get(url, proxies=DIRECT)  # type: ignore[arg-type]  # its stubs do not allow None here
        _check(url, response.status_code)

    return fetch


def _check(url: str, status: int) -> None:
    if status != 200:
        raise BadStatus(f"{url} answered {status}, not 200")
