"""Loads the agent: into new processes through environment variables, into running ones by a script.

In: the address of a monitor's socket. Out: a process with an agent, once it has something to report. A
Python process without tasks or threads only gets an import hook.
"""
