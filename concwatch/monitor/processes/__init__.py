"""One watched process: its present state, its history, what is concluded from both, and its connection.

In: the reports of its agent, and readings of the process. Out: its figures and events.
"""
