"""Start or stop the recording of a session, and show the user its path."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App

from concwatch.portable.protocol.units import format_bytes
from concwatch.ui.apps.pictures import offer_download
from concwatch.ui.sources.session_recording import SessionRecording

if TYPE_CHECKING:
    from concwatch.monitor.metrics.observable import Observable
    from concwatch.monitor.workers.catalog import Engine
    from concwatch.recordings.recorder import Recorder


def toggle_recording(
    app: App[Any],
    recording: SessionRecording,
    recorded: "Callable[[], tuple[Observable, Sequence[Engine]]]",
    log: Callable[[str], object],
) -> None:
    """Start or stop recording, and show the path.

    Args:
        app: shows the notifications.
        recording: the recording of its session.
        recorded: returns what to record, and the engines of its lanes.
        log: logs what the user did.
    """
    if recording.on:
        stopped = recording.stop("ended by key")
        if stopped is not None:
            _notify(app, stopped, f"saved {stopped.path}, {format_bytes(stopped.size)}")
            log(f"recorded {stopped.path}, {format_bytes(stopped.size)}")
            if not stopped.problem:
                offer_download(app, stopped.path)
        return
    try:
        started = recording.start(*recorded())
        _notify(app, started, f"to {started.path}")
        log(f"recording to {started.path}")
    except (OSError, ValueError) as error:
        where = f"{getattr(error, 'filename', None) or recording.folder}"
        why = f"{where}: {error.strerror}" if isinstance(error, OSError) else error
        app.notify(f"not recorded: {why}", severity="error", markup=False)


def _notify(app: App[Any], recorder: "Recorder", done: str) -> None:
    """Notify the user of ``done``, or of the recorder's error."""
    if recorder.problem:
        app.notify(recorder.problem, severity="error", markup=False)
    else:
        app.notify(done, title="recording", markup=False)
