"""What agents are asked to do besides counting."""

import math

from msgspec import Struct, structs

from concwatch.portable.agent.blocking.blocks import BLOCKED_AFTER


class AgentOptions(Struct, frozen=True):
    """What agents are asked to do from the beginning."""

    outcomes: bool = False
    """Count how tasks end."""
    timing: bool = False
    """Time tasks and their steps."""
    by_name: bool = False
    """Group tasks that have a name of their own by it."""
    trace: bool = False
    """Trace allocations."""
    blocked_after: float = BLOCKED_AFTER
    """The seconds after which a loop counts as blocked; infinity: blocks are not looked for."""

    @property
    def switches(self) -> dict[str, bool]:
        """The commands that switch something on or off, and which of both."""
        return {name: on for name, on in structs.asdict(self).items() if isinstance(on, bool)}

    @property
    def arguments(self) -> list[str]:
        """The options of an agent that is loaded at the start of its program."""
        names = [name for name, on in self.switches.items() if on]
        return [*names, f"blocked-after:{self.blocked_after:g}"]

    @property
    def block_command(self) -> dict[str, float | None]:
        """The fields of the command that changes ``blocked_after``."""
        return {"seconds": None if math.isinf(self.blocked_after) else self.blocked_after}


DEFAULTS = AgentOptions()
"""What agents do if nothing is asked for."""
