"""Names in the form used in reports."""

MAX_NAME_LENGTH = 200

DEFAULT_NAME = "Task-"
"""The beginning of the names that asyncio gives to tasks."""

FILE = "<concwatch/agent>"
"""The file name of the code that the agent compiles."""


def printable(text: object) -> str:
    """Return a name with at most 200 characters and each unprintable one replaced by ``?``."""
    text = str(text)[:MAX_NAME_LENGTH]
    return text if text.isprintable() else "".join([char if char.isprintable() else "?" for char in text])
