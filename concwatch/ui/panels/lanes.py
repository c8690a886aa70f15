"""The lanes with their sliders, and the settings that they share."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from textual.widget import Widget

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.protocol.units import format_bytes
from concwatch.ui.look.layout import Layout
from concwatch.ui.panels.panel import SidePanel
from concwatch.ui.widgets.lanes.common_panel import CommonPanel
from concwatch.ui.widgets.lanes.lane_card import LaneCard, LaneControls
from concwatch.ui.widgets.lanes.sidebar import Sidebar

NAME_CELLS = 8
"""Minimum width of the column of lane names, in cells."""

HOSTS = 4
"""The hosts for which there is room in a cluster, so that nothing moves when the first ones join."""


class LanePanel(SidePanel):
    """Shows a card for each lane, of which one is selected, and the common settings."""

    def __init__(self, refuse: Callable[[], object] | None = None, hosts_join: bool = False) -> None:
        """Create the panel.

        Args:
            refuse: notifies that nothing can be changed; None if `controls` will be set.
            hosts_join: whether hosts may join, as in a cluster.
        """
        self._refuse, self._hosts_join = refuse, hosts_join
        self.controls: LaneControls | None = None
        """What changes the lanes; None if nothing does."""
        self._side = Sidebar(id="side")
        self._cards: list[LaneCard] = []
        self._settings = CommonPanel(self._press)
        self._selected = 0

    @property
    def selected(self) -> int:
        """Index of the lane that the keys act on."""
        return self._selected

    def widgets(self) -> Iterable[Widget]:
        """Create the cards, and the settings below them."""
        self._cards = self._new_cards()
        with self._side:
            yield from self._cards
            yield self._settings

    def _new_cards(self) -> list[LaneCard]:
        lanes, colors = self.screen.snapshot.lanes, self.screen.lane_colors
        name_width = max(NAME_CELLS, self.name_width() + 1 + (max(self.rows(self.screen.snapshot)) > 9))
        make: Callable[..., LaneCard] = partial(LaneCard, self.controls)
        if self._refuse is not None:
            from concwatch.ui.widgets.lanes.recorded_card import RecordedCard  # only in a replay

            make = partial(RecordedCard, self.select, self._refuse)
        return [
            make(index, lane.name, name_width, lane.slider_end, color, index == self._selected)
            for index, (lane, color) in enumerate(zip(lanes, colors, strict=True))
        ]

    def _press(self, key: str) -> object:
        """Do what the key of a setting does."""
        return self.screen.keyboard.press(key) if self._refuse is None else self._refuse()

    async def replace(self, selected: int) -> None:
        """Replace the cards after the lanes have changed, and select lane ``selected``."""
        async with self.screen.rearranging():
            self._selected = selected
            self._cards = self._new_cards()
            await self._side.query(LaneCard).remove()
            await self._side.mount_all(self._cards, before=0)
        self.select(selected)

    def select(self, lane: int) -> None:
        """Select lane ``lane`` (0-based), if there is one."""
        if lane < len(self._cards):
            card, screen = self._cards[lane], self.screen
            self._mark(lane)
            # Immediately, unlike Widget.focus(): the next key may already be queued.
            if card in screen.focus_chain:
                screen.set_focus(card)
            elif isinstance(screen.focused, LaneCard):
                screen.set_focus(None)
            card.scroll_visible(animate=False)

    def _mark(self, lane: int) -> None:
        if lane != self._selected:
            self._selected = lane
            for index, card in enumerate(self._cards):
                card.selected = index == lane

    def focused(self, widget: Widget) -> None:
        """Select the lane whose card has got the focus."""
        if isinstance(widget, LaneCard) and widget in self._cards:
            self._mark(self._cards.index(widget))

    def rows(self, snapshot: Snapshot) -> tuple[int, int]:
        """Return the number of lanes with no row unfolded, and with all; more if hosts may join."""
        if self._refuse is not None:  # in a recording, each lane has its row
            return len(snapshot.lanes), len(snapshot.lanes)
        folded = len({lane.own_name for lane in snapshot.lanes})
        unfolded = sum(len(lane.names) for lane in snapshot.lanes)
        return folded, max(unfolded, folded * HOSTS if self._hosts_join else 0)

    def name_width(self) -> int:
        """Return the cells of the longest name of a row, unfolded or not."""
        lanes = self.screen.snapshot.lanes
        return max((len(name) for lane in lanes for name in (lane.name, *lane.names)), default=0)

    def number(self, lane: int) -> int:
        """Return the number on a lane's card, which is its key if it has only one digit."""
        return lane + 1

    def on_top(self, lane: int) -> bool:
        """Return whether a lane is the selected one."""
        return lane == self._selected

    def held(self) -> Mapping[int, int]:
        """Return the targets at the sliders that are being dragged, by lane."""
        held = ((index, card.held) for index, card in enumerate(self._cards))
        return {index: tasks for index, tasks in held if tasks is not None}

    def place(self, found: Layout) -> None:
        """Set the rows of the lanes and settings."""
        self._side.styles.width = found.side
        self._side.styles.height = "1fr" if found.beside else found.lanes * found.card + found.settings
        unlisted = not found.below.table or found.listed < len(self._cards)
        for card in self._cards:
            card.place(found.card, found.card_width, found.beside, unlisted)
        gap = max(0, found.lanes - len(self._cards)) * found.card if found.beside else 0
        self._settings.styles.height = found.settings
        self._settings.styles.margin = (gap, 0, 0, 0)

    def show(self, snapshot: Snapshot) -> None:
        """Update the cards, the settings, and the total memory."""
        for card, lane in zip(self._cards, snapshot.lanes, strict=True):
            card.show(lane, snapshot.settings.refill, lane.slider_end)
        self._settings.show(snapshot)
        used, allowed = format_bytes(snapshot.total_memory), format_bytes(snapshot.budget)
        self._side.set_subtitle(f"memory: {used} of {allowed}")

    def recolor(self) -> None:
        """Set the colors of the cards."""
        for card, color in zip(self._cards, self.screen.lane_colors, strict=True):
            card.color = color
