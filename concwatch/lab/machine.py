"""What was measured with, and where: for who reads the figures elsewhere."""

import platform

from concwatch.lab.limits import memory_now
from concwatch.lab.sampler import cores


def program_version() -> str:
    """Give concwatch's own version."""
    from importlib.metadata import PackageNotFoundError, version  # 12 ms that the screen need not wait for

    try:
        return version("concwatch")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "0+checkout"


def describe_machine() -> dict[str, object]:
    """Describe this machine; memory in bytes."""
    memory = memory_now()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cores": cores(),
        "memory_total": memory.total,
        "memory_available": memory.available,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }
