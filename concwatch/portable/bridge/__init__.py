"""What runs on another host for the monitor: it starts workers and watches programs there, and relays the
wire.

In: commands on standard input, first the archive of this whole package `portable`. Out: the worker's or the
agents' messages, and the figures of their processes and of the host. Injection of the agent and private
folders are used on this host as well.
"""
