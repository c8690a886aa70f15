"""10,000 threads beside 10,000 asyncio and 10,000 uvloop tasks

Each lane holds 10,000 sleeping tasks, untraced; the cost table says what one takes.
"""

from concwatch.demos.stage import Stage
from concwatch.lab.lab import Lab


async def play(stage: Stage) -> None:
    def held(lab: Lab) -> bool:
        """Return whether all are live, and no tasks end at present."""
        loops = (stage.lane("asyncio"), stage.lane("uvloop"))
        quiet = all(lane.figure("completed_per_second") < 1 for lane in loops)
        return quiet and sum(lane.live for lane in lab.lanes) >= 29_900

    await stage.film()
    await stage.caption("What does one more task cost? Each lane is a process of its own; tracing is off: t")
    await stage.press("t", "[")
    await stage.type("w", "sleep:15")
    await stage.switch("threads")
    await stage.switch("uvloop")
    await stage.switch("asyncio")
    await stage.until(lambda lab: stage.lane("asyncio").on)
    await stage.until(lambda lab: stage.lane("threads").on)
    await stage.caption("10,000 asyncio tasks")
    await stage.drag("asyncio", "10k")
    await stage.until(lambda lab: stage.lane("asyncio").settled)
    await stage.until(lambda lab: stage.lane("asyncio").held(2))
    await stage.caption("10,000 asyncio tasks on uvloop: another loop, the same tasks")
    await stage.drag("uvloop", "10k")
    await stage.until(lambda lab: stage.lane("uvloop").settled)
    await stage.until(lambda lab: stage.lane("uvloop").held(2))
    await stage.caption("10,000 threads")
    await stage.drag("threads", "10k")
    await stage.until(lambda lab: stage.lane("threads").settled, limit=90)
    await stage.caption(
        "RSS per task, and how many times the cheapest: a thread weighs as much as many tasks on a loop"
    )
    await stage.until(lambda lab: stage.lane("uvloop").figure("completed_mean") > 500)
    await stage.until(held, limit=60, text="30,000 tasks live and none ending")
    await stage.shot("held")
