"""The settings file: where it is, and what stands in it."""

from collections.abc import Mapping
from pathlib import Path

MOST = 1 << 20
"""Bytes that are read at most: more than such a file may have, as who reads its text then says."""

NAMED_BY = "CONCWATCH_SETTINGS"
"""The variable that names another file than the one in the user's configuration folder."""


def settings_path(environ: Mapping[str, str]) -> Path:
    """Say where the settings file is, or would be."""
    if environ.get(NAMED_BY):
        return Path(environ[NAMED_BY])
    from platformdirs import user_config_path  # only here: who names a file can do without

    return user_config_path("concwatch", appauthor=False) / "settings.toml"


def read_settings_file(path: Path, named: bool) -> dict[str, object] | None:
    """Read what stands in the file, unchecked.

    Args:
        path: where it is.
        named: whether somebody named it, so that it has to be there.

    Returns:
        Its tables by name, or None when there is no file.

    Raises:
        ValueError: one line that names the file and says why it cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not named:
            return None
        raise ValueError(f"{path}: {error.strerror}: expected a settings file, named by {NAMED_BY}") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: expected a settings file") from None
    except ValueError:  # a null in the name
        raise ValueError(f"{path}: expected the path of a settings file in {NAMED_BY}") from None
    if not data:
        return {}
    from concwatch.toml_files import read_toml  # only here: most have no file

    return read_toml(data, str(path))
