"""500,000 tasks with the default collector, then with a frozen one

The same lane twice: the collector as it is, then frozen after each slice of growth.
"""

from concwatch.demos.stage import Stage

ENGINES = ("asyncio",)


async def play(stage: Stage) -> None:
    await stage.press("t")
    await stage.type("w", "sleep:600")
    await stage.switch("asyncio")
    await stage.until(lambda lab: stage.lane("asyncio").on, text="asyncio runs")
    await stage.caption("The default collector examines all tasks again and again while they grow")
    await grow(stage)
    await stage.press("b")
    await stage.until(lambda lab: stage.lane("asyncio").held(2), text="asyncio has held its target for 2 s")
    await stage.switch("asyncio")
    await stage.until(lambda lab: stage.lane("asyncio").off, text="asyncio is off")
    await stage.caption("Again in a fresh worker, with g: what has been created is frozen, and ignored")
    await stage.press("g")
    await stage.switch("asyncio")
    await stage.until(lambda lab: stage.lane("asyncio").on, text="asyncio runs")
    await grow(stage)
    await stage.caption(
        "First the default collector, then a frozen one: the same memory, in less time (Δ: against the first)"
    )
    await stage.until(lambda lab: stage.lane("asyncio").held(3), text="asyncio has held its target for 3 s")
    await stage.shot("both")


async def grow(stage: Stage) -> None:
    await stage.drag("asyncio", "500k")
    await stage.until(
        lambda lab: stage.lane("asyncio").live >= 500_000, text="asyncio holds 500,000 tasks", limit=120
    )
    await stage.until(lambda lab: stage.lane("asyncio").settled, text="asyncio has settled")
