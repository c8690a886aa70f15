"""Charts: their table, data and layout, and painters for the terminal, plain text and slides."""
