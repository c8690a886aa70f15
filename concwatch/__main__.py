"""The entry point of ``concwatch`` and ``python -m concwatch``."""

import gc
import sys


def main() -> None:
    """Load the program and run it.

    Garbage collection is disabled until the program enables it: there is no garbage yet, and looking for
    it delays the first frame by a tenth. Without arguments and settings, click is not loaded either.
    """
    gc.disable()
    from concwatch.commands.basics import console, settings_file
    from concwatch.commands.basics.exits import dying_of_signals

    console.fill_missing_streams()
    console.replace_unencodable()
    with dying_of_signals():
        if len(sys.argv) == 1 and not settings_file.may_be_set():
            from concwatch.commands.screens.screen import open_default_screen

            with console.clean_exit():
                open_default_screen()
        from concwatch.commands import cli

        cli.main()


if __name__ == "__main__":
    main()
