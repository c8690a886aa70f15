"""The monitor screen is composed of panels; one more is a class of its own."""

from textual.widgets import Static

from concwatch.ui.apps import app
from concwatch.ui.panels.panel import Panel
from tests.screen import stage


class LivePanel(Panel):
    """Shows the live tasks of all lanes."""

    def __init__(self):
        self.calls = []
        self.line = Static()
        self.line.styles.height = 1

    def widgets(self):
        return [self.line]

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")

    def show(self, snapshot):
        self.line.update(f"{sum(lane.live for lane in snapshot.lanes)} tasks in all lanes")


async def test_a_panel_that_is_added_is_started_shown_and_stopped(monkeypatch):
    parts, panel = app.Parts, LivePanel()
    monkeypatch.setattr(app, "Parts", lambda *of: parts(*of[:3], [*of[3], panel], *of[4:]))
    async with stage(size=(120, 45)) as s:
        await s.switch_on("asyncio", tasks=30)
        await s.switch_on("uvloop", tasks=20)
        await s.run(1)
        await s.sees("50 tasks in all lanes", within=panel.line)
        assert panel.calls == ["start"]
    assert panel.calls == ["start", "stop"]
