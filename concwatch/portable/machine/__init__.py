"""The figures of a machine and its processes, from ``/proc`` and control groups: one reader for each.

In: the number of a process. Out: bytes, seconds and counts as mappings, which bridges send and the monitor
reads alike. A reading of a process takes 20 to 60 µs.
"""
