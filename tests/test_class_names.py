"""A class name means one thing in the whole tree."""

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "concwatch"


def test_no_two_modules_define_a_class_of_the_same_name():
    places = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        # Nested classes are qualified by the outer one, as Textual's messages are.
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(PACKAGE).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
