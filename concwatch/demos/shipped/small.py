"""80 columns and 24 lines

In a small terminal each lane is a line, and the charts are shown one at a time.
"""

from concwatch.demos.stage import Stage

SIZE = "80x24"


async def play(stage: Stage) -> None:
    await stage.drag("asyncio", "10k")
    await stage.until(lambda lab: stage.lane("asyncio").settled, text="asyncio has settled")
    await stage.drag("uvloop", "20k")
    await stage.until(lambda lab: stage.lane("uvloop").settled, text="uvloop has settled")
    await stage.drag("threads", "2k")
    await stage.until(lambda lab: stage.lane("threads").settled, text="threads have settled")
    await stage.caption("80 × 24: one line per lane, and one chart at a time (c: the next)")
    await stage.until(lambda lab: stage.lane("asyncio").held(15), text="asyncio has held its target for 15 s")
    await stage.until(
        lambda lab: sum(lane.live for lane in lab.lanes) >= 32_000, text="32,000 tasks are live", limit=60
    )
    await stage.shot("lanes")
