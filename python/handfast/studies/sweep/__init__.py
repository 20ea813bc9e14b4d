"""`handfast sweep`: a scenario over a grid of values."""

from handfast.studies.sweep.study import Sweep, sweep

__all__ = ["Sweep", "sweep"]
