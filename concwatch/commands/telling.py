"""How commands tell what went wrong, and what came out."""

import click

from concwatch.lab.events import plain
from concwatch.printing import tell

BAD_INPUT = 2
"""Exit status for what was asked wrongly."""


def say_error(text: str) -> None:
    """Write ``text`` as one line, whatever a person typed into it."""
    tell(f"concwatch: {plain(' '.join(text.split()))}")


def say_json(value: object) -> None:
    """Write ``value`` on standard output."""
    import json  # only here: the screen has no use for it

    click.echo(json.dumps(value, indent=2))
