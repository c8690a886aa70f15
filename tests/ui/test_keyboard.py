"""The keys of a screen: bindings, bar, help and palette are made from rows."""

from concwatch.ui.base.keyboard import SAME, Keyboard, Row, bar, bindings, help_lines, palette
from concwatch.ui.widgets.bars.key_bar import HelpKey, Key


async def test_one_row_makes_a_binding_an_entry_in_bar_help_and_palette_and_is_pressed():
    pressed = []

    async def later(key):
        pressed.append(key)

    rows = (
        Row("a", lambda on: on("a"), "first", bar="late", rank=2),
        Row("plus,equals_sign", lambda on: on("plus"), SAME, title="More"),
        Row("c,d", lambda on: on("c"), "last", "early", 1, title="C"),
        Row("", lambda on: on("e"), title="No key", about="only here"),
        Row("", None, "another widget's", sign="tab"),
    )
    keyboard = Keyboard(rows, later)
    assert [binding.key for binding in bindings(rows)] == ["a", "plus", "equals_sign", "c", "d"]
    assert help_lines(rows) == [
        ([HelpKey("a", "a"), HelpKey("+", "plus")], "first"),
        ([HelpKey("c", "c")], "last"),
        ([HelpKey("tab", "")], "another widget's"),
    ]
    assert bar(rows) == [Key("c", "early", "c"), Key("a", "late", "a")]
    assert bar(rows, {"c": "", "a": "other"}) == [Key("a", "other", "a")]
    entries = list(palette(rows, keyboard.press))
    assert [(entry.title, entry.help) for entry in entries] == [
        ("More", "+  first"), ("C", "c  last"), ("No key", "only here"),
    ]  # fmt: skip
    for entry in entries:
        await entry.callback()
    await keyboard.press("equals_sign")
    assert pressed == ["plus", "c", "e", "plus"]


def test_a_key_of_a_widget_is_in_the_bar_only_with_a_word_and_then_in_place_of_another_with_its_name():
    rows = (
        Row("left", print, "back", bar="1 s", rank=1),
        Row("left", None, "move the cursor", sign="tab ← →", bar_sign="← →"),
    )
    assert bar(rows) == [Key("←", "1 s", "left")]
    assert bar(rows, {"left": "cursor"}) == [Key("← →", "cursor", "")]
