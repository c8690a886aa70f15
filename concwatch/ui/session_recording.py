"""The recording of a session on the screen: begun and ended by a key, or there from the start."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from concwatch.files import new_path
from concwatch.lab.catalog import Engine
from concwatch.units import format_bytes

if TYPE_CHECKING:
    from concwatch.recordings.recorder import Recordable, Recorder


class SessionRecording:
    """At most one recorder at a time, and a folder for the next."""

    def __init__(self, folder: Path, recorder: "Recorder | None" = None) -> None:
        """Prepare to record.

        Args:
            folder: where a key puts recordings; made when it is needed.
            recorder: one that records from the start.
        """
        self.folder = folder
        self.paths: list[Path] = []
        """The recordings of this session that have ended."""
        self._recorder = recorder

    @property
    def on(self) -> bool:
        """Whether something is recorded."""
        return self._recorder is not None and self._recorder.on

    @property
    def problem(self) -> str:
        """Return why what was recorded last is not whole; nothing where it is, or nothing was recorded."""
        return self._recorder.problem if self._recorder is not None else ""

    @property
    def told(self) -> str:
        """Return how much is recorded, in a few words; nothing where nothing is."""
        if self._recorder is None or not self._recorder.on:
            return ""
        from concwatch.recordings.format import format_position  # as in `begin`

        return f"● rec {format_position(self._recorder.seconds, 0)} · {format_bytes(self._recorder.size)}"

    def follow(self, lab: "Recordable") -> None:
        """Record ``lab``, if it is to be recorded from the start."""
        if self._recorder is not None:
            self._recorder.observe(lab)

    def begin(self, lab: "Recordable", engines: Sequence[Engine] = ()) -> "Recorder":
        """Record ``lab`` from now on, and give what does; its ``problem`` says if it has stopped already.

        Raises:
            OSError: there can be no such folder.
            ValueError: one line: there can be no such file, or a file is in the folder's place.
        """
        # Only here: the first frame can do without.
        from concwatch.recordings.recorder import Recorder, command_line
        from concwatch.recordings.writers import open_writer

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ValueError(f'"{self.folder}" is a file: expected a folder') from None
        path = new_path(self.folder, f"concwatch-{datetime.now():%Y-%m-%d-%H%M%S}", ".jsonl")
        self._recorder = Recorder(path, open_writer(path), command_line(), engines)
        self._recorder.observe(lab)
        return self._recorder

    def end(self, why: str) -> "Recorder | None":
        """End what is recorded, and give what has been; ``why`` it ends, in a few words."""
        if not self.on or self._recorder is None:
            return None
        self._recorder.stop(why)
        self.paths.append(self._recorder.path)
        return self._recorder
