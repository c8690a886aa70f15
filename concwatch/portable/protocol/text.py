"""Text made safe to show, and suggestions for misspelled names. Standard library only: workers use it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable

LONGEST_LINE = 1_000
"""The maximum number of characters of an error shown on one line."""


def flat(text: str) -> str:
    """Return ``text`` as one line, with single spaces."""
    return " ".join(text.split())


def short_place(place: str) -> str:
    """Return the last two parts of a path, its folder and its name."""
    return "/".join(place.replace("\\", "/").split("/")[-2:])


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Return ``text`` as one line of at most ``longest`` characters.

    The middle is left out, since the end of an error says what to do.
    """
    joined = flat(text)
    if len(joined) <= longest:
        return joined
    tail = longest // 3
    return f"{joined[: longest - tail - 3]} … {joined[-tail:]}"


def plain(text: str) -> str:
    """Replace the control characters in ``text``, except newlines and tabs."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def unknown_name(
    kind: str, word: str, known: Iterable[str], listed_by: str = "", spelt: str | None = None
) -> str:
    """Return the message of an error: ``word`` is none of ``known``.

    Args:
        kind: what it names.
        word: the word.
        known: the words that were expected.
        listed_by: the command that lists them, which is named instead of them.
        spelt: the spelling to suggest the nearest of ``known`` to; None for ``word``.
    """
    word, names = word[:40], list(known)
    expected = f'"{listed_by}" lists all' if listed_by else f"expected one of {', '.join(names)}"
    return f'unknown {kind} "{word}"{suggest(word if spelt is None else spelt, names) or ";"} {expected}'


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a suggestion from ``known``, such as ``; did you mean "sleep"?``, or an empty string."""
    import difflib  # only an error needs it

    found = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f'; did you mean "{found[0]}"?' if found else ""
