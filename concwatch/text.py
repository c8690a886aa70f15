"""Text made safe to show, and names nearly met; standard library only, since workers use it, too."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable

LONGEST_LINE = 1_000
"""Characters of an error's line."""


def flat(text: str) -> str:
    """Return ``text`` in one line."""
    return " ".join(text.split())


def short_place(place: str) -> str:
    """Return the end of a path, with a line or without, that tells it from others: its folder and name."""
    return "/".join(place.replace("\\", "/").split("/")[-2:])


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Return ``text`` in one line; of a long one the beginning, and the end, which says what to do."""
    joined = flat(text)
    if len(joined) <= longest:
        return joined
    tail = longest // 3
    return f"{joined[: longest - tail - 3]} … {joined[-tail:]}"


def plain(text: str) -> str:
    """Return ``text`` without characters that could command a terminal; line ends and tabs stay."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def unknown(kind: str, word: str, known: Iterable[str]) -> str:
    """Return one line that says that ``word`` is none of ``known``, and which of them was probably meant."""
    word = word[:40]
    return f'unknown {kind} "{word}": expected one of {", ".join(known)}{nearest(word, known)}'


def nearest(word: str, known: Iterable[str]) -> str:
    """Return which of ``known`` was probably meant, as ``; did you mean "sleep"?``; empty if none is near."""
    import difflib  # only an error needs it

    found = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return f'; did you mean "{found[0]}"?' if found else ""
