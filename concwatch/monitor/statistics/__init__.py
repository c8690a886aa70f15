"""Statistics without a clock or a process: histograms, quantiles, survival, confidence intervals, rates."""
