"""The measuring side: it starts, commands and samples lanes, and knows no terminal."""
