"""Pictures, films and casts of a terminal, made from its SVG, its cells or its output. Optional."""
