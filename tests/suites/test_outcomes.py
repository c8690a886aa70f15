"""How the outcomes of other projects' tests are compared."""

from tests.suites.__main__ import REPEATS, differences
from tests.suites.running import SuiteRun
from tests.suites.suites import BARE, WATCH


class Scripted:
    """Runs tests whose outcomes are known: of each name one outcome a run, the last one again and again."""

    def __init__(self, **outcomes):
        self._outcomes = outcomes
        self.runs = {BARE: 0, WATCH: 0}

    def run(self, wrapper, tests=()):
        number = self.runs[wrapper]
        self.runs[wrapper] += 1
        found = {}
        for name in tests or self._outcomes:
            words = self._outcomes[name][wrapper].split()
            if outcome := words[min(number, len(words) - 1)].strip("-"):
                found[name] = outcome
        return SuiteRun(found)

    def differences(self):
        return differences(self, WATCH, self.run(BARE), self.run(WATCH))


def test_only_a_test_that_always_differs_is_a_difference():
    place = Scripted(
        same={BARE: "failed", WATCH: "failed"},
        differs={BARE: "passed", WATCH: "failed"},
        fails_in_other_ways={BARE: "passed", WATCH: "failed skipped"},
        flaky={BARE: "passed", WATCH: "failed failed passed"},
        flaky_bare={BARE: "passed failed", WATCH: "failed"},
        the_same_in_the_last={BARE: "passed", WATCH: " ".join(["failed"] * REPEATS + ["passed"])},
        missing={BARE: "passed", WATCH: "-"},
        cannot_be_repeated={BARE: "passed -", WATCH: "failed -"},
    )
    assert place.differences() == {
        "differs": "passed failed",
        "fails_in_other_ways": "passed failed/skipped",
        "missing": "passed missing",
        "cannot_be_repeated": "passed failed",
    }
    assert place.runs == {BARE: 1 + REPEATS, WATCH: 1 + REPEATS}


def test_nothing_is_repeated_without_a_difference():
    place = Scripted(same={BARE: "passed", WATCH: "passed"})
    assert place.differences() == {}
    assert place.runs == {BARE: 1, WATCH: 1}
