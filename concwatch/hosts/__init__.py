"""Lanes on other hosts. A host is reached by a command prefix; a bridge that runs there speaks the wire."""
