"""10,000 idle TCP connections on threads, asyncio, goroutines, tokio, promises and virtual threads

Six lanes with the workload connect, untraced; engines whose toolchain is missing stay off.
"""

from concwatch.demos.shipped.runtimes import ENGINES, OPTIONAL, SIZE, on, settled
from concwatch.demos.stage import Stage

__all__ = ["ENGINES", "OPTIONAL", "SIZE", "play"]


async def play(stage: Stage) -> None:
    await stage.press("t")
    await stage.type("w", "connect")
    for name in reversed(ENGINES):
        await stage.switch(name)
    await stage.caption("Each task holds a TCP connection to an echo server, which is not measured")
    for name in ENGINES:
        await on(stage, name)
        await stage.drag(name, "10k")
        await settled(stage, name)
    await stage.until(lambda lab: stage.lane("tokio").held(5), text="tokio has held its target for 5 s")
    await stage.caption("What one more idle connection costs: RSS, and the kernel's part of it")
    await stage.shot("held")
