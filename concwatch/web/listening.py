"""Where the web server listens: a socket of its own, and what to call it."""

import errno
import ipaddress
import os
import socket

BACKLOG = 128
"""Connections that may wait to be accepted."""

UNSENT = 1 << 15
"""Bytes for one page that the system may hold; a slow page would else be shown what was painted long ago."""

EXPECTED = {
    errno.EADDRINUSE: "expected a free port, or --port 0 for any that is free",
    errno.EACCES: "expected a port that you may use, such as one from 1024 on",
}
"""What to do, by the reason why an address cannot be listened on."""


def listen(host: str, port: int) -> socket.socket:
    """Listen on the first address of ``host`` that lets us; of port 0 the system makes a free one.

    Raises:
        ValueError: one line that says why not.
    """
    if not host.strip():
        raise ValueError("no host: expected a name or an address of this machine, such as 127.0.0.1")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ValueError(f'"{host[:80]}" is no host: expected a name or an address of this machine') from None
    reason = 0
    for family, _, _, _, address in found:
        try:
            # "::" is every address of this machine, those of IPv4 among them.
            both = address[0] == "::" and socket.has_dualstack_ipv6()
            listening = socket.create_server(address[:2], family=family, backlog=BACKLOG, dualstack_ipv6=both)
        except OSError as error:
            reason = reason or error.errno or 0
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNSENT)  # connections inherit it
            return listening
    expected = EXPECTED.get(reason, "expected an address of this machine")
    raise ValueError(f"cannot listen on {host[:80]}, port {port}: {os.strerror(reason)}: {expected}")


def read_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that ``host`` is; None if it is a name, which could lead elsewhere."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def own_names() -> frozenset[str]:
    """Return the names under which other machines may know this one; to find them can take seconds."""
    name = socket.gethostname()
    return frozenset((name, f"{name}.local", socket.getfqdn()))


def url(host: str, port: int) -> str:
    """Write what a browser on this machine opens."""
    found = read_address(host)
    if found is not None and found.is_unspecified:  # every address of this machine; a browser needs one
        host = "::1" if found.version == 6 else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
