"""Where settings are: the settings file, and environment variables."""

import os
from pathlib import Path

PREFIX = "CONCWATCH"
"""What the names of all variables begin with."""

PATH_VARIABLE = "CONCWATCH_SETTINGS"
"""The environment variable with the path of another settings file."""


def settings_path() -> Path:
    """Return the path of the settings file, whether it exists or not."""
    from platformdirs import user_config_path  # already loaded by Textual

    return Path(
        os.environ.get(PATH_VARIABLE) or user_config_path("concwatch", appauthor=False) / "settings.toml"
    )


def may_be_set() -> bool:
    """Return whether there may be settings, in a file or in variables, or a shell asks for completions."""
    names = (f"{PREFIX}_", f"_{PREFIX}_")
    return any(name.startswith(names) for name in os.environ) or os.path.lexists(settings_path())
