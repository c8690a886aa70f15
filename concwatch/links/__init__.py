"""Links between lanes and their processes, and the messages that arrive over them."""
