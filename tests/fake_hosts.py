"""Hosts without connections: fake workers whose bridges report their machines."""

from concwatch.hosts.host import Host
from concwatch.links.messages import HostFigures
from tests.fake_link import FakeWorkers
from tests.screen import GIB


def figures(available=12 * GIB, limits=()):
    """Return a bridge's report of its machine."""
    values = {"cores": 4, "memory_total": 16 * GIB, "memory_available": available, "busy": 0.0, "own": 0.0}
    return HostFigures(1.0, "box", "Linux 6.1", "x86_64", "CPython 3.9", limits=limits, **values)


class HostWorkers(FakeWorkers):
    """Fake workers whose bridges report their machines."""

    def __call__(self, engine):
        link = super().__call__(engine)
        link.scripted.append(figures())
        return link


def hosts(count):
    return [Host(f"web{number}", ("env",)) for number in range(1, count + 1)]
