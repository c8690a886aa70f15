"""Sends reports to the monitor, and receives its commands.

In: the counts of the other packages. Out: messages, as `concwatch.links.agent_messages` specifies them, over
a Unix socket that only the user can open. One thread of its own does all this, using at most 1 % of the time.
What it does is a table of parts in `session`: each has a step that is due at some time, fields of a tick, a
last report, or something to undo (`concwatch.portable.agent.basics.part`).
"""
