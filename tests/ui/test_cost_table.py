"""The cost table: its marks, what explains them, and the engines that the sentence above it compares."""

from concwatch.monitor.metrics.metric import MARKS
from concwatch.monitor.metrics.metrics import CAVEATS
from concwatch.ui.widgets.tables.cost_table import CostTable
from tests.screen import stage


async def test_there_are_two_marks_and_each_is_explained_where_the_mouse_is_and_by_a_key():
    assert {caveat.mark for caveat in CAVEATS} == {"≈", "*"} <= {*MARKS}
    async with stage() as s:
        await s.press("t")
        await s.switch_on("asyncio", tasks=10_000)
        await s.run(5)
        table = s.monitor.query_one(CostTable)
        await s.sees("≈ forecast", "* traced", "i explains", within=table)
        await s.hover(table, offset=s.place("50 k/s", table))
        assert "Tasks created per second" in table.tooltip
        assert "traced: about twice the memory" in table.tooltip
        await s.hover(table, offset=s.place("1.0 ×", table))
        assert "traced" not in table.tooltip
        await s.press("3", "i")
        await s.sees("asyncio: how it is measured", "* traced", "t turns tracing off", "notes")


async def test_the_reader_chooses_the_engines_that_the_sentence_compares():
    async with stage() as s:
        await s.switch_on("threads", "asyncio", "uvloop", tasks=1_000)
        await s.run(5)
        table = s.monitor.query_one(CostTable)
        await s.sees("1 thread = 35 asyncio tasks", within=table)
        await s.tap("uvloop", table)
        await s.run(0.5)
        await s.sees("1 uvloop task = 1.2 asyncio tasks", within=table)
        await s.tap("threads", table)
        await s.run(0.5)
        await s.sees("1 thread = 28 uvloop tasks", within=table)
        seen = set()
        for _ in range(3):
            await s.press("full_stop")
            await s.run(0.5)
            seen.add(table.border_title.partition(" · ")[0])
        assert len(seen) == 3
        await s.press("comma", "full_stop")
        await s.run(0.5)
        assert table.border_title.partition(" · ")[0] in seen
