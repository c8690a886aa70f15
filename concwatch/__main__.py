"""The program's start: what ``concwatch`` and ``python -m concwatch`` run."""

import gc


def main() -> None:
    """Load the program and run it.

    No garbage is collected until the program itself has it collected again: there is none yet, and to look
    for it delays the first frame by a tenth.
    """
    gc.disable()
    from concwatch import cli, console

    console.fill_missing_streams()
    cli.main()


if __name__ == "__main__":
    main()
