"""Lanes of one engine on several hosts, folded into one row or each in its own."""

import math

import pytest
from msgspec import structs

from concwatch.ui.widgets.charts.chart import Chart
from concwatch.ui.widgets.lanes.lane_card import LaneCard
from concwatch.ui.widgets.tables.cost_table import CostTable
from tests.fake_hosts import HostWorkers, figures, hosts
from tests.lab_driver import ENGINES
from tests.screen import stage


def on(count):
    return [ENGINES["asyncio"].on(host) for host in hosts(count)]


async def test_one_slider_controls_twenty_hosts_and_a_key_unfolds_them():
    async with stage(engines=on(20), workers=HostWorkers()) as screen:
        assert len(screen.app.screen.query(LaneCard)) == 1
        await screen.press("1", "plus")
        await screen.run(3)
        assert [lane.live for lane in screen.lab.lanes] == [500] * 20
        await screen.sees("asyncio × 20", "10 k")
        await screen.press("h")
        cards = list(screen.app.screen.query(LaneCard))
        assert len(cards) == 20
        await screen.sees(*(f"asyncio · web{number}" for number in range(1, 21)), "and 17 more")
        height = screen.app.size.height
        assert all(card.region.height == 1 and card.region.bottom < height for card in cards)
        await screen.press("3", "minus")
        await screen.run(2)
        assert [lane.live for lane in screen.lab.lanes] == [500, 500, 0, *[500] * 17]
        await screen.press("h")
        assert len(screen.app.screen.query(LaneCard)) == 1
        await screen.sees("9.5 k")


async def test_a_target_is_split_by_free_memory_or_evenly():
    async with stage(engines=on(2), workers=HostWorkers()) as screen:
        await screen.press("1", "plus")
        await screen.run(2)
        small = screen.lab.hosts[1].machine
        small.update(structs.replace(figures(available=1 << 30), time=5.0))
        screen.lab.hosts[1].capacity.budget.update(0)
        await screen.press("plus")
        await screen.run(2)
        first, second = (lane.target.tasks for lane in screen.lab.lanes)
        assert first + second == 20_000
        assert first < 3_000 < second
        await screen.press("v")
        await screen.run(2)
        assert [lane.target.tasks for lane in screen.lab.lanes] == [10_000, 10_000]


async def test_folding_without_other_hosts_shows_a_hint():
    async with stage(engines=[ENGINES["asyncio"]]) as screen:
        await screen.press("h")
        await screen.sees("each engine runs on one host; add others with --host")


async def test_unfolded_hosts_fit_every_terminal_size_and_can_be_sorted():
    engines = [*on(4), *(ENGINES["go"].on(host) for host in hosts(4))]
    async with stage(engines=engines, workers=HostWorkers()) as screen:
        await screen.press("1", "plus", "2", "plus", "plus")
        await screen.run(3)
        await screen.press("h", "greater_than_sign")
        for size in ((80, 24), (120, 40), (200, 60)):
            await screen.resize(*size)
            await screen.sees("go · web1", within=screen.app.screen.query_one(CostTable))


async def test_charts_can_show_the_median_of_hosts_and_their_range():
    async with stage((200, 60), engines=on(3), workers=HostWorkers()) as screen:
        await screen.press("1", "plus")
        await screen.run(2)
        for lane, tasks in zip(screen.lab.lanes, (1_000, 2_000, 6_000), strict=True):
            screen.lab.set_target(lane, tasks)
        await screen.run(3)
        chart = screen.app.screen.query_one("#chart-live", Chart)
        assert [(line.values[-1], line.band) for line in chart.plot.lines] == [(9_000, None)]
        await screen.press("d")
        await screen.run(1)
        lines = screen.app.screen.query_one("#chart-cost", Chart).plot.lines
        cost = next(line for line in lines if line.mark == "●")
        assert cost.times == [pytest.approx(math.log10(9_000))], "the cost stays that of all hosts"
        [line] = chart.plot.lines
        assert (line.name, line.values[-1]) == ("asyncio × 3, median", 2_000)
        assert [edge[-1] for edge in line.band] == [1_000, 6_000]
        assert len(line.band[0]) == len(line.band[1]) == len(line.times)
        await screen.press("d")
        await screen.run(1)
        assert [line.values[-1] for line in chart.plot.lines] == [9_000]


async def test_a_pending_update_is_shown_in_new_rows_after_folding():
    async with stage(engines=on(3), workers=HostWorkers()) as screen:
        await screen.press("1", "plus")
        await screen.run(2)
        for cards in (3, 1):
            for viewer in screen.lab.viewers:
                viewer.update()
            await screen.app.screen.action_press("h")
            await screen.run(1)
            assert len(screen.app.screen.query(LaneCard)) == cards
        await screen.sees("asyncio × 3", "10,000 live")


async def test_hosts_that_join_or_leave_a_cluster_add_or_remove_lanes():
    members = [structs.replace(host, opener=print) for host in hosts(3)]
    present = members[:1]
    engines = [ENGINES["asyncio"].on(members[0])]
    async with stage(engines=engines, workers=HostWorkers(), cluster=lambda: present) as screen:
        await screen.press("1", "plus")
        await screen.run(3)
        present.extend(members[1:])
        await screen.run(2)
        await screen.sees("asyncio × 3", "web3 has joined the cluster")
        await screen.press("v")
        await screen.run(3)
        assert sum(lane.live for lane in screen.lab.lanes) == 10_000
        await screen.press("h")
        assert len(screen.app.screen.query(LaneCard)) == 3
        del present[1]
        await screen.run(2)
        assert len(screen.app.screen.query(LaneCard)) == 2
        await screen.sees("web2 has left the cluster")
        await screen.press("h")
        await screen.sees("asyncio × 2")
        present.insert(0, members[1])
        await screen.run(2)
        await screen.sees("asyncio × 3")
        assert len(screen.lab.lanes) == 3
