"""The screen in a browser: a small web server that starts a session for each open page."""
