"""The measuring side: it starts, commands and samples lanes, and does not depend on a terminal."""
