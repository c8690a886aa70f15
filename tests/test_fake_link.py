"""The fake worker: it follows the rules of the wire and is deterministic."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from concwatch.links.link import Ended
from concwatch.links.messages import Reached, Tick
from tests.fake_link import FakeLink, FakeWorkers, Fault
from tests.lab_driver import ENGINES, Bench


class Driver:
    """A fake link on a simulated clock."""

    def __init__(self, engine="asyncio", **arguments):
        self.link = FakeLink(ENGINES[engine], **arguments)
        self.now = 0.0
        self.seen = []
        self.pass_()

    def pass_(self, seconds=0.1, step=0.1):
        for _ in range(max(1, round(seconds / step))):
            self.now += step
            self.seen += self.link.arrivals(self.now)

    def of(self, kind):
        return [arrival for arrival in self.seen if isinstance(arrival, kind)]

    @property
    def tick(self):
        return self.of(Tick)[-1]


COMMANDS = st.one_of(
    st.tuples(st.just("target"), st.fixed_dictionaries({"tasks": st.integers(0, 30_000)})),
    st.tuples(st.sampled_from(["refill", "trace"]), st.fixed_dictionaries({"on": st.booleans()})),
    st.tuples(
        st.just("workload"),
        st.fixed_dictionaries(
            {"spec": st.sampled_from(["sleep:0.3", "nop", "hold", "ticks:3x0.1", "payload:100", "slep:3"])}
        ),
    ),
    st.just(("halt", {"wall": "memory budget", "value": 7})),
    st.tuples(st.just("wait"), st.floats(0.05, 1.0)),
)


@settings(deadline=None)
@given(st.sampled_from(sorted(ENGINES)), st.lists(COMMANDS, max_size=20))
def test_counters_add_up_at_every_tick_and_never_decrease(engine, commands):
    driver = Driver(engine)
    for name, fields in commands:
        if name == "wait":
            driver.pass_(fields, step=0.05)
        else:
            driver.link.send(name, **fields)
    driver.link.send("workload", spec="hold")
    driver.link.send("target", tasks=1_000)
    driver.pass_(8)
    assert driver.tick.live == driver.of(Reached)[-1].target == 1_000
    ticks = driver.of(Tick)
    for tick in ticks:
        assert tick.created == tick.live + tick.completed + tick.failed + tick.cancelled
        assert 0 <= tick.queued <= tick.live
    for before, after in pairwise(ticks):
        assert after.time > before.time
        for counter in ("created", "completed", "cancelled"):
            assert getattr(after, counter) >= getattr(before, counter)


def test_two_labs_with_the_same_clock_give_equal_snapshots():
    def snapshots():
        faults = {"uvloop": [Fault(3.0, Ended("killed by SIGKILL"))]}
        bench = Bench(*ENGINES, links=FakeWorkers(faults=faults))
        found = []
        bench.lab.observers.append(found.append)
        for number, lane in enumerate(bench.lab.lanes, 1):
            bench.lab.set_target(lane, number * 3_000)
        for spec in ("sleep:1", "ticks:5x0.2", "payload:10KiB", "nop"):
            bench.lab.settings.set_workload(spec)
            bench.pass_(1.2)
        assert len(found) == 48
        assert found[0].lanes[0].live < found[-1].lanes[0].live, "a snapshot does not change"
        assert found[-1].elapsed == pytest.approx(bench.now - bench.lab.began)
        # As text, since NaN is not equal to itself.
        series = [str(samples.since(metric, 0)) for samples in found[-1].series for metric in ("live", "rss")]
        parts = {"machine": None, "series": (), "events": None, "marks": None}
        return [structs.replace(snapshot, **parts) for snapshot in found], series, bench.texts()

    assert snapshots() == snapshots()
