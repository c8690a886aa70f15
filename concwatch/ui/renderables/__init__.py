"""What widgets draw: pure pictures of plain values."""
