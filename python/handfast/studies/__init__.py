"""Questions that take many runs: the common table, papers' claims, other simulators, the kernel beside ours."""
