"""The connection of a lane to its worker, which may not exist."""

from concwatch.links.link import Link
from concwatch.system.process import Reading


class Connection:
    """Wraps the link to a worker; without a link nothing is sent, and nothing can be read."""

    def __init__(self, link: Link | None) -> None:
        self.link = link
        """None before a worker is started and once it has ended."""

    @property
    def delay(self) -> float | None:
        """Round-trip time to the worker's host in seconds; None on this machine."""
        return getattr(self.link, "delay", None)

    def reading(self) -> Reading | None:
        """Return a reading of the process; None unless it is running."""
        return self.link.reading() if self.link else None

    def send(self, command: str, **fields: object) -> None:
        """Send one command."""
        if self.link is not None:
            self.link.send(command, **fields)

    def kill(self) -> None:
        """Kill the worker."""
        if self.link is not None:
            self.link.kill()
