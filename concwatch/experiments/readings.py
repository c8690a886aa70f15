"""What can be read of a run, and how it is made: data."""

from concwatch.measure.figures import BY_NAME, Figure

BURST, HOLD = "burst", "hold"
ACTIONS = {
    BURST: "create all without a pause and let them end, as the articles' scripts do",
    HOLD: "create all in short slices, as the screen does, and hold them",
}

BOTH = ("traced_added", "traced_per_task", "peak_rss", "gc_seconds", "longest_stall")
"""The figures of a burst that held tasks have, too."""

TRACED = ("traced_bytes", "traced_added", "traced_per_task", "tracer")
"""Those that need tracing; all others are never taken while tracing, unless that is the subject."""

READINGS: dict[str, Figure] = {
    name: figure for name, figure in BY_NAME.items() if name not in ("ratio", "stop_seconds", "retained_rss")
}
"""The figures that a table of an experiment can be of: none of what comes after the tasks' end."""


def actions_of(figure: Figure) -> tuple[str, ...]:
    """Return the actions that give a figure."""
    if figure.name in BOTH:
        return BURST, HOLD
    return (BURST,) if figure.burst else (HOLD,)
