"""SVG drawn as PNG by resvg, with the program's own fonts."""

import importlib.util
import re

from concwatch.pictures.fonts import FAMILY, FILES, FOLDER, is_drawn

HOW_TO_GET = "pip install 'concwatch[shots]'"


class PicturesMissing(Exception):
    """The packages that draw are not installed; the message says in one line how to get them."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not installed, which draws PNG and GIF: {HOW_TO_GET}")


def can_draw() -> bool:
    """Return whether resvg is installed, without loading it."""
    return importlib.util.find_spec("resvg_py") is not None


def draw(svg: str, zoom: float = 1.0) -> bytes:
    """Return ``svg`` drawn as the bytes of a PNG file.

    Fonts of the system are looked at for characters that the program's own fonts lack, and for no others: so
    pictures look the same everywhere, and reading hundreds of fonts takes no time.

    Raises:
        PicturesMissing: resvg is not installed.
        ValueError: ``svg`` is none.
    """
    try:
        import resvg_py  # of the extra "shots"
    except ImportError:
        raise PicturesMissing("resvg-py") from None
    return resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=zoom,
        skip_system_fonts=all(map(is_drawn, set(_written(svg)))),
        font_files=[str(FOLDER / name) for name in FILES],
        font_family=FAMILY,
        monospace_family=FAMILY,
        sans_serif_family=FAMILY,
    )


def _written(svg: str) -> str:
    """Return what stands between tags."""
    return "".join(re.findall(r">([^<]+)", svg))
