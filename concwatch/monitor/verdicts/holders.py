"""What holds something in a watched process, in words."""

from typing import TYPE_CHECKING

from msgspec import Struct, structs

from concwatch.portable.protocol.text import plain, short_place
from concwatch.portable.protocol.units import format_bytes, format_count

if TYPE_CHECKING:
    from concwatch.links.agent_messages import Container, HeldValue, Holder


REGISTRIES = {"atexit": "the number of functions registered with `atexit`"}
"""What the interpreter holds itself, by the name in reports."""


def held_text(held: "HeldValue", count: int = 1) -> str:
    """Return what is held and by what: ``the asyncio.Queue `q` in producer (app.py:36)``.

    Args:
        held: the object.
        count: how many of its kind there are.
    """
    if held.kind in REGISTRIES:
        return REGISTRIES[held.kind]
    kind = plain(held.kind)
    plural = f"{kind}s" if kind.isidentifier() else f"of type {kind}"
    what = f"the {kind}" if count == 1 else f"{format_count(count)} {plural}"
    if held.within:
        what += f" in the {plain(held.within)}"
    if not held.holders:
        return f"{what} (held by something unknown)" if count == 1 else what
    first = held.holders[0]
    places = [_place(one, one.name == first.name) for one in held.holders]
    *most, last = places
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"{what} `{plain(first.name)}` in {listed}" if first.name else f"{what} of {listed}"


def kept_text(held: "HeldValue") -> str:
    """Return what holds some objects, to be added to a sentence; empty if that is not known."""
    if not held.holders:
        return ""
    if held.within:
        return f"; kept by {held_text(structs.replace(held, kind=held.within, within=''))}"
    first = held.holders[0]
    return f"; kept as {_place(first, False)}" if first.name else f"; kept by {_place(first, True)}"


def _place(holder: "Holder", is_named: bool) -> str:
    where = f" ({plain(short_place(holder.where))})" if holder.where else ""
    name = "" if is_named else f"`{plain(holder.name)}` in "
    return f"{name}{plain(holder.in_)}{where}"


class GrowingContainer(Struct, frozen=True):
    """A container that grows, or several within another one."""

    found: "Container"
    seconds: float
    """How long it was observed."""

    @property
    def per_minute(self) -> float:
        """How many items it has more each minute."""
        return 60 * self.found.grown / max(self.seconds, 1e-3)

    @property
    def bytes_per_minute(self) -> float | None:
        """About how many bytes these take; None if that is unknown."""
        return None if self.found.bytes is None else 60 * self.found.bytes / max(self.seconds, 1e-3)

    def text(self) -> str:
        """Return what it is, and how fast it grows."""
        found = self.found
        verb = "grows" if found.count == 1 else "grow"
        size = format_bytes if found.in_bytes else format_count
        unit = "" if found.in_bytes else " items"
        function = f" (the newest refer to {_place(found.function, True)})" if found.function else ""
        return (
            f"{held_text(found, found.count)} {verb} by {size(self.per_minute)}{unit} a minute, "
            f"to {size(found.items)}{function}"
        )

    def as_json(self) -> dict[str, object]:
        """Return its entry in the report."""
        found = self.found
        holders = [{"name": one.name or None, "in": one.in_, "where": one.where} for one in found.holders]
        return {
            "kind": found.kind,
            "within": found.within or None,
            "count": found.count,
            "items": found.items,
            "unit": "bytes" if found.in_bytes else "items",
            "per_minute": round(self.per_minute, 1),
            "holders": holders,
        }
