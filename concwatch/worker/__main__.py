"""Serve one engine on standard input and output: ``python -m concwatch.worker ENGINE``."""

from concwatch.worker.serve import main

main()
