"""The target of one worker, and how many of its tasks are granted at present."""

from msgspec import Struct, structs

from concwatch.links.messages import Limit, Reached

_SUMMED = ("created", "cancelled", "seconds")
"""The fields that are summed over the parts of a target."""


class Target(Struct, frozen=True):
    """How many live tasks a worker is to hold; growth is granted in parts if memory is scarce."""

    tasks: int = 0
    """Tasks to hold."""
    asked: int = 0
    """Tasks requested last: at a limit, ``tasks`` becomes what is live."""
    granted: int = 0
    """How many tasks may be live at present."""
    limit: Limit | None = None
    """The limit that stopped it below ``asked``."""
    reached: Reached | None = None
    """The report of the whole target, its parts summed; None until it is reached."""
    parts: tuple[Reached, ...] = ()
    """The reports of the granted parts so far."""

    def grant(self, tasks: int) -> "Target":
        """Return the target of which ``tasks`` may be live at present."""
        return structs.replace(self, granted=min(tasks, self.tasks))

    @property
    def awaits_grant(self) -> bool:
        """Whether all granted tasks have been created, and the target is higher."""
        return bool(self.parts) and self.parts[-1].target == self.granted < self.tasks

    def add_part(self, part: Reached) -> "Target":
        """Return the target after the granted part was reached; it may be the last."""
        parts = (*self.parts, part)
        if self.granted < self.tasks:  # the rest is granted once there is room for it
            return structs.replace(self, parts=parts)
        summed = {name: sum(getattr(each, name) for each in parts) for name in _SUMMED}
        return structs.replace(self, parts=(), reached=structs.replace(part, **summed))

    def stop_at(self, limit: Limit) -> "Target":
        """Return the target after ``limit`` stopped its growth: what is live then."""
        tasks = min(self.tasks, limit.standing)
        return structs.replace(
            self, tasks=tasks, granted=tasks, limit=structs.replace(limit, wanted=self.asked)
        )

    def clear(self) -> "Target":
        """Return the target of a worker that has failed or has run a burst."""
        return structs.replace(self, tasks=0, asked=0, granted=0)


def target_of(tasks: int) -> Target:
    """Return a new target, of which nothing is granted yet."""
    return Target(tasks, tasks)
