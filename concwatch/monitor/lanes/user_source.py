"""Find a function of the user in its source, without running it."""

import ast
import importlib.util
from pathlib import Path

from concwatch.portable.protocol.text import suggest
from concwatch.portable.protocol.workloads import USER, Workload


def why_not_found(workload: Workload, folder: Path) -> str | None:
    """Return in one line why the function of a workload is not in the source of its module, or None.

    A module that is not in ``folder`` is only looked up, as its names cannot be known without importing it.
    """
    if workload.word != USER:
        return None
    module, function = map(str, workload.values)
    parts = module.split(".")
    path = folder.joinpath(*parts)
    source = next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)
    if source is None:
        known = (folder / parts[0]).is_dir() or importlib.util.find_spec(parts[0]) is not None
        return None if known else f'no module "{module}" in the working directory, or installed'
    try:
        tree = ast.parse(source.read_bytes(), str(source))
    except (OSError, SyntaxError, ValueError) as error:
        return f'module "{module}": {error}'.splitlines()[0]
    names = {name for statement in tree.body for name in _bound(statement)}
    first = function.partition(".")[0]
    if first in names or "*" in names or any(isinstance(each, ast.If | ast.Try) for each in tree.body):
        return None
    return f'module "{module}" has no "{first}"{suggest(first, names)}'


def _bound(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a module binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(each.asname or each.name).partition(".")[0] for each in statement.names]
    return [
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
