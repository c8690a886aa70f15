"""The ``connect`` workload: hold a TCP connection, and send and read a line on it once, or every interval."""

from __future__ import annotations

import socket
from itertools import count

from concwatch.portable.machine.open_files import raise_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Coroutine, Optional, Tuple

    from concwatch.portable.protocol.workloads import Workload

    Addresses = Callable[[], Tuple[str, int]]

LINE = b"ping\n"
"""What a task sends, and the server sends back."""

SCHEME = "tcp://127.0.0.1:"


def load_connect(workload: Workload, coroutine: bool, token: Any) -> Callable[[], Any]:
    """Return a function that holds one connection to the workload's server until it is cancelled.

    Args:
        workload: one whose word is ``connect``.
        coroutine: whether the engine needs a coroutine function rather than a plain one.
        token: cancels plain functions; None for a coroutine function.

    Raises:
        ValueError: one line that says what is missing.
    """
    addresses = _addresses(workload)
    seconds = float(str(workload.values[0])) if workload.values else None
    raise_limit()
    return _with_streams(addresses, seconds) if coroutine else _with_sockets(token, addresses, seconds)


def _addresses(workload: Workload) -> Addresses:
    """Return a function that returns the addresses of the workload's server in turn.

    From one address to another, a system has at most about 28,000 ports for connections.
    """
    url = workload.url or ""
    digits = url[len(SCHEME) :] if url.startswith(SCHEME) else ""
    if not (digits.isascii() and digits.isdigit() and 0 < int(digits[:6]) < 1 << 16):
        raise ValueError(f'workload "{workload.spec}" needs a "url" to connect to; expected {SCHEME}PORT')
    hosts, port = [f"127.0.0.{1 + number}" for number in range(workload.addresses)], int(digits)
    step = count().__next__  # threads may call it at once
    return lambda: (hosts[step() % len(hosts)], port)


def _closed() -> ConnectionError:
    return ConnectionResetError("the server closed the connection")


def _with_streams(
    addresses: Addresses, seconds: Optional[float]
) -> Callable[[], Coroutine[Any, Any, object]]:
    import asyncio  # the engine has imported it, if it needs coroutine functions

    async def hold() -> None:
        reader, writer = await asyncio.open_connection(*addresses())
        try:
            while True:
                writer.write(LINE)
                await writer.drain()
                if await reader.readline() != LINE:
                    raise _closed()
                if seconds is None:
                    await reader.read(1)  # returns when the server closes the connection
                    raise _closed()
                await asyncio.sleep(seconds)
        finally:
            writer.close()

    return hold


def _with_sockets(token: Any, addresses: Addresses, seconds: Optional[float]) -> Callable[[], object]:
    new_socket = token.socket_opener()

    def hold() -> None:
        with new_socket() as connection:
            connection.connect(addresses())
            while True:
                connection.settimeout(None)
                connection.sendall(LINE)
                left = len(LINE)
                while left:
                    left -= _receive(connection, left)
                connection.settimeout(seconds)
                try:
                    _receive(connection, 1)  # returns when the server closes the connection
                except socket.timeout:
                    continue

    return hold


def _receive(connection: socket.socket, most: int) -> int:
    """Receive up to ``most`` bytes; return how many."""
    received = len(connection.recv(most))
    if not received:
        raise _closed()
    return received
