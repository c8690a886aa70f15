"""Counts tasks as they are created, and finds live ones by scans.

In: each new task, from the functions that `hooking` has replaced. Out: groups with counts, by coroutine
function. It costs the program 0.05 to 0.25 µs a task, and scans in slices of about 1 ms.
"""
