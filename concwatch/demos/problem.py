"""What stops a demo."""


class StepFailed(Exception):
    """A step could not be done; the message says what was expected, and what was seen instead."""


class CannotRun(StepFailed):
    """A step is about an engine that cannot run here."""

    def __init__(self, lane: str, reason: str) -> None:
        super().__init__(f"{lane} cannot run here: {reason}")
        self.lane = lane
        """Its name."""
        self.reason = reason
        """As the screen says it."""
