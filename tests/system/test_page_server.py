"""The page server of the workload ``http``: its page, latencies, and invalid URLs."""

import asyncio
import contextlib
import sys
import time
import urllib.error
import urllib.request

import aiohttp
import pytest

from concwatch.monitor.lanes.servers import HOST, Server
from concwatch.portable.machine.open_files import raise_limit
from concwatch.portable.protocol.workloads import parse
from concwatch.system.page_server import SIZE, make_page
from tests.worker_driver import EARLY, PATIENCE

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no page server on Windows"),
]


@pytest.fixture(scope="module")
def server():
    """A page server for all tests."""
    with contextlib.closing(Server("http")) as found:
        yield found
        assert found.ended() is None


def page_url(server, seconds):
    """Return the URL of the page that is sent after so long."""
    return server.url(parse(f"http:{seconds}"))


def get(url):
    # Without the proxies of the environment.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=PATIENCE) as answer:
        return answer.read()


def test_a_page_is_served_after_the_latency_in_its_url(server):
    page = get(page_url(server, 0))
    assert (len(page), page) == (SIZE, make_page())
    assert (page[:15], page[-8:]) == (b"<!DOCTYPE html>", b"</html>\n")
    began = time.monotonic()
    assert get(page_url(server, 0.1)) == page
    assert time.monotonic() - began >= 0.1 - EARLY


def test_an_invalid_url_is_rejected(server):
    invalid = {f"page?latency={latency}": 400 for latency in ("soon", "-1", "nan")}
    for path, status in {**invalid, "x": 404}.items():
        with pytest.raises(urllib.error.HTTPError) as caught:
            get(f"http://{HOST}:{server.port}/{path}")
        caught.value.close()
        assert caught.value.code == status


async def test_many_pages_are_served_concurrently(server):
    raise_limit()
    began = time.monotonic()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def fetch():
            async with session.get(page_url(server, 0.5)) as response:
                return response.status, len(await response.read())

        answers = await asyncio.gather(*[fetch() for _ in range(400)])
    assert set(answers) == {(200, SIZE)}
    assert 0.5 <= time.monotonic() - began < PATIENCE  # 200 s if served one by one
