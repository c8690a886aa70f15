"""How the whole suite runs."""

import os
import signal

from hypothesis import settings

# The same examples in every run: a change is judged by itself, not by the luck of the day. New ones are
# looked for with --hypothesis-profile=explore.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", max_examples=1000)
settings.load_profile("same")

# Nor by the settings of who runs it: this is an empty file, for this process and those that it starts.
os.environ["CONCWATCH_SETTINGS"] = os.devnull

# Nor by nohup, under which every process that is started here would pass over the signal.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
