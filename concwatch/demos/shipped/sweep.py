"""How many at once are enough

Each task asks a service that answers fifty at a time. More tasks than that wait longer for the same throughput.
"""

from concwatch.demos.stage import Stage

ENGINES = ("asyncio",)


async def play(stage: Stage) -> None:
    await stage.type("w", "concwatch.demos.programs.jobs:ask")
    await stage.caption("A service answers fifty at once: how large a semaphore?")
    await stage.film()
    await stage.type("H", "500")
    await stage.caption("H measures it with more and more tasks at once")
    await stage.until(lambda lab: stage.sees("256 tasks"), text="256 tasks are being measured", limit=60)
    await stage.caption("Left: tasks ended per second. Right: how long a task takes")
    await stage.until(lambda lab: stage.sees("are enough"), text='"are enough" is shown', limit=120)
    await stage.caption("The fewest tasks with 95 % of the best throughput are marked")
    await stage.shot("enough")
    await stage.shot("throughput", "throughput")
