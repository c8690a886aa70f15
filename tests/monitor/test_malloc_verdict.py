"""The event that says that malloc keeps free memory: when it is told, and when it is taken back."""

import pytest

from concwatch.monitor.verdicts.malloc_verdict import MallocVerdict
from concwatch.monitor.verdicts.rss_parts import RssParts

MIB = 1 << 20


class AskedProcess:
    """A process with memory and free memory as functions of time, in MiB, and the events about it."""

    def __init__(self, seconds, memory, free, pause=0.001):
        self.asked, self.events = [], []
        verdict = MallocVerdict(self.asked.append)
        for tenth in range(seconds * 10):
            now = tenth / 10
            verdict.add(now, int(memory(now) * MIB))
            if tenth % 10 == 0:
                before = len(self.asked)
                event = verdict.judge(now)
                if len(self.asked) > before:
                    known = None if free is None else int(free(now) * MIB)
                    rss = int(memory(now) * MIB) + 10 * MIB
                    verdict.add_parts(RssParts(now, rss, free=known, in_arenas=True, arenas=9, pause=pause))
                if event is not None:
                    self.events.append((now, event.text, event.severity, event.kind))

    @property
    def kinds(self):
        return [kind for _, _, _, kind in self.events]


def burst(now):
    return min(20 + 8 * now, 180)


def test_free_memory_is_told_once_memory_has_stopped_growing_high_above_what_it_was():
    program = AskedProcess(400, burst, lambda now: 171)
    ((when, text, severity, kind),) = program.events
    assert 20 <= when <= 45
    assert (severity, kind) == ("info", "malloc")
    assert text == (
        "171 MiB of 190 MiB RSS are free memory that malloc keeps (fordblks), not a leak; "
        "malloc_trim(0) can return pages of it; MALLOC_ARENA_MAX=2 bounds the number of its arenas, 9"
    )
    assert program.asked[0] >= 20, "it grows until then"


@pytest.mark.parametrize(
    ("memory", "free"),
    [
        (lambda now: 180, lambda now: 171),  # as it has always been
        (lambda now: 20 + 8 * now, lambda now: 171),  # it still grows
        (burst, lambda now: 20),  # the program holds its memory
        (burst, None),  # unknown
        (lambda now: 20 + min(now, 20), lambda now: 18),  # little
        (burst, lambda now: 171 if int(now / 4) % 2 else 0),  # it is used again and again
    ],
    ids=["steady", "growing", "held", "unknown", "little", "in turns"],
)
def test_other_programs_get_no_event(memory, free):
    assert AskedProcess(400, memory, free).events == []


def test_a_program_that_holds_its_memory_is_asked_seldom():
    program = AskedProcess(3_600, burst, lambda now: 0)
    assert 2 <= len(program.asked) <= 12
    assert min(after - before for before, after in zip(program.asked, program.asked[1:], strict=False)) >= 60
    stopped = AskedProcess(3_600, burst, lambda now: 0, pause=0.5)
    assert len(stopped.asked) <= 5, "no more than 0.05 % of the time"


def test_memory_that_is_freed_long_after_it_has_stopped_growing_is_told():
    program = AskedProcess(1_500, burst, lambda now: 171 if now > 400 else 0)
    assert program.kinds == ["malloc"]


@pytest.mark.parametrize(
    ("memory", "free", "reason"),
    [
        (
            lambda now: burst(now) if now < 100 else 20,
            lambda now: 171,
            "RSS has fallen: 20 MiB are anonymous",
        ),
        (burst, lambda now: 171 if now < 100 else 30, "it is in use again"),
    ],
)
def test_the_event_is_taken_back_when_it_no_longer_holds(memory, free, reason):
    program = AskedProcess(300, memory, free)
    assert program.kinds == ["malloc", "malloc_withdrawn"]
    assert program.events[1][1] == f"malloc no longer keeps 171 MiB of free memory: {reason}"
