"""The entry point of ``concwatch`` and ``python -m concwatch``."""

import gc


def main() -> None:
    """Load the program and run it.

    Garbage collection is disabled until the program enables it: there is no garbage yet, and looking for
    it delays the first frame by a tenth.
    """
    gc.disable()
    from concwatch.commands import cli, console

    console.fill_missing_streams()
    console.replace_unencodable()
    cli.main()


if __name__ == "__main__":
    main()
