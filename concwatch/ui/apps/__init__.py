"""The apps: live lanes, a watched program, a recording; and the pictures that they save."""
