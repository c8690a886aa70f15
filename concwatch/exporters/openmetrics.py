"""The figures of a watched program as OpenMetrics, which Prometheus scrapes."""

import gzip
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SOCK_STREAM, getaddrinfo
from threading import Thread
from typing import Any

from concwatch.exporters.collection import TIMEOUT, Collection
from concwatch.exporters.exposition import OPENMETRICS, PLAIN, exposition
from concwatch.monitor.watching.watching import Watching

COMPRESSION = 1
"""The level of compression: the lines are so much alike that more of it hardly pays."""


class _ScrapeServer(ThreadingHTTPServer):
    """Answers each request in a thread of its own.

    Args:
        host: the address to listen on.
        port: the port; 0 for any free one.
        collection: what is served.
    """

    def __init__(self, host: str, port: int, collection: Collection) -> None:
        self.collection = collection
        self.address_family, _, _, _, address = getaddrinfo(host, port, type=SOCK_STREAM)[0]
        super().__init__((str(address[0]), port), _ScrapeHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the client has gone."""


class _ScrapeHandler(BaseHTTPRequestHandler):
    """Answers a request, and logs nothing."""

    timeout = 2 * TIMEOUT

    def do_GET(self) -> None:
        """Send the metrics in the format that the client accepts."""
        openmetrics = "application/openmetrics-text" in self.headers.get("Accept", "")
        assert isinstance(self.server, _ScrapeServer)
        try:
            body = exposition(self.server.collection.wait(), openmetrics).encode()
        except Exception:
            self.send_error(500, "the metrics could not be read")
            return
        self.send_response(200)
        self.send_header("Content-Type", OPENMETRICS if openmetrics else PLAIN)
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, COMPRESSION)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class MetricsServer:
    """Serves ``/metrics`` over HTTP from `observe` on: a program is started before there are threads."""

    def __init__(self, host: str, port: int) -> None:
        """Listen on ``host`` and ``port``; 0 for any free port.

        Raises:
            ValueError: that is not possible; the message is one line.
        """
        self._collection = Collection()
        try:
            self._server = _ScrapeServer(host, port, self._collection)
        except OSError as error:
            raise ValueError(f"cannot listen on {host}:{port} ({error.strerror})") from None
        self._thread: Thread | None = None
        self.address = f"http://{host}:{self._server.server_port}/metrics"

    def observe(self, watching: Watching) -> None:
        """Answer scrapes from a program, which the caller steps."""
        self._collection.observe(watching)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._collection.cancel()
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
