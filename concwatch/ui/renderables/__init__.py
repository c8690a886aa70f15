"""What widgets draw, as functions of plain values."""
