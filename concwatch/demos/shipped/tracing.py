"""100,000 tasks untraced, then traced

The same lane twice: what tracemalloc costs the program that it measures.
"""

from concwatch.demos.stage import Stage

ENGINES = ("asyncio",)


async def play(stage: Stage) -> None:
    await stage.press("t")
    await stage.type("w", "sleep:600")
    await stage.switch("asyncio")
    await stage.until(lambda lab: stage.lane("asyncio").on, text="asyncio runs")
    await stage.caption("100,000 tasks, untraced")
    await stage.drag("asyncio", "100k")
    await stage.until(lambda lab: stage.lane("asyncio").settled, text="asyncio has settled")
    await stage.press("b")
    await stage.until(lambda lab: stage.lane("asyncio").held(4), text="asyncio has held its target for 4 s")
    await stage.switch("asyncio")
    await stage.until(lambda lab: stage.lane("asyncio").off, text="asyncio is off")
    await stage.press("t")
    await stage.caption("The same in a fresh worker, traced")
    await stage.switch("asyncio")
    await stage.until(lambda lab: stage.lane("asyncio").on, text="asyncio runs")
    await stage.drag("asyncio", "100k")
    await stage.until(lambda lab: stage.lane("asyncio").settled, text="asyncio has settled")
    await stage.caption(
        "First untraced, then traced: twice the RSS on the chart, and a longer start (Δ: against the first)"
    )
    await stage.until(lambda lab: stage.lane("asyncio").held(4), text="asyncio has held its target for 4 s")
    await stage.shot("both")
