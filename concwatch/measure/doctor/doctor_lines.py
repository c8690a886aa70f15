"""The text of ``concwatch doctor``: lines of limited width, as pieces with a tone."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from concwatch.measure.doctor.advice import Advice
from concwatch.measure.doctor.capacity import (
    CONNECTING,
    UNKNOWN,
    EngineForecast,
    MachineCapacity,
    ThreadLimit,
)
from concwatch.measure.doctor.examination import Examination, HostExamination
from concwatch.measure.doctor.proof import Proof
from concwatch.monitor.metrics.metrics import FORECAST
from concwatch.portable.protocol.units import format_bytes, format_count, format_percent, format_seconds

WIDTH, LEAST_WIDTH = 80, 60
"""The maximum width in columns, and the least for a narrower terminal."""

LABEL = 17
"""Columns of the labels on the left."""

TASKS, LIMIT, CELL = 13, 26, 11
"""Columns of the tasks of an engine, of what limits them, and of other numbers in the tables."""

Pieces = Sequence[tuple[str, str]]
"""Pieces of text, each with its tone: heading, good, caution, bad, quiet, copy (a command), or nothing."""


COMMAND = re.compile(
    r"(?:sudo|pip install|apt install|brew install|curl|docker run|export) [^;:,]*"
    r"|concwatch [a-z]+|as in \S+|set \S+"
)
"""The commands in a sentence, which are never wrapped in their middle."""


def _wrap(text: str, room: int) -> list[str]:
    """Wrap a sentence, but none of its commands."""
    kept = COMMAND.sub(lambda command: command[0].replace(" ", "\xa0"), text)
    lines = textwrap.wrap(kept, room, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in lines]


def rows(examination: Examination, width: int = WIDTH) -> Iterator[Pieces]:
    """Yield the lines about this machine, of up to ``width`` columns if no command is longer."""
    yield from _machine("Machine", examination.machine, width)
    yield from _capacity(examination, width)
    yield ()
    yield (("Terminal", "heading"),)
    if not examination.terminal:
        yield (("  shows the screen without restrictions", "good"),)
    for problem in examination.terminal:
        yield from (((f"  {line}", "caution"),) for line in _wrap(problem, width - 2))
    yield ()
    lacking = ", ".join(f"{name} ({extra})" for name, extra in examination.not_installed.items())
    yield from _facts(
        width,
        "Versions",
        ("concwatch", f"{examination.concwatch} on {examination.machine.python}"),
        (
            "not installed",
            lacking or "nothing",
            "install with pip install 'concwatch[EXTRA]'" if lacking else "",
        ),
    )
    yield ()
    yield from _advice(examination.for_more, width)


def host_rows(found: HostExamination, width: int = WIDTH) -> Iterator[Pieces]:
    """Yield the lines about another host."""
    if found.machine is None:
        yield ((f"{found.host}  ", "heading"), (found.problem or "", "bad"))
        return
    yield from _machine(found.host, found.machine, width)
    yield from _capacity(found, width)


def _capacity(found: Examination | HostExamination, width: int) -> Iterator[Pieces]:
    yield ()
    yield from _limits(found.limits, width)
    yield ()
    yield from _engines(found.engines, width)


def _facts(width: int, heading: str, *facts: tuple[str, ...]) -> Iterator[Pieces]:
    """Yield the lines of facts: label, text, and optionally a note and the tone of the text."""
    room = width - LABEL - 2
    yield ((heading, "heading"),)
    for fact in facts:
        label, text, note, tone = (*fact, "", "")[:4]
        beside = f"  {note}" if note and len(text) + 2 + len(note) <= room else ""
        lines = [(line, tone) for line in _wrap(text, room)]
        lines += [(line, "quiet") for line in _wrap(note, room) if not beside]
        for number, line in enumerate(lines):
            yield ((f"  {'' if number else label:{LABEL}}", "quiet"), line, (beside, "quiet"))


def _machine(heading: str, machine: MachineCapacity, width: int) -> Iterator[Pieces]:
    total, available = format_bytes(machine.memory_total), format_bytes(machine.memory_available)
    share = format_percent(machine.budget / max(1, machine.memory_available))
    group = f"limited by the control group {machine.memory_group}" if machine.memory_group else ""
    quota = f"a control group allows {machine.quota:.3g} of them" if machine.quota is not None else ""
    return _facts(
        width,
        heading,
        ("system", f"{machine.system}, {machine.processor}, {machine.python}"),
        ("memory", f"{available} available of {total}", group),
        ("budget", format_bytes(machine.budget), f"for all workers: {share} of the available memory"),
        ("cores", str(machine.cores), quota),
        ("open files", *_open_files(machine.open_files, machine.open_files_hard)),
    )


def _open_files(soft: int | None, hard: int | None) -> tuple[str, str]:
    """Return the limit and what it means for tasks; two empty strings, and so no line, if it is unknown."""
    if soft is None:
        return "", ""
    maximum = "any number" if hard is None else format_count(hard)
    note = "an http task uses one" if soft == hard else f"raised to {maximum} for the workload http"
    return format_count(soft), note


def _limits(limits: Sequence[ThreadLimit], width: int) -> Iterator[Pieces]:
    least = min((limit.threads for limit in limits if limit.threads is not None), default=None)
    names = max(LABEL, *(len(limit.name) for limit in limits))
    first = "  ◂ first"
    shown = max(0, min(3, (width - names - 2 - CELL - len(first)) // CELL))  # the last ones are kept longest
    heads = "".join(f"{name:>{CELL}}" for name in [*("value", "used", "free")[3 - shown :], "threads"])
    yield ((f"{'Limits on threads':{names + 2}}", "heading"), (heads, "quiet"))
    for limit in limits:
        start = (f"  {limit.name:{names}}", "quiet")
        if limit.value is None:
            yield (start, (f"{limit.note:>{CELL}}", "caution" if limit.note == UNKNOWN else "quiet"))
            continue
        numbers = (limit.value, limit.used, limit.free)[3 - shown :]
        cells = "".join(f"{_in_unit(limit.name, n or 0):>{CELL}}" for n in numbers)
        mark, tone = (first, "heading") if limit.threads == least else ("", "")
        yield (start, (cells, ""), (f"{format_count(limit.threads or 0):>{CELL}}", tone), (mark, "caution"))


def _in_unit(limit: str, value: int) -> str:
    return format_bytes(value) if "memory" in limit else format_count(value)


def _engines(engines: Sequence[EngineForecast], width: int) -> Iterator[Pieces]:
    full = width >= LABEL + 2 + TASKS + LIMIT + CELL
    heads = f"{'tasks':>{TASKS}}  {'limited by':{LIMIT - 2}}" + (f"{'per task':>{CELL}}" if full else "")
    yield ((f"{'Engines & forecast':{LABEL + 2}}", "heading"), (heads.rstrip(), "quiet"))
    for row in engines:
        start = (f"  {_named(row.engine, row.workload):{LABEL}}", "quiet")
        if row.missing:
            for line in _wrap(f"unavailable ({row.missing})", width - LABEL - 4):
                yield (start, (f"  {line}", "bad"))
                start = (" " * (LABEL + 2), "")
            continue
        limit = row.limit if row.sure else "limits on threads unknown"
        weight = format_bytes(row.bytes_per_task) if row.bytes_per_task > 1 else "–"
        rest = f"{FORECAST.mark if row.forecast else '':2}{limit:{LIMIT - 2}}"
        yield (
            start,
            (f"{format_count(row.tasks):>{TASKS}}", "heading"),
            (rest + (f"{weight:>{CELL}}" if full else ""), ""),
        )
    if any(row.forecast and not row.missing for row in engines):
        yield from (
            ((f"  {line}", "quiet"),) for line in _wrap(f"{FORECAST.mark} {FORECAST.explanation}", width - 2)
        )


def _named(names: str, workload: str) -> str:
    return f"{names} {workload}" if workload in CONNECTING else names


def _advice(advices: Sequence[Advice], width: int) -> Iterator[Pieces]:
    yield (("To run more", "heading"),)
    if not advices:
        yield (("  no way to run more is known", ""),)
    for advice in advices:
        whose = f"{_named(', '.join(advice.engines), advice.workload)}: {advice.limit} comes first"
        yield from (((f"  {line}", ""),) for line in _wrap(whose, width - 2))
        yield from (((f"    {command}", "copy"),) for command in advice.commands)
        if advice.tasks is not None:
            after = "" if advice.then in (None, advice.limit) else f", limited by {advice.then}"
            result = f"→ {format_count(advice.tasks)} tasks of {advice.engines[0]}{after}"
            yield from (((f"    {line}", "quiet"),) for line in _wrap(result, width - 4))


def proof_rows(proof: Proof, width: int = WIDTH) -> Iterator[Pieces]:
    """Yield the lines about the test of the forecast."""
    limit = proof.limit or "none was reached"
    if proof.limit and proof.limit_value is not None:
        limit += f" ({_in_unit(proof.limit, proof.limit_value)})"
    same = "as forecast" if proof.limit == proof.forecast_limit else "not the one forecast"
    took = "" if proof.seconds is None else f"after {format_seconds(proof.seconds)}"
    left = "nothing: the worker has ended" if proof.ended else "a worker that has not ended yet"
    return _facts(
        width,
        "Proof",
        ("forecast", f"{format_count(proof.forecast)} threads, limited by {proof.forecast_limit}"),
        ("stopped early", proof.reason or "", "", "bad"),
        ("started", f"{format_count(proof.standing)} of {format_count(proof.asked)} requested", took),
        ("limit", limit, same if proof.limit else ""),
        ("a thread", format_bytes(proof.memory_per_thread) if proof.memory_per_thread else UNKNOWN),
        ("difference", verdict(proof), "", "good" if proof.holds else "bad"),
        ("left running", left, "", "" if proof.ended else "bad"),
    )


def verdict(proof: Proof) -> str:
    """Return in one line whether the forecast holds."""
    more = f"{abs(proof.difference) * 100:.1f} % {'more' if proof.difference >= 0 else 'fewer'} than "
    what = "forecast" if proof.expected == proof.forecast else f"the {format_count(proof.asked)} requested"
    return f"{more}{what}: the forecast {'holds' if proof.holds else 'does not hold'}"
