"""What is kept of a demo while it plays, and the files that are made of it."""

import importlib.util
import re
import time
from collections.abc import Collection, Iterator
from typing import Any

from textual.app import App
from textual.driver import Driver

from concwatch.pictures.cast import Cast
from concwatch.pictures.cells import part_texts
from concwatch.pictures.drawing import PicturesMissing
from concwatch.pictures.film import Frame, make_gif
from concwatch.pictures.png import to_png
from concwatch.ui.recording_driver import RecordedTerminal

FRAME = 0.2
"""Seconds between two frames of a film."""

_PRIVATE = re.compile(r"\x1b\[[?<=>][\d;]*\$?[a-z]")
"""What is between a program and its very terminal: modes such as the mouse's, and questions.

Where a recording is played, that terminal would answer, and go on to tell of its mouse.
"""

FORMATS: dict[str, tuple[str, ...]] = {
    "svg": (),
    "png": ("resvg_py",),
    "gif": ("resvg_py", "PIL"),
    "cast": (),
}
"""The modules that each format needs besides."""

PACKAGES = {"resvg_py": "resvg-py", "PIL": "pillow"}
"""What pip calls their packages."""


def check_formats(formats: Collection[str]) -> None:
    """See that all formats can be made here.

    Raises:
        PicturesMissing: the message says what to install.
    """
    for name in formats:
        for module in FORMATS[name]:
            if importlib.util.find_spec(module) is None:
                raise PicturesMissing(PACKAGES.get(module, module))


class Takes:
    """Keeps pictures, frames and what is written to the terminal, as far as they are wanted."""

    def __init__(self, name: str, title: str, formats: Collection[str]) -> None:
        """Begin with nothing.

        Args:
            name: what the files are called after.
            title: what stands above the pictures.
            formats: which of `FORMATS` are wanted.
        """
        self.shots: dict[str, str] = {}
        """The pictures as SVG, by name."""
        self._name = name
        self._title = title
        self._formats = formats
        self._frames: list[Frame] = []
        self._terminal = RecordedTerminal() if "cast" in formats else None
        self._began = 0.0

    def attach(self, app: App[Any], on_screen: bool) -> bool:
        """Have an app that does not run yet write where it can be kept; False when nobody wants that."""
        if self._terminal is not None:
            app.driver_class = _tee(self._terminal, app) if on_screen else self._terminal.driver_class()
        return self._terminal is not None

    def begin(self, app: App[Any]) -> None:
        """Begin to take frames of a running app, if a film is wanted."""
        self._began = time.monotonic()
        if self._terminal is not None:
            self._terminal.resize(*app.size)  # a terminal that is not there tells it nobody
        if "gif" in self._formats:
            self._take_frame(app)
            app.set_interval(FRAME, lambda: self._take_frame(app))

    def end(self, app: App[Any]) -> None:
        """Take the last frame."""
        if "gif" in self._formats:
            self._take_frame(app)

    def _take_frame(self, app: App[Any]) -> None:
        svg = app.export_screenshot(title=self._title)
        if f"-line-{app.size.height - 1}" in svg:  # a dialog that has just come has not got all its lines
            self._frames.append(Frame(time.monotonic() - self._began, svg))

    def take_shot(self, name: str, app: App[Any]) -> None:
        """Keep a picture of the screen."""
        self.shots[name] = part_texts(app.export_screenshot(title=self._title))

    def pictures(self) -> Iterator[tuple[str, str | bytes]]:
        """Make the pictures: names of files, and what they hold."""
        for shot, svg in self.shots.items():
            if "svg" in self._formats:
                yield f"{self._name}-{shot}.svg", svg
            if "png" in self._formats:
                yield f"{self._name}-{shot}.png", to_png(svg)

    def films(self) -> Iterator[tuple[str, str | bytes]]:
        """Make the film and the recording of the terminal: names of files, and what they hold."""
        if self._terminal is not None and self._terminal.sizes:
            (_, first), *later = self._terminal.sizes
            yield f"{self._name}.cast", Cast(*first, title=self._title).text(self._terminal.output, later)
        if self._frames:
            yield f"{self._name}.gif", make_gif(self._frames)


def _tee(terminal: RecordedTerminal, app: App[Any]) -> type[Driver]:
    """Make a driver of an app's real terminal that keeps what it writes, and how large it is then."""
    base = app.driver_class

    class Tee(base):  # type: ignore[valid-type,misc]  # which terminal it is only the system knows
        def start_application_mode(self) -> None:
            """Take the terminal."""
            terminal.begin()
            super().start_application_mode()

        def stop_application_mode(self) -> None:
            """Give the terminal back."""
            super().stop_application_mode()
            terminal.end()

        def write(self, data: str) -> None:
            """Keep what is to be seen of it, and write it."""
            terminal.resize(*app.size)
            if seen := _PRIVATE.sub("", data):
                terminal.write(seen)
            super().write(data)

    return Tee
