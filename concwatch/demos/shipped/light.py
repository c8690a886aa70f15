"""The same in a light theme

Four lanes with tracing on, in the light theme that comes with concwatch.
"""

from concwatch.demos.stage import Stage

THEME = "concwatch-light"


async def play(stage: Stage) -> None:
    await stage.drag("asyncio", "10k")
    await stage.until(lambda lab: stage.lane("asyncio").settled, text="asyncio has settled")
    await stage.drag("uvloop", "10k")
    await stage.until(lambda lab: stage.lane("uvloop").settled, text="uvloop has settled")
    await stage.drag("pool", "10k")
    await stage.until(lambda lab: stage.lane("pool").settled, text="pool has settled")
    await stage.drag("threads", "2k")
    await stage.until(lambda lab: stage.lane("threads").settled, text="threads have settled")
    await stage.caption("The light theme: ctrl+p offers it, and all of Textual's")
    await stage.until(
        lambda lab: stage.lane("asyncio").held(22), text="asyncio has held its target for 22 s", limit=60
    )
    await stage.until(
        lambda lab: sum(lane.live for lane in lab.lanes) >= 32_000, text="32,000 tasks are live", limit=60
    )
    await stage.shot("lanes")
