"""At every size all that is shown of the four lanes is shown whole."""

import re

import pytest

from concwatch.lab.settings import ON_SCREEN, Settings
from tests.screen import stage

BY_DESIGN = r"lag  [^│╭╮]*…"
"""What ends in "…": the delays of four lanes, each with its unit, in the title of a chart of 37 cells."""

SIZES = ((60, 14), (80, 24), (120, 24), (120, 40), (160, 45), (200, 60), (250, 70))


@pytest.mark.parametrize("trace", [False, True], ids=["untraced", "traced"])
async def test_no_text_is_cut_and_every_lane_chart_and_way_out_is_there(trace):
    async with stage(settings=Settings(workload=ON_SCREEN, trace=trace)) as s:
        await s.switch_on("threads", "pool", "asyncio", "uvloop", tasks=10_000)
        await s.run(20)
        for size in SIZES:
            await s.pilot.resize_terminal(*size)
            assert not [line for line in s.lines() if "…" in re.sub(BY_DESIGN, "", line)], size
            await s.sees("1 threads", "2 pool", "3 asyncio", "4 uvloop", "w ", "? help", "q quit")
            await s.sees("0 B└", "now", within=s.chart("rss"))
            await s.press("question_mark")
            await s.sees("esc")
            await s.press("escape")
