"""What a task does, as written: ``churn:1k/s``, ``sleep:10``, ``sleep:5..15``, ``app.jobs:fetch``."""

from __future__ import annotations

from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Optional, Tuple

    Durations = Callable[[], float]

DEFAULT = "sleep:10"

MAX_SECONDS = 1_000_000.0
"""Seconds: about 11 days; more is a typo."""
MIN_MEAN = 0.001
"""Seconds: the least mean of the sleeps of ``churn``."""
MIN_INTERVAL = 0.001
"""Seconds: the shortest interval of ``connect``."""
MAX_RATE = 1_000_000.0
MAX_PAYLOAD = 1 << 34
MAX_TICKS = 1_000_000

# Parsed without regular expressions: `re` and its tables would take a megabyte in every worker.


class Workload:
    """A parsed workload: its word, its values, how it is written, and what else its tasks need."""

    __slots__ = ("addresses", "arguments", "call", "spec", "url", "values", "word")

    def __init__(self, word: str, values: Tuple[object, ...], spec: str) -> None:
        self.word = word
        self.values = values
        self.spec = spec
        self.url: Optional[str] = None
        """What ``http`` fetches, or the address that ``connect`` connects to."""
        self.addresses = 1
        """How many loopback addresses, from that one on, ``connect`` connects to in turn."""
        self.arguments: Tuple[str, ...] = ()
        """The arguments of the user's function."""
        self.call: Optional[Callable[[], Any]] = None
        """What the set-up of the user's function has yielded, which tasks call instead."""

    def durations(self, running: Callable[[], int]) -> Optional[Durations]:
        """Return a function that returns the next task's sleep in seconds; None if tasks do not differ in it.

        ``running`` returns how many tasks are to run at once.
        """
        values = [float(str(value)) for value in self.values if self.word in (SLEEP, CHURN)]
        if self.word == CHURN:
            return churn(values[0], running)
        return spread(*values) if len(values) == 2 else None


def _is_number(text: str) -> bool:
    whole, _, fraction = text.partition(".")
    digits = whole + fraction
    return len(text) < 20 and digits.isascii() and digits.isdigit()


def _is_path(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _seconds(text: str) -> float:
    if not _is_number(text) or float(text) > MAX_SECONDS:
        raise ValueError(f"expected seconds from 0 to {MAX_SECONDS:,.0f}")
    return float(text)


def _interval(text: str) -> Tuple[object, ...]:
    if text == ONCE:
        return ()
    seconds = _seconds(text[:-1] if text.endswith("s") else text)
    if seconds < MIN_INTERVAL:
        raise ValueError(f"expected an interval of at least {MIN_INTERVAL} seconds")
    return (seconds,)


def _sleep_values(text: str) -> Tuple[object, ...]:
    least, dots, most = text.partition("..")
    if not dots:
        return (_seconds(text),)
    durations = (_seconds(least.strip()), _seconds(most.strip()))
    if durations[0] >= durations[1]:
        raise ValueError(f'expected the shorter sleep first, as in "5..15", not "{text[:40]}"')
    return durations


def _size(text: str) -> int:
    number = text.rstrip("kKmMgGiIbB ")
    unit = text[len(number) :].strip().lower()
    # k and KiB are 1,024 bytes, kB is 1,000.
    base, power = {"": (1, 0), "b": (1, 0)}.get(
        unit, (1000 if unit[1:] == "b" else 1024, " kmg".find(unit[:1]))
    )
    if _is_number(number) and "." not in number and power >= 0 and unit[1:] in ("", "b", "ib"):
        size = int(number) * int(base**power)
        if size <= MAX_PAYLOAD:
            return size
    raise ValueError(f'expected bytes from 0 to {MAX_PAYLOAD:,}, such as "4096" or "64KiB"')


def _steps(text: str) -> Tuple[object, ...]:
    count, times, seconds = text.partition("x")
    number = int(count) if times and count.isascii() and count.isdigit() and len(count) < 8 else 0
    if not 0 < number <= MAX_TICKS:
        raise ValueError(f'expected COUNTxSECONDS such as "10x0.1", with a count from 1 to {MAX_TICKS:,}')
    return number, _seconds(seconds)


def _rate(text: str) -> Tuple[object, ...]:
    number = text[:-2].rstrip() if text.endswith("/s") else text
    times = {"k": 1e3, "M": 1e6}.get(number[-1:], 1.0)
    number = number if times == 1.0 else number[:-1]
    if _is_number(number) and 0 < float(number) * times <= MAX_RATE:
        return (float(number) * times,)
    raise ValueError(f'expected tasks per second up to {MAX_RATE:,.0f}, such as "1k/s" or "200/s"')


def _shares() -> Callable[[], float]:
    """Return a function that returns numbers from 0 to 1, of which any run covers the range evenly.

    Each advances by the golden ratio (an additive recurrence, as in quasi-Monte Carlo methods). The `random`
    module would take a megabyte in every worker. Threads may call it at once, which a generator refuses.
    """
    step = count(1).__next__
    return lambda: step() * GOLDEN % 1.0


def spread(least: float, most: float) -> Durations:
    """Return a function that returns durations spread evenly from ``least`` to ``most`` seconds."""
    share, span = _shares(), most - least
    return lambda: least + share() * span


def churn(rate: float, running: Callable[[], int]) -> Durations:
    """Return a function that returns exponentially distributed durations in seconds.

    While ``running()`` tasks run, and each that ends is replaced, about ``rate`` of them end a second. With
    this distribution, that holds from the start: tasks end at the same rate however long they have run.
    """
    from math import log  # a file of its own in some Pythons, which workers of other workloads do not need

    share = _shares()

    def duration() -> float:
        return min(MAX_SECONDS, -max(MIN_MEAN, running() / rate) * log(1.0 - share()))

    return duration


GOLDEN = 0.6180339887498949

SLEEP, CHURN, HTTP, CONNECT = "sleep", "churn", "http", "connect"

ONCE = "once"
"""In place of an interval: not again."""

SLEEPS = {CHURN: SLEEP}
"""Workload → the one whose tasks do the same, for another time."""


class Form:
    """How a workload is written, and what its tasks do."""

    __slots__ = ("default", "example", "examples", "parse", "syntax", "what")

    def __init__(
        self,
        syntax: str,
        what: str,
        parse: Callable[[str], Tuple[object, ...]],
        *examples: str,
        example: str,
        default: Optional[str] = None,
    ) -> None:
        """Create a row.

        Args:
            syntax: how it is written.
            what: what its tasks do.
            parse: parses what follows the colon.
            examples: at least one; the last one is offered in the dialog.
            example: what the tasks of that one do.
            default: the value without a colon; None if a value is required, or there is none.
        """
        self.syntax, self.what, self.parse = syntax, what, parse
        self.examples, self.example, self.default = examples, example, default


FORMS: Dict[str, Form] = {
    CHURN: Form(
        "churn[:RATE/s]",
        "sleep for a random time; about RATE tasks per second end",
        _rate,
        "churn:1k/s",
        example="sleeps for a random time, so that 1,000 tasks end a second",
        default="1k/s",
    ),
    SLEEP: Form(
        "sleep[:SECONDS]",
        "sleep for SECONDS; 5..15: a different time for each task",
        _sleep_values,
        "sleep:10",
        "sleep:5..15",
        example="sleeps for 5 to 15 s, a different time for each task",
        default=f"{MAX_SECONDS:.0f}",
    ),
    "ticks": Form(
        "ticks:COUNTxSECONDS",
        "sleep COUNT times for SECONDS",
        _steps,
        "ticks:10x0.1",
        example="sleeps 10 times for 0.1 s",
    ),
    "hold": Form("hold", "wait until cancelled", lambda text: (), "hold", example="waits until cancelled"),
    "payload": Form(
        "payload:BYTES",
        "hold BYTES of memory until cancelled",
        lambda text: (_size(text),),
        "payload:4KiB",
        example="holds 4 KiB of memory until cancelled",
    ),
    "spin": Form(
        "spin:SECONDS",
        "use SECONDS of CPU time",
        lambda text: (_seconds(text),),
        "spin:0.001",
        example="uses 1 ms of CPU time",
    ),
    "nop": Form("nop", "end at once", lambda text: (), "nop", example="ends at once"),
    HTTP: Form(
        "http[:SECONDS]",
        "fetch a page that takes SECONDS",
        lambda text: (_seconds(text),),
        HTTP,
        example="fetches a page that takes 0.15 s",
        default="0.15",
    ),
    CONNECT: Form(
        "connect[:SECONDS]",
        "hold a TCP connection; ping every SECONDS",
        _interval,
        "connect:10s",
        CONNECT,
        example="holds a TCP connection",
        default=ONCE,
    ),
}
"""The workloads by their word."""

USER = "module:function"
WORDS = (*FORMS, USER)


END = "\0"
"""The end of each argument on the wire; no argument of a program can contain it."""


def join_arguments(arguments: Iterable[str]) -> str:
    """Return the arguments of a function as one string, the inverse of `split_arguments`."""
    return "".join(f"{argument}{END}" for argument in arguments)


def split_arguments(text: str) -> Tuple[str, ...]:
    """Return the arguments of a function, each of which ends with a null character in ``text``."""
    return tuple(text.split(END)[:-1])


def is_function(spec: str) -> bool:
    """Return whether a valid workload names a user's function."""
    return spec.partition(":")[0].strip() not in FORMS


def parse(spec: str) -> Workload:
    """Parse a workload.

    Raises:
        ValueError: one line that quotes the workload, and says what was expected and the nearest match.
    """
    spec = spec.strip()
    shown = " ".join(spec.split())[:60]
    word, colon, rest = spec.partition(":")
    word = word.strip()
    if word in FORMS:
        form = FORMS[word]
        if not colon and form.default is not None:
            rest = form.default
        elif bool(colon) != (":" in form.syntax):
            raise ValueError(f'workload "{shown}" is not valid; expected "{form.syntax}"')
        try:
            return Workload(word, form.parse(rest.strip()), spec)
        except ValueError as error:
            raise ValueError(f'workload "{shown}" is not valid; {error}') from None
    # "slep:3" is a typo, not a user's module: "3" cannot be a function's name.
    if colon and _is_path(word) and _is_path(rest):
        return Workload(USER, (word, rest), spec)
    from concwatch.portable.protocol.text import suggest  # only an error needs it

    forms = ", ".join([form.syntax for form in FORMS.values()])
    raise ValueError(
        f'unknown workload "{shown}"{suggest(word, FORMS) or ";"} expected one of {forms}, {USER}'
    )
