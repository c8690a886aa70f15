"""10,000 threads beside 10,000 asyncio tasks

One drag each, untraced; the curve draws what the tasks cost, and the sentence above the table says it.
"""

from concwatch.demos.stage import Stage

ENGINES = ("threads", "asyncio")


async def play(stage: Stage) -> None:
    await stage.press("t")
    for engine in ENGINES:
        await stage.switch(engine)
    await stage.until(lambda lab: all(stage.lane(engine).on for engine in ENGINES), text="both lanes run")
    await stage.caption("Drag a slider: 10,000 threads start")
    await stage.film()
    await stage.drag("threads", "10k")
    await stage.until(lambda lab: stage.lane("threads").settled, text="threads have settled", limit=240)
    await stage.caption("The same for 10,000 asyncio tasks")
    await stage.drag("asyncio", "10k")
    await stage.until(lambda lab: stage.lane("asyncio").settled, text="asyncio has settled")
    await stage.until(lambda lab: stage.sees("1 thread ="), text="the sentence above the table is shown")
    await stage.caption("The higher curve is the dearer task; the table says by how much")
    await stage.until(lambda lab: stage.lane("asyncio").held(4), text="asyncio has held its target for 4 s")
    await stage.shot("held")
    await stage.shot("social", "cost", (1280, 640))
