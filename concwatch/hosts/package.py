"""The archive that is sent to another host: the package `concwatch.portable`."""

import io
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]

WING = PACKAGE / "portable"
"""What runs on other hosts; it is sent as it is."""

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def _files() -> list[Path]:
    return [PACKAGE / "__init__.py", *sorted(WING.rglob("*.py"))]


def _code(source: str) -> str:
    """Return source code without comments and the text of docstrings: each line keeps its number."""
    import ast  # not at the top, as below
    import tokenize

    lines = source.splitlines(keepends=True)
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip() + "\n"
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                kept = lines[first - 1][: node.col_offset] + '""\n'
                lines[first - 1 : last] = [kept, *["\n"] * (last - first)]
    return "".join(lines)


@cache
def archive() -> bytes:
    """Return the archive as a zip file, reproducible byte for byte."""
    import zipfile  # not at the top: it would delay the first frame

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as package:
        for path in _files():
            name = zipfile.ZipInfo(f"concwatch/{path.relative_to(PACKAGE)}", _TIMESTAMP)
            package.writestr(name, _code(path.read_text()))
    return out.getvalue()


@cache
def _compressed() -> bytes:
    """Return the archive as it is sent: compressed as a whole, a quarter smaller than file by file."""
    import zlib

    return zlib.compress(archive(), 9)


@cache
def _boot() -> bytes:
    return f"size = {len(_compressed())}\n".encode() + (WING / "bridge" / "boot.py").read_bytes()


def code() -> str:
    """Return the code for ``python3 -c``: one word that works with or without a shell between.

    ``ssh`` passes its arguments through a shell, which removes the quotes; ``docker exec`` does not. Either
    way the code assigns to ``f``, once a set and once an f-string, and runs what standard input begins with.
    """
    return f"""f=f'={{exec(__import__("sys").stdin.buffer.read({len(_boot())}))}}'"""


def payload() -> bytes:
    """Return what is written to standard input before the first line of the wire."""
    return _boot() + _compressed()
