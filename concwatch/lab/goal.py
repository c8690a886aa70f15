"""The target of one worker, and how many of its tasks are granted at present."""

from msgspec import structs

from concwatch.links.messages import Limit, Reached

_SUMMED = ("created", "cancelled", "seconds")
"""The fields that are summed over the parts of a target."""


class Goal:
    """The target of one worker; growth can be granted in parts, which keeps it within the memory budget."""

    def __init__(self, tasks: int) -> None:
        self.target = self.asked = tasks
        """Tasks to hold, and those requested last: at a wall the target becomes what is live."""
        self.granted = 0
        """How many tasks may be live at present."""
        self.limit: Limit | None = None
        """The wall that stopped it below the requested target."""
        self.reached: Reached | None = None
        """The report of the last target that was reached, its parts summed."""
        self._parts: list[Reached] = []

    def set_target(self, tasks: int) -> None:
        """Set the number of live tasks to hold."""
        self.target = self.asked = tasks
        self.limit = self.reached = None
        self._parts.clear()

    def grant(self, tasks: int) -> None:
        """Allow ``tasks`` of the target to be live at present."""
        self.granted = min(tasks, self.target)

    def clear(self) -> None:
        """Clear the target."""
        self.target = self.asked = self.granted = 0

    @property
    def part_done(self) -> bool:
        """Whether all granted tasks have been created, and the target is higher."""
        return bool(self._parts) and self._parts[-1].target == self.granted < self.target

    def handle_reached(self, part: Reached) -> Reached | None:
        """Add the report of the granted part; return the report of the whole target once it is reached."""
        self._parts.append(part)
        if self.granted < self.target:
            return None  # the rest is granted once there is room for it
        summed = {name: sum(getattr(part, name) for part in self._parts) for name in _SUMMED}
        self._parts.clear()
        self.reached = structs.replace(part, **summed)
        return self.reached

    def handle_limit(self, limit: Limit) -> Limit:
        """Set the target to what is live at a wall; return the limit with the whole target requested."""
        self.limit = structs.replace(limit, wanted=self.asked)
        self.target = self.granted = min(self.target, limit.standing)
        return self.limit
