"""Small files of the system, read without complaint: what is not there, or not as expected, is None."""


def read_text(path: str) -> str | None:
    """Give the text of a file without the white space around it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096).strip()
    except OSError:
        return None


def read_number(path: str) -> int | None:
    """Give the whole number that a file holds."""
    try:
        return int(read_text(path) or "")
    except ValueError:
        return None
