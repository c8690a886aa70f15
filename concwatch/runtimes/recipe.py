"""The recipes and the sources from which a bridge builds a worker in another language on its host."""

import io
import zipfile
from collections.abc import Sequence
from typing import Any

from concwatch.portable.build.runtime import Runtime

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # constant, so that the same sources give the same archive


def recipe(ways: Sequence[Runtime]) -> tuple[list[dict[str, Any]], bytes]:
    """Return the fields of each of ``ways``, for `Runtime.from_fields`, and a zip file of their sources."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(dict(file for way in ways for file in way.source_files()).items()):
            archive.writestr(zipfile.ZipInfo(name, _TIMESTAMP), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return [way.fields() for way in ways], out.getvalue()
