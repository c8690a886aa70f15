"""What one worker is asked to hold, how much of that it is granted at present, and what came of it."""

from msgspec import structs

from concwatch.links.messages import Limit, Reached

_SUMMED = ("created", "cancelled", "seconds")
"""What the parts of a target add up to."""


class Goal:
    """The target of one worker; growth may be granted in parts, so that it cannot pass the memory budget."""

    def __init__(self, tasks: int) -> None:
        self.target = self.asked = tasks
        """Tasks to hold; those asked for last, whatever held them back."""
        self.granted = 0
        """How many of them may be live at present."""
        self.limit: Limit | None = None
        """The wall that holds it short of what was asked."""
        self.reached: Reached | None = None
        """The last target met, its parts added up."""
        self._parts: list[Reached] = []

    def ask(self, tasks: int) -> None:
        """Ask for this many live tasks."""
        self.target = self.asked = tasks
        self.limit = self.reached = None
        self._parts.clear()

    def grant(self, tasks: int) -> None:
        """Let ``tasks`` of those asked for be live at present."""
        self.granted = min(tasks, self.target)

    def clear(self) -> None:
        """Forget what was asked for."""
        self.target = self.asked = self.granted = 0

    @property
    def part_done(self) -> bool:
        """Whether all that was granted has been created, and more is asked for."""
        return bool(self._parts) and self._parts[-1].target == self.granted < self.target

    def meet(self, part: Reached) -> Reached | None:
        """Take the report of what was granted; return that of the whole target once it is met."""
        self._parts.append(part)
        if self.granted < self.target:
            return None  # the rest is granted when there is room for it
        summed = {name: sum(getattr(part, name) for part in self._parts) for name in _SUMMED}
        self._parts.clear()
        self.reached = structs.replace(part, **summed)
        return self.reached

    def stop_at(self, limit: Limit) -> Limit:
        """Take what stands at a wall as the target; return the limit beside what was asked for in all."""
        self.limit = structs.replace(limit, wanted=self.asked)
        self.target = self.granted = min(self.target, limit.standing)
        return self.limit
