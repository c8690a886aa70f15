"""Goroutines, tokio, virtual threads, promises and asyncio climb to 100,000; threads to 10,000

Six lanes, untraced; engines whose toolchain is missing stay off. The first time they are built, which may take
a minute.
"""

from concwatch.demos.stage import Stage

SIZE = "180x58"
ENGINES = ("threads", "asyncio", "node", "java-virtual", "go", "tokio")
OPTIONAL = ("node", "java-virtual", "go", "tokio")


async def play(stage: Stage) -> None:
    await stage.press("t")
    await stage.type("w", "sleep:600")
    for name in reversed(ENGINES):
        await stage.switch(name)
    await stage.caption(
        "Each lane is a program of its own, in its own language; the first time it is built here"
    )
    for name in reversed(ENGINES):
        await on(stage, name)
    await stage.caption("10,000 threads, and 100,000 of each other kind")
    for name in ENGINES:
        await stage.drag(name, "10k" if name == "threads" else "100k")
    for name in ENGINES:
        await settled(stage, name)
    await stage.until(lambda lab: stage.lane("tokio").held(3), text="tokio has held its target for 3 s")
    await stage.caption("Memory per task, and how many times the cheapest: the same sleep in every lane")
    await stage.shot("held")


async def on(stage: Stage, name: str) -> None:
    await stage.until(lambda lab: stage.lane(name).on, text=f"{name} runs", limit=300)


async def settled(stage: Stage, name: str) -> None:
    await stage.until(lambda lab: stage.lane(name).settled, text=f"{name} has settled", limit=120)
