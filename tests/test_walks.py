"""The ways through the program that README describes lead through functions that exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"^\d+\. \[`[^`]+`\]\(([^)]+)\) `([^`]+)`", re.MULTILINE)
MOST = 12
"""Places of one way."""


def functions(path):
    """Return the qualified names of the functions and methods of a file."""
    found = set()
    for node in ast.parse(path.read_bytes()).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        found |= {
            prefix + each.name for each in inside if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        }
    return found


def test_each_place_of_a_way_exists_and_no_way_is_long():
    sections = re.split(r"(?m)^### ", (ROOT / "README.md").read_text(encoding="utf-8"))
    ways = [PLACE.findall(section) for section in sections if section.startswith("The way of ")]
    assert ways
    for places in ways:
        assert 0 < len(places) <= MOST
        for path, name in places:
            assert name in functions(ROOT / path), f"{path}: {name}"
