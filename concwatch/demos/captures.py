"""The pictures and the film of a demo."""

import asyncio
import importlib.util
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

from textual.app import App

from concwatch.demos.screen_strips import screen_strips
from concwatch.pictures.film import Frame, make_film
from concwatch.pictures.png import PicturesUnavailable, to_png
from concwatch.ui.apps.screen_vectors import screen_svg, vector_charts

FRAME_INTERVAL = 0.2
"""Seconds between two frames of a film."""

FORMATS: dict[str, tuple[tuple[str, str], ...]] = {
    "svg": (),
    "png": (("resvg_py", "resvg-py"),),
    "gif": (("resvg_py", "resvg-py"), ("PIL", "pillow")),
}
"""Format → the modules that it needs, each with its package."""

FILM = "gif"
"""The format of a whole demo; the others are of single shots."""


def check_formats(formats: Collection[str]) -> None:
    """Check that the packages for all formats are installed.

    Raises:
        PicturesUnavailable: the message says what to install.
    """
    for module, package in (needed for name in formats for needed in FORMATS[name]):
        if importlib.util.find_spec(module) is None:
            raise PicturesUnavailable(package)


class FilmClock:
    """Seconds of a film, which may be faster than the program that it shows."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seconds, self._since, self._speed = 0.0, clock(), 1.0

    def __call__(self) -> float:
        """Return the seconds of the film."""
        return self._seconds + (self._clock() - self._since) / self._speed

    async def sleep_until(self, seconds: float) -> None:
        """Sleep until that second of the film; its speed must stay the same."""
        await asyncio.sleep(max(0.0, seconds - self()) * self._speed)

    def run(self, speed: float) -> None:
        """Run ``speed`` times as fast from now on."""
        self._seconds, self._since, self._speed = self(), self._clock(), speed


class Captures:
    """Stores the pictures and frames of a demo, as far as the formats need them."""

    def __init__(
        self,
        name: str,
        title: str,
        formats: Collection[str],
        cells: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare pictures with this file name prefix and window title in some of `FORMATS`.

        With ``cells``, charts are drawn as the terminal shows them, not as vectors. ``clock`` returns a
        monotonic time in seconds.
        """
        self.shots: dict[str, str] = {}
        """The pictures as SVG, by name."""
        self._name = name
        self._title = title
        self._formats = formats
        self._cells = cells
        self.frames: list[Frame] = []
        """The frames of the film."""
        self.clock = FilmClock(clock)
        """The seconds of the film."""
        self.filming = FILM in formats
        """Whether the whole demo is recorded."""
        self._began: float | None = None

    def film(self, app: App[Any], speed: float = 1.0) -> None:
        """Start the film, ``speed`` times as fast, dropping earlier frames."""
        self.clock.run(speed)
        if self.filming:
            if self._began is None:
                app.set_interval(FRAME_INTERVAL, lambda: self._add_next_frame(app))
            self.frames.clear()
            self._began = self.clock()
            self.add_frame(app)

    def _add_next_frame(self, app: App[Any]) -> None:
        """Add a frame, unless the last one is recent because the film is faster than the program."""
        last = self.frames[-1].seconds if self.frames else -FRAME_INTERVAL
        if self._began is not None and self.clock() - self._began - last >= FRAME_INTERVAL / 2:
            self.add_frame(app)

    def add_frame(self, app: App[Any]) -> None:
        """Add a frame to the film, if filming has started."""
        if self._began is None:
            return
        with vector_charts(app, cells=self._cells) as charts:
            strips = screen_strips(app)
        if strips is not None:
            self.frames.append(Frame(self.clock() - self._began, list(map(list, strips)), charts))

    def add_shot(self, name: str, app: App[Any]) -> None:
        """Add a picture of the screen."""
        self.shots[name] = screen_svg(app, self._title, cells=self._cells)

    def files(self) -> Iterator[tuple[str, str | bytes]]:
        """Yield the name and the content of each file."""
        for shot, svg in self.shots.items():
            if "svg" in self._formats:
                yield f"{self._name}-{shot}.svg", svg
            if "png" in self._formats:
                yield f"{self._name}-{shot}.png", to_png(svg)
        if self.frames:
            yield f"{self._name}.{FILM}", make_film(self.frames)
