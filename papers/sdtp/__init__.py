"""Chen and others, SDTP, packets kept and repaired in the path: what they claim, judged."""
