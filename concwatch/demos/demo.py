"""A demo and its file: where it is found, how it is loaded, and what is wrong with it."""

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
from concwatch.lab.catalog import SHOWN, Engine, find
from concwatch.text import nearest, one_line
from concwatch.ui.palette import ALL_THEMES

SHIPPED = Path(__file__).parent / "shipped"
"""The folder of the demos that come with concwatch."""

PROGRAMS = Path(__file__).parent / "programs"
"""The folder of the programs that shipped demos watch."""

LEAST, MOST = (60, 20), (400, 150)
"""Columns and rows that a terminal of a demo can have."""


class Head(Struct):
    """What the file of a demo may set."""

    SIZE: str = "120x40"
    THEME: str = ""
    ENGINES: tuple[str, ...] = ()
    HOSTS: dict[str, str] = {}
    OPTIONAL: tuple[str, ...] = ()
    WATCH: tuple[str, ...] = ()


class Demo(Struct, frozen=True):
    """A demo that can be played; `concwatch.demos.stage` says how its file is written."""

    path: Path
    title: str
    about: str
    play: Play
    size: tuple[int, int]
    theme: str
    engines: Sequence[Engine]
    optional: Sequence[str]
    watch: Sequence[str] = ()
    """The command of a program to watch in place of lanes."""

    @property
    def name(self) -> str:
        """What it and its files are called."""
        return self.path.stem

    @property
    def filmed(self) -> bool:
        """Whether it calls ``stage.film()``: the gallery then has a film of it."""
        return "film" in self.play.__code__.co_names


def parse_size(text: str) -> tuple[int, int]:
    """Return the columns and rows of a text such as ``120x40``.

    Raises:
        ValueError: naming ``text`` and what was expected.
    """
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text.strip(), re.ASCII)
    if found:
        size = int(found[1]), int(found[2])
        if all(least <= cells <= most for least, cells, most in zip(LEAST, size, MOST, strict=True)):
            return size
    least, most = (f"{columns}x{rows}" for columns, rows in (LEAST, MOST))
    raise ValueError(
        f'"{text[:40]}" is not a size: expected columns and rows such as "120x40", from {least} to {most}'
    )


def shipped() -> list[Path]:
    """List the files of the demos that come with concwatch, by name."""
    return sorted(SHIPPED.glob("*.py"))


def load(name: str) -> Demo:
    """Load a shipped demo by its name, or any by the path of its file, which is run.

    Raises:
        ValueError: one line that names the file, the line in it, and what was expected.
    """
    names = {path.stem: path for path in shipped()}
    path = names.get(name) or Path(name)
    if name not in names and not (path.suffix == ".py" or "/" in name):
        raise ValueError(
            f'unknown demo "{name[:60]}": expected one of {", ".join(names)}, '
            f"or the path of a .py file{nearest(name[:60], names)}"
        )
    module = ModuleType(path.stem)
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}: expected the file of a demo") from None
    except (Exception, SystemExit) as error:
        raise ValueError(describe(error, path)) from None
    try:
        return _read(module, path)
    except (ValueError, msgspec.ValidationError) as error:
        raise ValueError(f"{path.name}: {one_line(str(error))}") from None


def _read(module: ModuleType, path: Path) -> Demo:
    """Return the demo that a module describes.

    Raises:
        ValueError: it describes none.
        msgspec.ValidationError: the same.
    """
    play = getattr(module, "play", None)
    if not inspect.iscoroutinefunction(play):
        raise ValueError('expected a function "async def play(stage)"')
    head = msgspec.convert({key: value for key, value in vars(module).items() if key.isupper()}, Head)
    title, _, about = inspect.cleandoc(module.__doc__ or path.stem).partition("\n")
    if head.THEME and head.THEME not in ALL_THEMES:
        raise ValueError(f'unknown theme "{head.THEME}"{nearest(head.THEME, ALL_THEMES)}')
    engines = find(head.ENGINES) if head.ENGINES else SHOWN
    hosts = read_hosts({name: {"command": command} for name, command in head.HOSTS.items()})
    if hosts:
        engines = [engine.on(host) for engine in engines for host in hosts.values()]
    strangers = set(head.OPTIONAL) - {engine.name for engine in engines}
    if strangers:
        raise ValueError(f"OPTIONAL: expected lanes of ENGINES, not {', '.join(sorted(strangers))}")
    size = parse_size(head.SIZE)
    about = " ".join(about.split())
    watch = _command(head.WATCH, path.parent)
    return Demo(path, title, about, play, size, head.THEME, engines, head.OPTIONAL, watch)


def _command(words: Sequence[str], folder: Path) -> Sequence[str]:
    """Return a command whose ``python`` is this one, and whose files stand beside the demo or are shipped."""
    found = []
    for word in words:
        paths = [path for path in (folder / word, PROGRAMS / word) if word.endswith(".py") and path.is_file()]
        found.append(sys.executable if word == "python" else str(paths[0]) if paths else word)
    return found


def describe(error: BaseException, path: Path) -> str:
    """Return what went wrong as one line that begins with the demo's file and the line in it."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == str(path)]
    text = str(error)
    if isinstance(error, SyntaxError):
        lines, text = [error.lineno or 1], error.msg
    place = f"{path.name}: line {lines[-1]}" if lines else path.name
    kind = "" if isinstance(error, DemoFailed) else f"{type(error).__name__}: "
    return one_line(f"{place}: {kind}{text}")
