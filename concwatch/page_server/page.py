"""The page: where it stands, and what is on it."""

PATH = "/page"
"""The path of its address; the query may say ``latency``, seconds until it is sent."""

SIZE = 102_400
"""Bytes: about what a page of a usual site weighs."""

BACKLOG = 4_096
"""Connections that may wait to be accepted; the system may allow fewer."""

_HEAD = "<!DOCTYPE html>\n<html>\n<head><title>concwatch</title></head>\n<body>\n"
_TAIL = "</body>\n</html>\n"


def make_page() -> bytes:
    """Write the page, the same every time: numbered paragraphs, `SIZE` bytes in all."""
    room = SIZE - len(_HEAD) - len(_TAIL)
    lines = "".join(f"<p>Paragraph {number}: what does one more task cost?</p>\n" for number in range(3_000))
    body = lines[: lines.rindex("\n", 0, room) + 1]
    filler = "\n" * (room - len(body))
    return (_HEAD + body + filler + _TAIL).encode()
