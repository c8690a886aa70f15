"""Commands that watch programs."""
