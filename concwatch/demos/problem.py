"""What stops a demo."""


class StepFailed(Exception):
    """A step could not be done; the message says what was expected, and what was seen instead."""
