"""Pictures that are saved by keys."""

import asyncio
import os
import re
import subprocess
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from textual.errors import NoWidget

from concwatch.pictures import png
from concwatch.pictures.png import to_png
from concwatch.ui.apps.picture_files import picture_path
from tests.pictures.terminals import open_picture
from tests.screen import stage, svg_lines


async def see_toast(s, *texts):
    """Wait for a toast that contains all ``texts``, possibly broken across lines."""

    def toast_text():
        toasts = s.app.screen.query("Toast")
        try:
            return " ".join(s.text(toasts.last()).replace("▌", " ").split()) if toasts else ""
        except NoWidget:  # not laid out yet
            return ""

    await s.until(
        lambda: all(text in toast_text() for text in texts), lambda: f"expected {texts}: {toast_text()}"
    )


async def wait_until_saved(s, folder, count):
    await s.until(lambda: len(list(folder.glob("*.png"))) == count, f"{count} PNG")
    await see_toast(s, "saved ")
    s.app.clear_notifications()
    await s.until(lambda: not s.app.screen.query("Toast"), "toasts are gone")


def texts_of(picture):
    """Return the texts of an SVG file."""
    elements = ElementTree.fromstring(picture.read_text("utf-8")).iter()
    return [element.text.strip() for element in elements if element.text and element.text.strip()]


async def draw_in_process(svg):
    return to_png(svg)


@pytest.mark.real
async def test_s_saves_the_screen_and_shift_s_the_focused_or_first_chart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "shown [here]"  # brackets are markup elsewhere
    async with stage(pictures=Path(folder.name)) as s:
        await s.press("t", "t")  # nothing has been measured yet: the slide does not tell
        await s.switch_on("threads", "asyncio", tasks=2_000)
        await s.run(5)
        lines = s.lines()
        s.app.pictures.cells = True
        await s.press("s")
        await see_toast(s, "saved shown [here]/concwatch-", ".svg", ".png")
        await wait_until_saved(s, folder, 1)
        (svg,), (png,) = folder.glob("*.svg"), folder.glob("*.png")
        assert sorted(folder.iterdir()) == [svg.with_suffix(".png"), svg] == [png, svg]
        assert svg_lines(svg.read_text("utf-8"), 120, 40) == lines
        assert open_picture(png.read_bytes()).width > 1_400

        monkeypatch.setattr("concwatch.ui.apps.picture_files.draw_png", draw_in_process)
        await s.press("S")
        await wait_until_saved(s, folder, 2)
        (rss,) = (path for path in folder.glob("*.svg") if re.match(r"concwatch-rss-\d{4}-", path.name))
        chart = s.chart("created_per_second")
        chart.focus()
        await s.settle()
        await s.press("S")
        await wait_until_saved(s, folder, 3)
        (rate,) = folder.glob("concwatch-created-s-2*.svg")
        labels = [text for text in texts_of(rate) if re.fullmatch(r"[a-z]+ [0-9.]+/s", text)]
        assert {label.partition(" ")[0] for label in labels} == {"threads", "asyncio"}
        assert "created / s" in texts_of(rate)
        conditions = texts_of(rate)[-1]
        assert conditions.startswith("each task sleeps 10 s · untraced · CPython")
        picture = open_picture(rate.with_suffix(".png").read_bytes())
        assert picture.size == (1280, 720)
        assert picture.getchannel("A").getextrema() == (255, 255), "opaque"

        # By the palette, which is not in the picture itself.
        s.chart("rss").focus()
        await s.press("ctrl+p")
        await s.sees("Search for commands")
        for letter in "Chart scr":
            await s.press("space" if letter == " " else letter)
        await s.sees("Chart screenshot")
        await s.press("enter")
        await wait_until_saved(s, folder, 4)
        (last,) = set(folder.glob("*.svg")) - {svg, rss, rate}
        assert "RSS" in texts_of(last)

        for chart in s.monitor.query("Chart"):
            chart.display = False
        await s.settle()
        await s.press("S")
        await see_toast(s, "no chart is visible")
        assert len(list(folder.iterdir())) == 8


async def test_drawing_a_png_does_not_block_the_screen_and_quitting_waits_only_briefly(tmp_path, monkeypatch):
    finish = asyncio.Event()
    finish.set()

    async def draw_slowly(svg):
        await finish.wait()
        return b"a PNG"

    monkeypatch.setattr("concwatch.ui.apps.picture_files.can_draw", lambda: True)
    monkeypatch.setattr("concwatch.ui.apps.picture_files.draw_png", draw_slowly)
    monkeypatch.setattr("concwatch.ui.apps.pictures.TIMEOUT", 0.1)
    async with stage(pictures=tmp_path / "quit") as s:  # quitting waits for a picture just requested
        await s.press("s", "q")
        await s.until(lambda: not s.app.is_running, "the app ends")
    assert sorted(path.suffix for path in (tmp_path / "quit").iterdir()) == [".png", ".svg"]
    finish.clear()
    async with stage(pictures=tmp_path) as s:
        await s.press("s", "3", "plus")
        await s.run(1)
        assert s.lane("asyncio").live
        assert not list(tmp_path.glob("*.png"))
        finish.set()
        await wait_until_saved(s, tmp_path, 1)
        finish.clear()
        await s.press("s", "q")
        await s.until(lambda: not s.app.is_running, "the app ends")
    assert sorted(path.suffix for path in tmp_path.glob("*.*")) == [".png", ".svg", ".svg"]


async def test_without_the_extra_s_saves_svg_and_explains_png_once(tmp_path, monkeypatch):
    monkeypatch.setattr(png, "can_draw", lambda: False)
    monkeypatch.setattr("concwatch.ui.apps.picture_files.can_draw", lambda: False)
    async with stage(pictures=tmp_path) as s:
        await s.press("s")
        await see_toast(s, "saved", "pip install 'concwatch[shots]'")
        await s.press("s")
        await s.until(lambda: len([*tmp_path.iterdir()]) == 2, "a second picture")
        await see_toast(s, "saved")
        assert "pip" not in s.text(s.toast())
        assert [path.suffix for path in tmp_path.iterdir()] == [".svg"] * 2
        second = max(tmp_path.iterdir()).read_text(encoding="utf-8")
        assert "saved" not in second, "the toast of the first picture is not in the second"


async def test_a_png_that_cannot_be_saved_is_reported_in_one_toast(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replace, png = os.replace, asyncio.Future()

    def refuse_process(*command, **options):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    def refuse_file(old, new):
        if str(new).endswith(".png"):
            raise OSError(28, "No space left on device", str(new))
        replace(old, new)

    png.set_result(b"a PNG")
    async with stage(pictures=Path()) as s:
        with monkeypatch.context() as patched:
            patched.setattr(subprocess, "Popen", refuse_process)
            await s.press("s")
            await see_toast(s, "but no PNG", "Resource temporarily unavailable")
        s.app.clear_notifications()
        monkeypatch.setattr("concwatch.ui.apps.picture_files.draw_png", lambda svg: png)
        monkeypatch.setattr(os, "replace", refuse_file)
        await s.press("s")
        await see_toast(s, "but no PNG", "No space left on device")
        assert len(s.app.screen.query("Toast")) == 1
        assert [path.suffix for path in tmp_path.iterdir()] == [".svg"] * 2


def test_picture_names_are_unique_among_svg_and_png(tmp_path):
    now = datetime(2026, 1, 2, 3, 4, 5)
    names = []
    for suffix in (".svg", ".png", ".svg"):
        path = picture_path(tmp_path, now, "created / s")
        names.append(path.name)
        path.with_suffix(suffix).touch()
    stem = "concwatch-created-s-2026-01-02-030405"
    assert names == [f"{stem}.svg", f"{stem}-2.svg", f"{stem}-3.svg"]
