"""The web server's listening socket and its URL."""

import errno
import ipaddress
import os
import socket

BACKLOG = 128
"""Connections that may wait to be accepted."""

UNSENT = 1 << 15
"""Size of the kernel's send buffer in bytes; with a large one a slow page would show outdated frames."""

EXPECTED = {
    errno.EADDRINUSE: "expected a free port, or --port 0 for any that is free",
    errno.EACCES: "expected a port that you may use, such as one from 1024 on",
}
"""What to do about an error of listening."""


def listen(host: str, port: int) -> socket.socket:
    """Listen on the first usable address of ``host``; port 0 is any free port.

    Raises:
        ValueError: no address can be used; the message is one line.
    """
    if not host.strip():
        raise ValueError("the host is empty; give a name or an address of this machine, such as 127.0.0.1")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ValueError(f'unknown host "{host[:80]}"; give a name or an address of this machine') from None
    reason = 0
    for family, _, _, _, address in found:
        try:
            # "::" includes all IPv4 addresses.
            both = address[0] == "::" and socket.has_dualstack_ipv6()
            listening = socket.create_server(address[:2], family=family, backlog=BACKLOG, dualstack_ipv6=both)
        except OSError as error:
            reason = reason or error.errno or 0
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNSENT)  # connections inherit it
            return listening
    expected = EXPECTED.get(reason, "expected an address of this machine")
    raise ValueError(f"cannot listen on {host[:80]}, port {port} ({os.strerror(reason)}); {expected}")


def read_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse ``host`` as an IP address; return None if it is a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def own_names() -> frozenset[str]:
    """Return the names of this machine on its network; this can take seconds."""
    name = socket.gethostname()
    return frozenset((name, f"{name}.local", socket.getfqdn()))


def url(host: str, port: int) -> str:
    """Return the URL for a browser on this machine."""
    found = read_address(host)
    if found is not None and found.is_unspecified:  # all addresses: a browser needs one of them
        host = "::1" if found.version == 6 else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
