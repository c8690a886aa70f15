"""The column of lanes and processes on the left: cards, sliders, common settings."""
