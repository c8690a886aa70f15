"""The scale of the sliders in the frame of the lanes."""

import re
from itertools import pairwise

import pytest

from concwatch.portable.protocol.units import format_short
from concwatch.ui.widgets.lanes.lane_card import LaneCard
from tests.screen import stage


@pytest.mark.parametrize("size", [(120, 40), (147, 43), (200, 60)])
async def test_the_labels_of_the_scale_are_above_their_stops_and_apart(size):
    async with stage(size) as s:
        side, card = s.monitor.query_one("#side"), s.monitor.query_one("#lane-3", LaneCard)
        border = s.lines()[side.region.y][: side.region.right]
        track = card.content_region.x + card.track.x
        labels = list(re.finditer(r"\d+[kM]?", border))
        assert len(labels) >= 3
        stops = {format_short(stop).replace(" ", ""): stop for stop in card.scale.stops}
        for label in labels:
            at = track + card.scale.cell(stops[label[0]], card.track.width)
            middle = (label.start() + label.end() - 1) / 2
            last = label[0] == labels[-1][0] == "1M"
            assert last or abs(at - middle) <= 0.5, (label[0], border)
        for label, after in pairwise(labels):
            assert after.start() - label.end() >= 2, border
