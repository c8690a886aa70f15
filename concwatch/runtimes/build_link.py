"""A worker that is built first, on its first use, and started then."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from concwatch.links.link import Arrival, Ended, Link
from concwatch.links.messages import Building, Built
from concwatch.runtimes.building import BuildError, build
from concwatch.runtimes.runtime import Runtime
from concwatch.system.process import Reading


class BuildLink:
    """A `Link`: until the worker is built it tells how that goes, then it is the worker's own."""

    def __init__(self, ways: Sequence[Runtime], engine: str, start: Callable[[Sequence[str]], Link]) -> None:
        """Begin to build; needs a running event loop.

        Args:
            ways: how ``engine`` can be had, the best first.
            engine: its name.
            start: starts a worker by its command; a ValueError says in one line why it cannot.
        """
        self._start = start
        self._arrivals: deque[Arrival] = deque()
        self._backlog: list[tuple[str, dict[str, object]]] = []
        self._link: Link | None = None
        self._task = asyncio.get_running_loop().create_task(self._build(ways, engine))

    async def _build(self, ways: Sequence[Runtime], engine: str) -> None:
        tell, done = self._arrivals.append, "stopped while it was being built"
        try:
            command = await build(
                ways, engine, lambda text: tell(Building(text)), lambda seconds: tell(Built(seconds))
            )
            link = self._start(command)
        except (BuildError, ValueError) as error:
            done = str(error)
        except asyncio.CancelledError:
            pass  # by `kill`: there is nobody else who could
        except Exception as error:  # a fault of ours: the lane is not to wait for ever
            done = f"cannot be built: {type(error).__name__}: {error}"
        else:
            self._link = link
            for type_, fields in self._backlog:
                self._link.send(type_, **fields)
            return
        tell(Ended(done, ran=False))

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has come since the last call."""
        found = list(self._arrivals)
        self._arrivals.clear()
        return found + list(self._link.arrivals(now) if self._link else ())

    def reading(self) -> Reading | None:
        """Look at the worker's process; None before it runs and after."""
        return self._link.reading() if self._link else None

    def send(self, type_: str, **fields: object) -> None:
        """Send one command; until the worker runs it waits, but for ``stop``, which ends a build."""
        if self._link is not None:
            self._link.send(type_, **fields)
        elif type_ == "stop":
            self.kill()
        else:
            self._backlog.append((type_, fields))

    def kill(self) -> None:
        """End the build, or the worker, by force."""
        if self._link is not None:
            self._link.kill()
        else:
            self._task.cancel()
