"""``python -m concwatch``: the same as the command ``concwatch``."""

from concwatch.cli import main

main()
