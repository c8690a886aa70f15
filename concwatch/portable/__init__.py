"""Code that leaves this process, and runs on Python 3.9 with the standard library alone.

It is sent to other hosts as it is: `worker` runs the tasks of a lane, `agent` reports those of a watched
program; `bridge` and `build` start workers on other hosts and build those of other languages; `machine` reads
the figures of processes and machines, and all speak the `protocol`. It imports nothing else of
concwatch. All other packages run here, on Python 3.11 or newer, and may use libraries.
"""
