"""A workload that lets nothing else of its process run: one call in C that takes hours."""


async def hold() -> None:
    sum(range(10**15))
