"""10,000 threads beside 10,000 asyncio and 10,000 uvloop tasks

Each lane holds 10,000 sleeping tasks, untraced, and replaces those that end; the cost table says what one takes.
"""

from concwatch.demos.stage import Stage

ENGINES = ("asyncio", "uvloop", "threads")


async def play(stage: Stage) -> None:
    await stage.caption(
        "What does one more task cost? Each lane is a process of its own, measured from outside"
    )
    await stage.press("t")
    for engine in ENGINES:
        await stage.switch(engine)
    await stage.until(lambda lab: all(stage.lane(engine).on for engine in ENGINES), text="three lanes on")
    await stage.film()
    await stage.caption("10,000 asyncio tasks")
    await stage.drag("asyncio", "10k")
    await stage.until(lambda lab: stage.lane("asyncio").settled)
    await stage.until(lambda lab: stage.lane("asyncio").held(1))
    await stage.caption("10,000 asyncio tasks on uvloop: another loop, the same tasks")
    await stage.drag("uvloop", "10k")
    await stage.until(lambda lab: stage.lane("uvloop").settled)
    await stage.until(lambda lab: stage.lane("uvloop").held(1))
    await stage.caption("10,000 threads")
    await stage.drag("threads", "10k")
    await stage.until(lambda lab: stage.lane("threads").settled, limit=90)
    await stage.caption(
        "RSS per task, and how many times the cheapest: a thread weighs as much as many tasks on a loop"
    )
    await stage.until(lambda lab: stage.lane("threads").held(3))
    await stage.shot("held")
