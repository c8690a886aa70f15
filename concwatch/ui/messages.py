"""What a person asked for, as messages that travel from a widget to the screen."""

from textual.message import Message


class LaneMessage(Message):
    """About one lane, by its index."""

    def __init__(self, lane: int) -> None:
        super().__init__()
        self.lane = lane


class LaneSelected(LaneMessage):
    """The keys shall act on this lane."""


class LaneToggled(LaneMessage):
    """Switch this lane on, or off."""


class NumberWanted(LaneMessage):
    """Let an exact target be typed for this lane."""


class TargetAsked(LaneMessage):
    """Hold this many tasks."""

    def __init__(self, lane: int, tasks: int) -> None:
        super().__init__(lane)
        self.tasks = tasks


class TargetMoved(LaneMessage):
    """Hold this many tasks more, or fewer."""

    def __init__(self, lane: int, by: int) -> None:
        super().__init__(lane)
        self.by = by
