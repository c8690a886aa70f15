"""What was chosen on the screen and is kept for its next start."""

from pathlib import Path

import msgspec
from msgspec import Struct

from concwatch.charts.table import WINDOWS
from concwatch.files import write_whole


class Kept(Struct, frozen=True, omit_defaults=True):
    """A choice is empty where nobody made one."""

    theme: str = ""
    window: float | None = None
    """Seconds."""


def kept_path() -> Path:
    """Return the file, below the user's folder for what programs remember."""
    from platformdirs import user_state_path  # Textual has it loaded

    return user_state_path("concwatch", appauthor=False) / "screen.json"


def read_kept() -> Kept:
    """Return what was kept; nothing where there is no such file, or it is not one of ours."""
    from concwatch.ui.palette import ALL_THEMES

    try:
        kept = msgspec.json.decode(kept_path().read_bytes(), type=Kept)
    except (OSError, msgspec.MsgspecError, ValueError):
        return Kept()
    window = kept.window if kept.window in WINDOWS else None
    return Kept(kept.theme if kept.theme in ALL_THEMES else "", window)


def keep(kept: Kept) -> None:
    """Keep what was chosen; where nothing can be written the next start has the defaults."""
    path = kept_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, msgspec.json.encode(kept).decode())
    except OSError:
        pass
