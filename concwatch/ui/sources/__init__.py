"""What a screen shows: the lanes of a lab, a recording, experiments, races and sweeps. No widgets."""
