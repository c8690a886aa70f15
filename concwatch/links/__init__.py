"""What connects a lane to its process: the link, what arrives over it, and the one to a child."""
