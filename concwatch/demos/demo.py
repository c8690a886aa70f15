"""Demo files: loading and validation."""

import inspect
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import msgspec
from msgspec import Struct

from concwatch.demos.lane import DemoFailed
from concwatch.demos.stage import Play
from concwatch.hosts.host import read_hosts
from concwatch.monitor.workers.catalog import SHOWN, Engine, find_engines
from concwatch.portable.protocol.text import one_line, suggest
from concwatch.ui.look.palette import ALL_THEMES

SHIPPED = Path(__file__).parent / "shipped"
"""The folder of the demos that come with concwatch."""

PROGRAMS = Path(__file__).parent / "programs"
"""The folder of the programs that shipped demos watch."""

PICTURE_SIZE, FILM_SIZE = (120, 40), (100, 36)
"""The usual columns and rows of pictures, and of films, which pages show smaller."""

MIN_SIZE, MAX_SIZE = (60, 20), (400, 150)
"""Smallest and largest terminal of a demo: columns and rows."""


class DemoSettings(Struct):
    """The optional constants of a demo's file."""

    SIZE: str = ""
    THEME: str = ""
    ENGINES: tuple[str, ...] = ()
    HOSTS: dict[str, str] = {}
    OPTIONAL: tuple[str, ...] = ()
    WATCH: tuple[str, ...] = ()


class Demo(Struct, frozen=True):
    """A demo that can be played; `concwatch.demos.stage` documents its file."""

    path: Path
    title: str
    about: str
    play: Play
    size: tuple[int, int] | None
    """Columns and rows; None for the usual ones."""
    theme: str
    engines: Sequence[Engine]
    optional: Sequence[str]
    watch: Sequence[str] = ()
    """The command of a program to watch instead of lanes."""

    @property
    def name(self) -> str:
        """Its name, and the prefix of its pictures' file names."""
        return self.path.stem

    @property
    def filmed(self) -> bool:
        """Whether it calls ``stage.film()``; then the gallery includes a film."""
        return "film" in self.play.__code__.co_names


def parse_size(text: str) -> tuple[int, int]:
    """Parse columns and rows from a text such as ``120x40``.

    Raises:
        ValueError: one line that names ``text`` and the expected format.
    """
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text.strip(), re.ASCII)
    if found:
        size = int(found[1]), int(found[2])
        if all(least <= cells <= most for least, cells, most in zip(MIN_SIZE, size, MAX_SIZE, strict=True)):
            return size
    least, most = (f"{columns}x{rows}" for columns, rows in (MIN_SIZE, MAX_SIZE))
    raise ValueError(
        f'"{text[:40]}" is not a size; expected columns and rows such as "120x40", from {least} to {most}'
    )


def shipped() -> list[Path]:
    """List the files of the shipped demos, sorted by name."""
    return sorted(SHIPPED.glob("*.py"))


def load(name: str) -> Demo:
    """Load a shipped demo by its name, or another one by its path. This runs the file.

    Raises:
        ValueError: one line that names the file, the line in it, and what was expected.
    """
    names = {path.stem: path for path in shipped()}
    path = names.get(name) or Path(name)
    if name not in names and not (path.suffix == ".py" or "/" in name):
        raise ValueError(
            f'unknown demo "{name[:60]}"; expected one of {", ".join(names)}, '
            f"or the path of a .py file{suggest(name[:60], names)}"
        )
    module = ModuleType(path.stem)
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except OSError as error:
        raise ValueError(f'demo file "{path}" cannot be read ({error.strerror or error})') from None
    except (Exception, SystemExit) as error:
        raise ValueError(describe(error, path)) from None
    try:
        return _read(module, path)
    except (ValueError, msgspec.ValidationError) as error:
        raise ValueError(f"{path.name}: {one_line(str(error))}") from None


def _read(module: ModuleType, path: Path) -> Demo:
    """Return the demo that a module defines.

    Raises:
        ValueError: it is not a valid demo.
        msgspec.ValidationError: a constant has a wrong type.
    """
    play = getattr(module, "play", None)
    if not inspect.iscoroutinefunction(play):
        raise ValueError('there is no function "async def play(stage)"')
    settings = msgspec.convert({k: value for k, value in vars(module).items() if k.isupper()}, DemoSettings)
    title, _, about = inspect.cleandoc(module.__doc__ or path.stem).partition("\n")
    if settings.THEME and settings.THEME not in ALL_THEMES:
        raise ValueError(f'unknown theme "{settings.THEME}"{suggest(settings.THEME, ALL_THEMES)}')
    engines = find_engines(settings.ENGINES) if settings.ENGINES else SHOWN
    hosts = read_hosts({name: {"command": command} for name, command in settings.HOSTS.items()})
    if hosts:
        engines = [engine.on(host) for engine in engines for host in hosts.values()]
    unknown = set(settings.OPTIONAL) - {engine.name for engine in engines}
    if unknown:
        raise ValueError(f"OPTIONAL names {', '.join(sorted(unknown))}, but ENGINES does not")
    size = parse_size(settings.SIZE) if settings.SIZE else None
    about = " ".join(about.split())
    watch = _command(settings.WATCH, path.parent)
    return Demo(path, title, about, play, size, settings.THEME, engines, settings.OPTIONAL, watch)


def _command(words: Sequence[str], folder: Path) -> Sequence[str]:
    """Return a command with ``python`` and the files beside the demo, or shipped, replaced by their paths."""
    found = []
    for word in words:
        paths = [path for path in (folder / word, PROGRAMS / word) if word.endswith(".py") and path.is_file()]
        found.append(sys.executable if word == "python" else str(paths[0]) if paths else word)
    return found


def describe(error: BaseException, path: Path) -> str:
    """Return an error as one line that begins with the demo's file and line number."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == str(path)]
    text = str(error)
    if isinstance(error, SyntaxError):
        lines, text = [error.lineno or 1], error.msg
    place = f"{path.name}: line {lines[-1]}" if lines else path.name
    kind = "" if isinstance(error, DemoFailed) else f"{type(error).__name__}: "
    return one_line(f"{place}: {kind}{text}")
