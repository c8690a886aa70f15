"""The agent, as programs call it: ``from concwatch import agent; agent.start()``."""

from concwatch.portable.agent import start, stop

__all__ = ["start", "stop"]
