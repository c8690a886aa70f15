"""Pictures, films and recordings of a terminal, made from its SVG or its output; no terminal is needed."""
