"""Serve one engine on standard input and output: ``python -m concwatch.portable.worker ENGINE``."""

from concwatch.portable.worker.serve import main

main()
