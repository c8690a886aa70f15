"""A link to a worker that is built first, on its first use, and then started."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from concwatch.links.link import Arrival, Ended, Link
from concwatch.links.messages import Building, Built
from concwatch.portable.build.runtime import Runtime
from concwatch.runtimes.building import build
from concwatch.system.process import Reading


class BuildLink:
    """A `Link` that reports the progress of a build, and then forwards to the worker's own link."""

    def __init__(self, ways: Sequence[Runtime], engine: str, start: Callable[[Sequence[str]], Link]) -> None:
        """Start to build; needs a running event loop.

        Args:
            ways: the ways to build ``engine``, best first.
            engine: the name of the engine.
            start: starts a worker by its command; raises ValueError with one line if it cannot.
        """
        self._start = start
        self._arrivals: deque[Arrival] = deque()
        self._backlog: list[tuple[str, dict[str, object]]] = []
        self._link: Link | None = None
        self._task = asyncio.get_running_loop().create_task(self._build(ways, engine))

    async def _build(self, ways: Sequence[Runtime], engine: str) -> None:
        add, reason = self._arrivals.append, "stopped while it was being built"
        try:
            built = await build(ways, engine, lambda line: add(Building(line)))
            if built.seconds:
                add(Built(built.seconds))
            link = self._start(built.command)
        except ValueError as error:
            reason = str(error)
        except asyncio.CancelledError:
            pass  # by `kill`; nothing else cancels it
        except Exception as error:  # a bug of ours must not leave the lane waiting forever
            reason = f"cannot be built: {type(error).__name__}: {error}"
        else:
            self._link = link
            for type_, fields in self._backlog:
                self._link.send(type_, **fields)
            return
        add(Ended(reason, ran=False))

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has arrived since the last call."""
        found = list(self._arrivals)
        self._arrivals.clear()
        return found + list(self._link.arrivals(now) if self._link else ())

    def reading(self) -> Reading | None:
        """Return figures of the worker's process; None while it does not run."""
        return self._link.reading() if self._link else None

    def send(self, type_: str, **fields: object) -> None:
        """Send a command. During the build it is queued, except ``stop``, which cancels the build."""
        if self._link is not None:
            self._link.send(type_, **fields)
        elif type_ == "stop":
            self.kill()
        else:
            self._backlog.append((type_, fields))

    def kill(self) -> None:
        """Cancel the build, or kill the worker."""
        if self._link is not None:
            self._link.kill()
        else:
            self._task.cancel()
