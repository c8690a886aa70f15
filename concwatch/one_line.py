"""What a person is told of something wrong: one line, however long and odd the thing is that it quotes."""

LONGEST = 1_000
"""Letters of a line."""


def one_line(text: str, longest: int = LONGEST) -> str:
    """Give ``text`` without line ends; of a long one the beginning, and the end, which says what to do."""
    joined = " ".join(text.split())
    if len(joined) <= longest:
        return joined
    tail = longest // 3
    return f"{joined[: longest - tail - 3]} … {joined[-tail:]}"
