"""Watched programs, here and on other hosts: which processes they have, and who is connected to them.

In: commands, PIDs and hosts. Out: a snapshot of all watched processes, and events.
"""
