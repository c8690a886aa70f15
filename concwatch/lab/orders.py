"""The settings that one worker was sent, and what it has not answered for yet."""

from collections import deque
from collections.abc import Callable

from msgspec import structs

from concwatch.lab.settings import Settings, commands
from concwatch.links.link import Link


class Orders:
    """Sends a worker its settings, and takes in its answers."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        """What it was last sent; until it is ready, what it will be sent."""
        self.unanswered: list[str] = []
        """Commands that it must have accepted before it begins."""
        # The workload and page that it runs, then those that it was sent and has not answered for.
        self._workloads: deque[tuple[str, str | None]] = deque([("", None)])

    def begin(self, link: Link, can: Callable[[str], bool], hz: float) -> None:
        """Send all settings, and the rate last, since a tick follows it at once."""
        orders = commands(self.settings, can)
        orders.append(("rate", {"hz": hz}))
        self.unanswered = [command for command, _ in orders]
        self._send(link, orders)

    def change(self, settings: Settings, link: Link, can: Callable[[str], bool]) -> None:
        """Send what is new in ``settings``."""
        before, self.settings = commands(self.settings, can), settings
        self._send(link, [order for order in commands(settings, can) if order not in before])

    def _send(self, link: Link, orders: list[tuple[str, dict[str, object]]]) -> None:
        for command, fields in orders:
            if command == "workload":
                self._workloads.append((self.settings.workload, self.settings.page))
            link.send(command, **fields)

    def accepted(self, command: str) -> None:
        """Note that a command has had effect."""
        if command == "workload" and len(self._workloads) > 1:
            self._workloads.popleft()
        if command in self.unanswered:
            self.unanswered.remove(command)

    def refused(self, command: str) -> None:
        """Note that a command had no effect: asked for again, a refused workload is sent again."""
        if command == "workload" and len(self._workloads) > 1:
            del self._workloads[1]
            workload, page = self._workloads[0]
            self.settings = structs.replace(self.settings, workload=workload, page=page)
