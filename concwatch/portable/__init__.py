"""Code that leaves this process, and runs on Python 3.9 with the standard library alone.

What is in this package is sent to other hosts as it is: the protocol, workers, the agent, the bridge,
builds of workers in other languages, and the readers of a machine's figures. It imports nothing else of
concwatch. All other packages run here, on Python 3.11 or newer, and may use libraries.
"""
