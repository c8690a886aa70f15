"""Counts tasks as they are created, and finds the live ones by scanning.

In: each new task, from the functions that `hooking` has replaced. Out: groups with counts, by coroutine
function. It costs the program 0.05 to 0.25 µs per task, and scans in slices of about 1 ms.
"""
