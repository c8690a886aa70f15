"""This machine, as this process sees it: samples of processes, by `portable.machine` or psutil; child processes."""
