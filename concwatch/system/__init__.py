"""This machine as seen from here: samples of processes, its memory, child processes, local servers."""
