"""What the doctor has found, for a person: rows of pieces, none longer than 80 columns."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from concwatch.doctor.advice import Advice
from concwatch.doctor.examination import Examination
from concwatch.doctor.forecasts import FETCHES, EngineForecast
from concwatch.doctor.machine import Machine
from concwatch.doctor.proof import Proof
from concwatch.doctor.thread_limits import ThreadLimit, first_limit
from concwatch.doctor.versions import Versions
from concwatch.lab.limits import DEFAULT_SHARE
from concwatch.layout import Piece
from concwatch.units import format_bytes, format_count, format_percent, format_seconds

WIDTH = 80
LABEL = 17
"""Columns of what stands on the left."""

UNKNOWN = "unknown"
OVERCOMMIT = {
    0: "the system guesses (vm.overcommit_memory 0)",
    1: "all is promised (vm.overcommit_memory 1)",
    2: "no more is promised than there is (vm.overcommit_memory 2)",
}

Row = Sequence[Piece]


def rows(examination: Examination) -> Iterator[Row]:
    """Write all of it."""
    groups = (
        ("Machine", _machine(examination.machine)),
        ("", _limits(examination.limits)),
        ("", _engines(examination.engines)),
        ("Terminal", _terminal(examination.terminal)),
        ("Versions", _versions(examination.versions)),
        ("For more", _advice(examination.for_more)),
    )
    for number, (name, group) in enumerate(groups):
        if number:
            yield ()
        if name:
            yield (Piece(name, "heading"),)
        yield from group


def _line(label: str, text: str, note: str = "", tone: str = "") -> Iterator[Row]:
    """Write one fact, with what explains it beside or below it."""
    room = WIDTH - LABEL - 2
    start = Piece(f"  {label:{LABEL}}", "quiet")
    if not note:
        yield from _wrapped(start, text, tone)
    elif len(text) + 2 + len(note) <= room:
        yield (start, Piece(text, tone), Piece(f"  {note}", "quiet"))
    else:
        yield from _wrapped(start, text, tone)
        yield from _wrapped(Piece(" " * (LABEL + 2)), note, "quiet")


def _wrapped(start: Piece, text: str, tone: str = "") -> Iterator[Row]:
    for number, line in enumerate(textwrap.wrap(text, WIDTH - LABEL - 2) or [""]):
        yield (Piece(" " * (LABEL + 2)) if number else start, Piece(line, tone))


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else format_count(value)


def _machine(machine: Machine) -> Iterator[Row]:
    yield from _line("system", f"{machine.system} {machine.kernel}, {machine.architecture}")
    bound = "" if machine.memory_bound == "memory" else f"bound by the control group {machine.memory_group}"
    total, available = format_bytes(machine.memory_total), format_bytes(machine.memory_available)
    yield from _line("memory", f"{available} available of {total}", bound)
    share = f"for all workers together: {format_percent(DEFAULT_SHARE)} of what is available"
    yield from _line("budget", format_bytes(machine.budget), share)
    yield from _line("swap", _swap(machine))
    if machine.overcommit is not None:
        yield from _line("overcommit", OVERCOMMIT.get(machine.overcommit, str(machine.overcommit)))
    quota = "" if machine.quota is None else f"a control group allows the time of {machine.quota:.3g}"
    yield from _line("cores", f"{machine.cores} of {_count(machine.cores_all)}", quota)
    stack = UNKNOWN if machine.stack is None else format_bytes(machine.stack)
    yield from _line("stack", stack, "of address space a thread; what it touches is memory")
    yield from _line("open files", *_open_files(machine))


def _swap(machine: Machine) -> str:
    if machine.swap_total is None or machine.swap_free is None:
        return UNKNOWN
    if not machine.swap_total:
        return "none"
    return f"{format_bytes(machine.swap_free)} free of {format_bytes(machine.swap_total)}"


def _open_files(machine: Machine) -> tuple[str, str]:
    soft, hard = machine.open_files, machine.open_files_hard
    if soft is None and hard is None:
        return "no limit known", ""
    raised = "no limit" if hard is None else format_count(hard)
    note = "a task that fetches takes one" if soft == hard else f"workers that fetch raise it to {raised}"
    return _count(soft), note


def _limits(limits: Sequence[ThreadLimit]) -> Iterator[Row]:
    first = first_limit(limits)
    names = max(LABEL, *(len(limit.name) for limit in limits))
    heads = [f"{name:>11}" for name in ("value", "used", "free", "threads")]
    yield (Piece(f"{'Limits on threads':{names + 2}}", "heading"), Piece("".join(heads), "quiet"))
    for limit in limits:
        start = Piece(f"  {limit.name:{names}}", "quiet")
        if limit.value is None:
            yield (start, Piece(f"{limit.note:>11}", "doubt" if limit.note == UNKNOWN else "quiet"))
            continue
        form = format_bytes if "memory" in limit.name else format_count
        cells = "".join(f"{form(value or 0):>11}" for value in (limit.value, limit.used, limit.free))
        binds = limit is first
        yield (
            start,
            Piece(cells),
            Piece(f"{_count(limit.threads):>11}", "heading" if binds else ""),
            Piece("  ◂ first" if binds else "", "doubt"),
        )


def _engines(engines: Sequence[EngineForecast]) -> Iterator[Row]:
    heads = f"{'tasks':>13}  {'then':24}{'a task':>12}"
    yield (Piece(f"{'Engines & forecast':{LABEL + 2}}", "heading"), Piece(heads, "quiet"))
    for row in engines:
        name = f"{row.engine} {row.workload}" if row.workload == FETCHES else row.engine
        start = Piece(f"  {name:{LABEL}}", "quiet")
        if row.missing:
            yield from _wrapped(start, f"  cannot: {row.missing}", "bad")
            continue
        weight = format_bytes(row.bytes_per_task) if row.bytes_per_task > 1 else "–"
        yield (
            start,
            Piece(f"{format_count(row.tasks):>13}", "heading"),
            Piece(f"  {row.wall if row.sure else 'limits on threads unknown':24}".ljust(26)),
            Piece(f"{weight:>12}", "quiet"),
        )


def _terminal(problems: Sequence[str]) -> Iterator[Row]:
    if not problems:
        yield (Piece("  has what the screen needs", "good"),)
    for problem in problems:
        yield from ((Piece(f"  {line}", "doubt"),) for line in textwrap.wrap(problem, WIDTH - 2))


def _versions(versions: Versions) -> Iterator[Row]:
    yield from _line("concwatch", f"{versions.concwatch} on {versions.python}")
    lacking = ", ".join(f"{name} ({extra})" for name, extra in versions.missing.items())
    if lacking:
        yield from _line("not installed", lacking, "each by pip install 'concwatch[NAME]'")


def _advice(advices: Iterable[Advice]) -> Iterator[Row]:
    found = list(advices)
    if not found:
        yield (Piece("  nothing is known that would help"),)
    for advice in found:
        names = ", ".join(advice.engines) + (f" {advice.workload}" if advice.workload == FETCHES else "")
        *lines, last = textwrap.wrap(f"{names}:", WIDTH - 4 - len(f"{advice.wall} comes first"))
        yield from ((Piece(f"  {line}", "quiet"),) for line in lines)
        yield (Piece(f"  {last} ", "quiet"), Piece(f"{advice.wall} comes first"))
        for command in advice.commands:
            yield (Piece(f"    {command}", "copy"),)
        if advice.tasks is not None:
            after = "" if advice.then in (None, advice.wall) else f", and then {advice.then}"
            yield (Piece(f"    → {format_count(advice.tasks)} tasks of {advice.engines[0]}{after}", "quiet"),)


def proof_rows(proof: Proof) -> Iterator[Row]:
    """Write what became of the proof."""
    yield (Piece("Proof", "heading"),)
    foreseen = f"{format_count(proof.forecast)} threads, then {proof.forecast_wall}"
    yield from _line("forecast", foreseen)
    if proof.reason:
        yield from _line("broke off", proof.reason, tone="bad")
    took = "" if proof.seconds is None else f"after {format_seconds(proof.seconds)}"
    yield from _line(
        "stood", f"{format_count(proof.standing)} of {format_count(proof.asked)} asked for", took
    )
    yield from _line("wall", *_wall(proof))
    yield from _line("a thread", _thread(proof))
    tone = "good" if proof.holds else "bad"
    yield from _line("difference", verdict(proof), tone=tone)
    if proof.ended:
        yield from _line("left behind", "nothing: the worker has ended")
    else:
        yield from _line("left behind", "a worker that the system has not ended yet", tone="bad")


def verdict(proof: Proof) -> str:
    """Say in one line how the forecast has done."""
    more = f"{abs(proof.difference) * 100:.1f} % {'more' if proof.difference >= 0 else 'fewer'} than "
    what = "forecast" if proof.expected == proof.forecast else f"the {format_count(proof.asked)} asked for"
    return f"{more}{what}: the forecast {'holds' if proof.holds else 'does not hold'}"


def _wall(proof: Proof) -> tuple[str, str]:
    if proof.wall is None:
        return "none was met", ""
    value = "" if proof.wall_value is None else f" ({_value(proof.wall, proof.wall_value)})"
    same = proof.wall == proof.forecast_wall
    return f"{proof.wall}{value}", "as forecast" if same else "another than forecast"


def _value(wall: str, value: int) -> str:
    return format_bytes(value) if "memory" in wall else format_count(value)


def _thread(proof: Proof) -> str:
    parts = []
    if proof.rss_per_thread is not None:
        parts.append(f"{format_bytes(proof.rss_per_thread)} of RSS")
    if proof.memory_per_thread is not None:
        parts.append(f"{format_bytes(proof.memory_per_thread)} of the machine's memory")
    if proof.maps_per_thread is not None:
        parts.append(f"{proof.maps_per_thread:.2f} maps")
    return ", ".join(parts) or UNKNOWN
