"""Pictures, films and recordings of a terminal, of its SVG, its cells or its output; none is needed."""
