"""Charts in plain text: the series of a run or of a recording in a log, over ssh, in a README."""
