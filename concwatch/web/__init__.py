"""The screen in a browser: a small web server, and for each page that is open a session of its own."""
