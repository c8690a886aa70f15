"""The file of a demo: where it is found, how it is read, and what is wrong with it."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from concwatch.demos.acts import lane_problem, theme_problem
from concwatch.demos.demo import Demo, Head, parse_size
from concwatch.demos.kinds import KINDS, TABLES
from concwatch.demos.looks import NAME, Shot
from concwatch.demos.step import Step, text_problem
from concwatch.lab.catalog import SHOWN, find
from concwatch.one_line import one_line
from concwatch.toml_files import explain, read_named, read_toml, shipped_files
from concwatch.worker.workloads import nearest

SHIPPED = Path(__file__).parent / "shipped"
"""The folder of the demos that come with concwatch."""


_STEP = re.compile(r'key "step\[(\d+)\]"')


def _counted(found: re.Match[str]) -> str:
    """Name a step as all other messages do, which count from 1."""
    return f"step {int(found[1]) + 1}"


def shipped() -> list[Path]:
    """List the files that come with concwatch, by name."""
    return shipped_files(SHIPPED)


def load(name: str) -> Demo:
    """Read a shipped demo by its name, or anybody's by the path of its file.

    Raises:
        ValueError: one line that names the file, the step and what was expected.
    """
    return decode(*read_named(name, SHIPPED, "a demo"))


def decode(data: bytes, file: str) -> Demo:
    """Read a demo from the text of its file.

    Raises:
        ValueError: one line that names the file, the step and what was expected.
    """
    plain = read_toml(data, file)
    try:
        head = msgspec.convert(plain, Head)
    except msgspec.ValidationError as error:
        told = _STEP.sub(_counted, explain(str(error), {"": Head}))
        raise ValueError(f"{file}: {one_line(told)}") from None
    except RecursionError:
        raise ValueError(f"{file}: not a demo: tables within tables without end") from None
    for problem in _problems(head):
        raise ValueError(f"{file}: {one_line(problem)}")
    engines = [engine.name for engine in (find(head.engines) if head.engines else SHOWN)]
    for name in head.optional:
        for problem in lane_problem(name, engines):
            raise ValueError(f'{file}: key "optional": {one_line(problem)}')
    steps = []
    for number, table in enumerate(head.step, 1):
        try:
            steps.append(_step(table, engines))
        except ValueError as error:
            raise ValueError(f"{file}: step {number}: {one_line(str(error))}") from None
    for problem in _shot_problems(steps):
        raise ValueError(f"{file}: {one_line(problem)}")
    return Demo(
        file=file,
        name=head.name,
        title=" ".join(head.title.split()),
        about=" ".join(head.about.split()),
        size=parse_size(head.size),
        theme=head.theme,
        engines=engines,
        optional=head.optional,
        film=head.film,
        steps=tuple(steps),
    )


def _problems(head: Head) -> Iterable[str]:
    """Say what is wrong with the head beyond types, each as one line that begins with the key."""
    for key, text in (("title", head.title), ("about", head.about)):
        for problem in text_problem(text):
            yield f'key "{key}": {problem}'
    if not NAME.fullmatch(head.name):
        yield f'key "name": "{head.name[:60]}": expected small letters, digits and hyphens'
    try:
        parse_size(head.size)
    except ValueError as error:
        yield f'key "size": {error}'
    try:
        find(head.engines)
    except ValueError as error:
        yield f'key "engines": {error}'
    for problem in theme_problem(head.theme) if head.theme else ():
        yield f'key "theme": {problem}'
    if not head.step:
        yield 'key "step": expected one at least'


def _step(table: dict[str, Any], lanes: Sequence[str]) -> Step:
    """Read one step.

    Raises:
        ValueError: one line that says what is wrong with it.
    """
    kinds = [key for key in table if key in KINDS]
    if not kinds:
        found = next(iter(table), "")
        what = f'unknown kind of step "{found[:40]}"' if found else "no kind of step"
        raise ValueError(f"{what}: expected one of {', '.join(KINDS)}{nearest(found[:40], KINDS)}")
    if len(kinds) > 1:
        raise ValueError(f'"{kinds[0]}" and "{kinds[1]}" in one step: expected a step for each')
    kind = kinds[0]
    try:
        step = msgspec.convert(table, KINDS[kind])
    except msgspec.ValidationError as error:
        raise ValueError(explain(str(error), {"": KINDS[kind], **TABLES})) from None
    try:
        for problem in step.problems(lanes):
            raise ValueError(problem)
    except ValueError as error:
        raise ValueError(f"{kind}: {error}") from None
    return step


def _shot_problems(steps: Sequence[Step]) -> Iterable[str]:
    shots: set[str] = set()
    for number, step in enumerate(steps, 1):
        if isinstance(step, Shot):
            if step.shot in shots:
                yield f'step {number}: shot: a second "{step.shot}": expected another name'
            shots.add(step.shot)
