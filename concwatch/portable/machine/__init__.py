"""Readers of ``/proc`` and control groups: a process's RSS, kernel memory and CPU time, a machine's limits.

In: the number of a process. Out: bytes, seconds and counts as mappings, which bridges send and the monitor
reads alike. A reading of a process takes 20 to 60 µs.
"""
