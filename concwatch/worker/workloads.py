"""What a task does, as words: ``sleep:10``, ``sleep:5..15``, ``ticks:10x0.1``, ``app.jobs:fetch``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple

DEFAULT = "sleep:10"

LONGEST = 1_000_000.0
"""Seconds: about 11 days; more is a slip of the finger."""
LARGEST_PAYLOAD = 1 << 34
MOST_TICKS = 1_000_000

# Read without regular expressions: that module and its tables would weigh a megabyte in every worker.


class Workload:
    """One parsed workload: its word, the values behind it, how it is written, and where ``http`` fetches."""

    __slots__ = ("spec", "url", "values", "word")

    def __init__(self, word: str, values: Tuple[object, ...], spec: str) -> None:
        self.word = word
        self.values = values
        self.spec = spec
        self.url: Optional[str] = None

    @property
    def lengths(self) -> Optional[Spread]:
        """What returns how long each task sleeps, where that varies."""
        if self.word == "sleep" and len(self.values) == 2:
            return Spread(*map(float, map(str, self.values)))
        return None


def _is_number(text: str) -> bool:
    whole, _, fraction = text.partition(".")
    digits = whole + fraction
    return len(text) < 20 and digits.isascii() and digits.isdigit()


def _is_path(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _seconds(text: str) -> float:
    if not _is_number(text) or float(text) > LONGEST:
        raise ValueError(f"expected seconds from 0 to {LONGEST:,.0f}")
    return float(text)


def _lengths(text: str) -> Tuple[object, ...]:
    least, dots, most = text.partition("..")
    if not dots:
        return (_seconds(text),)
    lengths = (_seconds(least.strip()), _seconds(most.strip()))
    if lengths[0] >= lengths[1]:
        raise ValueError(f'expected the shorter sleep first, as in "5..15", not "{text[:40]}"')
    return lengths


def _size(text: str) -> int:
    number = text.rstrip("kKmMgGiIbB ")
    unit = text[len(number) :].strip().lower()
    # As everywhere in concwatch: k and KiB are 1,024 bytes, kB is 1,000.
    base, power = {"": (1, 0), "b": (1, 0)}.get(
        unit, (1000 if unit[1:] == "b" else 1024, " kmg".find(unit[:1]))
    )
    if _is_number(number) and "." not in number and power >= 0 and unit[1:] in ("", "b", "ib"):
        size = int(number) * int(base**power)
        if size <= LARGEST_PAYLOAD:
            return size
    raise ValueError(f'expected bytes from 0 to {LARGEST_PAYLOAD:,}, such as "4096" or "64KiB"')


def _steps(text: str) -> Tuple[object, ...]:
    count, times, seconds = text.partition("x")
    number = int(count) if times and count.isascii() and count.isdigit() and len(count) < 8 else 0
    if not 0 < number <= MOST_TICKS:
        raise ValueError(f'expected COUNTxSECONDS such as "10x0.1", with a count from 1 to {MOST_TICKS:,}')
    return number, _seconds(seconds)


class Spread:
    """Returns another length at each call, spread evenly from ``least`` to ``most`` seconds.

    Each is the golden ratio further on: of any number in a row no part of the span has many more than another
    (an additive recurrence, as in quasi-Monte Carlo methods). A generator of random numbers would weigh a
    megabyte in every worker.
    """

    __slots__ = ("_at", "_least", "_span")

    def __init__(self, least: float, most: float) -> None:
        self._at, self._least, self._span = 0.0, least, most - least

    def __call__(self) -> float:
        """Return the next length."""
        self._at = at = (self._at + GOLDEN) % 1.0
        return self._least + at * self._span


GOLDEN = 0.6180339887498949

HTTP = "http"

FORMS: Dict[str, Tuple[str, str, Callable[[str], Tuple[object, ...]]]] = {
    "sleep": ("sleep:SECONDS", "sleep that long; 5..15: each its own time between the two", _lengths),
    "ticks": ("ticks:COUNTxSECONDS", "sleep so many times that long", _steps),
    "hold": ("hold", "wait until cancelled", lambda text: ()),
    "payload": ("payload:BYTES", "hold that much memory until cancelled", lambda text: (_size(text),)),
    "spin": ("spin:SECONDS", "use that much CPU time", lambda text: (_seconds(text),)),
    "nop": ("nop", "end at once", lambda text: ()),
    HTTP: ("http[:SECONDS]", "fetch a page that takes that long", lambda text: (_seconds(text),)),
}
"""Word → how it is written, what it does, how what stands behind the colon is read."""

EXAMPLES = ("sleep:10", "sleep:5..15", "ticks:10x0.1", "hold", "payload:4KiB", "spin:0.001", "nop", HTTP)
"""One of each form."""

DEFAULTS = {HTTP: "0.15"}
"""Word → what stands behind the colon when nothing does; for any other word it has to be written."""

USER = "module:function"
WORDS = (*FORMS, USER)


def is_function(spec: str) -> bool:
    """Return whether a workload that has been read names a function of the user's own."""
    return spec.partition(":")[0].strip() not in FORMS


def parse(spec: str) -> Workload:
    """Read a workload.

    Raises:
        ValueError: one line that names the spec, what was expected, and the nearest match.
    """
    spec = spec.strip()
    shown = " ".join(spec.split())[:60]
    word, colon, rest = spec.partition(":")
    word = word.strip()
    if word in FORMS:
        form = FORMS[word][0]
        if not colon and word in DEFAULTS:
            rest = DEFAULTS[word]
        elif bool(colon) != (":" in form):
            raise ValueError(f'workload "{shown}": expected "{form}"')
        try:
            return Workload(word, FORMS[word][2](rest.strip()), spec)
        except ValueError as error:
            raise ValueError(f'workload "{shown}": {error}') from None
    # "slep:3" is a slip, not a module of the user's: what follows the colon cannot be a function's name.
    if colon and _is_path(word) and _is_path(rest):
        return Workload(USER, (word, rest), spec)
    from concwatch.text import nearest  # only an error needs it

    forms = ", ".join(form for form, _, _ in FORMS.values())
    raise ValueError(f'unknown workload "{shown}": expected one of {forms}, {USER}{nearest(word, FORMS)}')


def find_own(workload: Workload, coroutine: bool) -> Optional[Callable[[], Any]]:
    """Return what a task calls that no engine has of its own: the user's function, or what fetches; or None.

    Args:
        workload: any.
        coroutine: whether the engine needs a coroutine function, or else a plain one.

    Raises:
        ValueError: what is missing, in one line.
    """
    if workload.word == USER:
        from concwatch.worker.user_function import find_function  # imports inspect

        return find_function(workload, coroutine)
    if workload.word == HTTP:
        from concwatch.worker.fetch import find_fetch  # imports an HTTP client

        return find_fetch(workload, coroutine)
    return None
