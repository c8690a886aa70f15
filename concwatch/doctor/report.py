"""What the doctor has found, for a person: rows of pieces, none longer than 80 columns."""

import textwrap
from collections.abc import Callable, Iterator, Sequence

from concwatch.doctor.advice import Advice
from concwatch.doctor.examination import Examination, HostExamination, Versions
from concwatch.doctor.forecasts import FETCHES, EngineForecast
from concwatch.doctor.machine import Machine
from concwatch.doctor.proof import Proof
from concwatch.system.thread_limits import UNKNOWN, ThreadLimit, first_limit
from concwatch.units import format_bytes, format_count, format_percent, format_seconds

WIDTH = 80
LABEL = 17
"""Columns of what stands on the left."""

OVERCOMMIT = (
    "the system guesses (vm.overcommit_memory 0)",
    "all is promised (vm.overcommit_memory 1)",
    "no more is promised than there is (vm.overcommit_memory 2)",
)

Pieces = Sequence[tuple[str, str]]
"""Pieces of text, each with its tone: heading, good, doubt, bad, quiet, copy (a command), or nothing."""


def rows(examination: Examination) -> Iterator[Pieces]:
    """Yield all of it."""
    for group in (
        _machine(examination.machine),
        _limits(examination.limits),
        _engines(examination.engines),
        _terminal(examination.terminal),
        _versions(examination.versions),
    ):
        yield from group
        yield ()
    yield from _advice(examination.for_more)


def _facts(heading: str, *facts: tuple[str, ...]) -> Iterator[Pieces]:
    """Yield facts that have a text: label, text, and if need be what explains it and the tone of the text."""
    room = WIDTH - LABEL - 2
    yield ((heading, "heading"),)
    for fact in facts:
        label, text, note, tone = (*fact, "", "")[:4]
        beside = f"  {note}" if note and len(text) + 2 + len(note) <= room else ""
        lines = [(line, tone) for line in textwrap.wrap(text, room)]
        lines += [(line, "quiet") for line in textwrap.wrap(note, room) if not beside]
        for number, line in enumerate(lines):
            yield ((f"  {'' if number else label:{LABEL}}", "quiet"), line, (beside, "quiet"))


def _known(value: int | None, form: Callable[[float], str] = format_count) -> str:
    return UNKNOWN if value is None else form(value)


def _machine(machine: Machine) -> Iterator[Pieces]:
    total, available = format_bytes(machine.memory_total), format_bytes(machine.memory_available)
    group = f"bound by the control group {machine.memory_group}" if machine.memory_group else ""
    share = format_percent(machine.budget / max(1, machine.memory_available))
    swap = "none" if machine.swap_total == 0 else _known(machine.swap_total, format_bytes)
    if machine.swap_total:
        swap = f"{_known(machine.swap_free, format_bytes)} free of {swap}"
    quota = "" if machine.quota is None else f"a control group allows the time of {machine.quota:.3g}"
    soft, hard = (
        "no limit" if n is None else format_count(n) for n in (machine.open_files, machine.open_files_hard)
    )
    raised = "a task that fetches takes one" if soft == hard else f"workers that fetch raise it to {hard}"
    stack = _known(machine.stack, format_bytes)
    return _facts(
        "Machine",
        ("system", f"{machine.system} {machine.kernel}, {machine.architecture}"),
        ("memory", f"{available} available of {total}", group),
        ("budget", format_bytes(machine.budget), f"for all workers together: {share} of what is available"),
        ("swap", swap),
        ("overcommit", UNKNOWN if machine.overcommit is None else OVERCOMMIT[machine.overcommit]),
        ("cores", f"{machine.cores} of {_known(machine.cores_all)}", quota),
        ("stack", stack, "of address space a thread; what it touches is memory"),
        ("open files", soft, raised),
    )


def host_rows(found: HostExamination) -> Iterator[Pieces]:
    """Yield the lines about another host."""
    machine = found.machine
    if machine is None:
        yield ((f"{found.host}  ", "heading"), (found.problem or "", "bad"))
        return
    total, available = format_bytes(machine.memory_total), format_bytes(machine.memory_available)
    group = f"bound by the control group {machine.memory_group}" if machine.memory_group else ""
    yield from _facts(
        found.host,
        ("system", f"{machine.system}, {machine.processor}, {machine.python}"),
        ("memory", f"{available} available of {total}", group),
        ("budget", format_bytes(found.budget), "for all workers together"),
        ("cores", str(machine.cores)),
    )
    yield ()
    yield from _limits(found.limits)
    yield ()
    yield from _engines(found.engines)


def _limits(limits: Sequence[ThreadLimit]) -> Iterator[Pieces]:
    first = first_limit(limits)
    names = max(LABEL, *(len(limit.name) for limit in limits))
    heads = "".join(f"{name:>11}" for name in ("value", "used", "free", "threads"))
    yield ((f"{'Limits on threads':{names + 2}}", "heading"), (heads, "quiet"))
    for limit in limits:
        start = (f"  {limit.name:{names}}", "quiet")
        if limit.value is None:
            yield (start, (f"{limit.note:>11}", "doubt" if limit.note == UNKNOWN else "quiet"))
            continue
        cells = "".join(f"{_in_unit(limit.name, n or 0):>11}" for n in (limit.value, limit.used, limit.free))
        mark, tone = ("  ◂ first", "heading") if limit is first else ("", "")
        yield (start, (cells, ""), (f"{_known(limit.threads):>11}", tone), (mark, "doubt"))


def _in_unit(wall: str, value: int) -> str:
    return format_bytes(value) if "memory" in wall else format_count(value)


def _engines(engines: Sequence[EngineForecast]) -> Iterator[Pieces]:
    heads = f"{'tasks':>13}  {'then':24}{'a task':>12}"
    yield ((f"{'Engines & forecast':{LABEL + 2}}", "heading"), (heads, "quiet"))
    for row in engines:
        start = (f"  {_named(row.engine, row.workload):{LABEL}}", "quiet")
        if row.missing:
            for line in textwrap.wrap(f"cannot: {row.missing}", WIDTH - LABEL - 4):
                yield (start, (f"  {line}", "bad"))
                start = (" " * (LABEL + 2), "")
            continue
        wall = row.wall if row.sure else "limits on threads unknown"
        weight = format_bytes(row.bytes_per_task) if row.bytes_per_task > 1 else "–"
        yield (start, (f"{format_count(row.tasks):>13}", "heading"), (f"  {wall:24}{weight:>12}", ""))


def _named(names: str, workload: str) -> str:
    return f"{names} {workload}" if workload == FETCHES else names


def _terminal(problems: Sequence[str]) -> Iterator[Pieces]:
    yield (("Terminal", "heading"),)
    if not problems:
        yield (("  nothing is in the way of the screen", "good"),)
    for problem in problems:
        yield from (((f"  {line}", "doubt"),) for line in textwrap.wrap(problem, WIDTH - 2))


def _versions(versions: Versions) -> Iterator[Pieces]:
    lacking = ", ".join(f"{name} ({extra})" for name, extra in versions.missing.items())
    return _facts(
        "Versions",
        ("concwatch", f"{versions.concwatch} on {versions.python}"),
        ("not installed", lacking or "nothing", "each by pip install 'concwatch[NAME]'" if lacking else ""),
    )


def _advice(advices: Sequence[Advice]) -> Iterator[Pieces]:
    yield (("For more", "heading"),)
    if not advices:
        yield (("  nothing is known that would help", ""),)
    for advice in advices:
        whose = f"{_named(', '.join(advice.engines), advice.workload)}: {advice.wall} comes first"
        yield from (((f"  {line}", ""),) for line in textwrap.wrap(whose, WIDTH - 2))
        yield from (((f"    {command}", "copy"),) for command in advice.commands)
        if advice.tasks is not None:
            after = "" if advice.then in (None, advice.wall) else f", and then {advice.then}"
            yield ((f"    → {format_count(advice.tasks)} tasks of {advice.engines[0]}{after}", "quiet"),)


def proof_rows(proof: Proof) -> Iterator[Pieces]:
    """Yield what became of the proof."""
    wall = proof.wall or "none was met"
    if proof.wall and proof.wall_value is not None:
        wall += f" ({_in_unit(proof.wall, proof.wall_value)})"
    same = "as forecast" if proof.wall == proof.forecast_wall else "another than forecast"
    took = "" if proof.seconds is None else f"after {format_seconds(proof.seconds)}"
    left = "nothing: the worker has ended" if proof.ended else "a worker that the system has not ended yet"
    return _facts(
        "Proof",
        ("forecast", f"{format_count(proof.forecast)} threads, then {proof.forecast_wall}"),
        ("broke off", proof.reason or "", "", "bad"),
        ("stood", f"{format_count(proof.standing)} of {format_count(proof.asked)} asked for", took),
        ("wall", wall, same if proof.wall else ""),
        ("a thread", _thread(proof)),
        ("difference", verdict(proof), "", "good" if proof.holds else "bad"),
        ("left behind", left, "", "" if proof.ended else "bad"),
    )


def verdict(proof: Proof) -> str:
    """Return in one line how the forecast has done."""
    more = f"{abs(proof.difference) * 100:.1f} % {'more' if proof.difference >= 0 else 'fewer'} than "
    what = "forecast" if proof.expected == proof.forecast else f"the {format_count(proof.asked)} asked for"
    return f"{more}{what}: the forecast {'holds' if proof.holds else 'does not hold'}"


def _thread(proof: Proof) -> str:
    parts = (
        (proof.rss_per_thread, format_bytes, "of RSS"),
        (proof.memory_per_thread, format_bytes, "of the machine's memory"),
        (proof.maps_per_thread, "{:.2f}".format, "maps"),
    )
    return ", ".join(f"{form(value)} {of}" for value, form, of in parts if value is not None) or UNKNOWN
