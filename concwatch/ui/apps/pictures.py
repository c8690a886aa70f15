"""The pictures that the user saves in a session."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.worker import WorkerCancelled

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from concwatch.ui.apps.picture_files import Saved

TIMEOUT = 10.0
"""Seconds that the exit waits at most for pictures that are being saved; far more than it takes."""

PICTURE = "picture"
"""Name of the Textual worker that saves a picture."""


class Pictures:
    """Saves pictures of an app's screen, and shows their paths."""

    def __init__(
        self,
        app: App[Any],
        folder: Path,
        log: Callable[[str], object],
        update: Callable[[], object],
        conditions: Callable[[], Sequence[str]],
    ) -> None:
        """Save pictures of ``app``.

        Args:
            app: whose screen is drawn.
            folder: where they are saved, created when needed.
            log: logs what was saved.
            update: updates every screen, before a picture of it is taken.
            conditions: returns the conditions of the measurement, for the picture of a chart.
        """
        self._app = app
        self.folder = folder
        self._log = log
        self._update = update
        self._conditions = conditions
        self.saved: list[Path] = []
        """The files saved in this session."""
        self.cells = False
        """Whether pictures show the cells of charts as the terminal does, not vectors."""
        self._png_hint_shown = False

    def save_screen(self) -> None:
        """Save a picture of the screen."""
        self._update()
        self._app.clear_notifications()  # such as that of the last picture
        self._app.call_after_refresh(self._save_screen)

    def _save_screen(self) -> None:
        from concwatch.ui.apps.screen_vectors import screen_svg  # as in `_save`

        self._save(screen_svg(self._app, "concwatch", cells=self.cells), "")

    def save_chart(self) -> None:
        """Save a picture of the focused chart, or of the first visible one."""
        from concwatch.ui.apps.picture_files import chart_slide, chart_to_save  # as in `_save`

        chart = chart_to_save(self._app.screen)
        if chart is None:
            self._app.notify("no chart is visible", severity="warning")
        else:
            dark = self._app.current_theme.dark
            self._save(chart_slide(chart, self._conditions(), dark), chart.plot.title)

    def _save(self, svg: str, subject: str) -> None:
        """Save a picture of ``subject``, by default of the whole screen, and show its path."""
        # Not needed for the first frame.
        from concwatch.pictures.png import can_draw
        from concwatch.ui.apps.picture_files import PNG_HINT, save_picture

        async def save() -> None:
            saved = await save_picture(svg, self.folder, subject)
            hint = ""
            if not (saved.failed or self._png_hint_shown or can_draw()):
                self._png_hint_shown = True
                hint = f"\n{PNG_HINT}"
            self.show_saved("screenshot", saved, hint)

        self._app.run_worker(save(), name=PICTURE)

    def show_saved(self, kind: str, saved: "Saved", hint: str = "") -> None:
        """Show which files were saved, log them, and offer the last one for download.

        Args:
            kind: of the files.
            saved: the files, or why there are none.
            hint: more text for the notification.
        """
        self.saved += saved.paths
        if saved.paths:
            others = "".join(f" and {path.suffix}" for path in saved.paths[1:])
            self._log(f"{kind} {saved.paths[0]}{others}")
            offer_download(self._app, saved.paths[-1])  # only one: browsers ask before several
        severity: SeverityLevel = "error" if saved.failed else "information"
        self._app.notify(f"{saved.text}{hint}", title=kind, severity=severity, markup=False)

    async def finish(self) -> None:
        """Wait until all pictures have been saved, at most `TIMEOUT` seconds."""
        saving = asyncio.gather(*(saver.wait() for saver in self._app.workers if saver.name == PICTURE))
        with contextlib.suppress(TimeoutError, WorkerCancelled):
            await asyncio.wait_for(saving, TIMEOUT)


def offer_download(app: App[Any], path: Path) -> None:
    """Offer a saved file for download if the screen is shown in a browser."""
    if app.is_web:
        app.deliver_binary(path, save_directory=path.parent)
