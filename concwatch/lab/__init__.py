"""The measuring side: starts, commands, samples and ends lanes. There is no terminal in it."""
