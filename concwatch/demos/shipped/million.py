"""The climb to a million asyncio tasks

One worker starts a million sleeping tasks, and holds them all at once.
"""

from concwatch.demos.stage import Stage

ENGINES = ("asyncio",)


async def play(stage: Stage) -> None:
    await stage.press("t")
    await stage.type("w", "sleep:600")
    await stage.switch("asyncio")
    await stage.until(lambda lab: stage.lane("asyncio").on, text="asyncio runs")
    await stage.caption("The slider's right end: a million tasks in one process, on one thread")
    await stage.drag("asyncio", "1M")
    await stage.until(
        lambda lab: stage.lane("asyncio").live >= 1_000_000, text="asyncio holds 1,000,000 tasks", limit=300
    )
    await stage.until(lambda lab: stage.lane("asyncio").settled, text="asyncio has settled")
    await stage.caption("A million sleeping asyncio tasks: what each takes, and how many would fit")
    await stage.until(lambda lab: stage.lane("asyncio").held(4), text="asyncio has held its target for 4 s")
    await stage.shot("held")
