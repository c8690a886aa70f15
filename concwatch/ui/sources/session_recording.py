"""The recording of a session, from its start or by a key."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from concwatch.monitor.workers.catalog import Engine
from concwatch.portable.protocol.units import format_bytes
from concwatch.system.files import new_path

if TYPE_CHECKING:
    from concwatch.monitor.metrics.observable import Observable
    from concwatch.recordings.recorder import Recorder


class SessionRecording:
    """Manages the recorder of a session, at most one at a time."""

    def __init__(self, folder: Path, recorder: "Recorder | None" = None) -> None:
        """Create the recording.

        Args:
            folder: the folder for recordings started by a key, created when needed.
            recorder: a recorder that starts with the session.
        """
        self.folder = folder
        self.paths: list[Path] = []
        """The finished recordings of this session."""
        self._recorder = recorder

    @property
    def on(self) -> bool:
        """Whether the session is being recorded."""
        return self._recorder is not None and self._recorder.on

    @property
    def problem(self) -> str:
        """Why the last recording is incomplete; empty if it is complete or there is none."""
        return self._recorder.problem if self._recorder is not None else ""

    @property
    def status(self) -> str:
        """Duration and size of the current recording, for the status bar; empty if there is none."""
        if self._recorder is None or not self._recorder.on:
            return ""
        from concwatch.recordings.format import format_position  # as in `start`

        return f"● rec {format_position(self._recorder.seconds, 0)} · {format_bytes(self._recorder.size)}"

    def attach(self, lab: "Observable") -> None:
        """Record ``lab`` if the session is recorded from the start."""
        if self._recorder is not None:
            self._recorder.observe(lab)

    def start(self, lab: "Observable", engines: Sequence[Engine] = ()) -> "Recorder":
        """Start recording ``lab`` and return the recorder; see its ``problem`` for an error at the start.

        Raises:
            OSError: the folder cannot be created.
            ValueError: the file cannot be created, or the folder's path is a file.
        """
        # Not needed for the first frame.
        from concwatch.recordings.recorder import Recorder, command_line
        from concwatch.recordings.writers import open_writer

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ValueError(f'"{self.folder}" is a file, not a folder') from None
        path = new_path(self.folder, f"concwatch-{datetime.now():%Y-%m-%d-%H%M%S}", ".jsonl")
        self._recorder = Recorder(path, open_writer(path), command_line(), engines)
        self._recorder.observe(lab)
        return self._recorder

    def stop(self, reason: str) -> "Recorder | None":
        """Stop recording and return the recorder; None if nothing is recorded."""
        if not self.on or self._recorder is None:
            return None
        self._recorder.stop(reason)
        self.paths.append(self._recorder.path)
        return self._recorder
