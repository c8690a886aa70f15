"""Lanes on other hosts: a host is a command prefix, over whose pipes a bridge speaks the wire."""
