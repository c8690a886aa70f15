"""Finds what memory consists of: what grows, what holds it, and which parts of RSS the C library keeps.

In: the garbage collector's objects and the process's memory maps. Out: types, containers and source lines,
with bytes and counts. Objects are walked in slices of about 1 ms; the rest runs only when a monitor asks.
"""
