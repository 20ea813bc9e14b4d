"""How close the simulator's `linux` (or `linux-bbr`) is to this machine's kernel, on cases drawn from a seed."""

from handfast.studies.fidelity.bounds import BOUNDS, SHARE
from handfast.studies.fidelity.draw import SCHEMES, Case, draw, scenario
from handfast.studies.fidelity.study import AGAIN, DOCUMENT, Fidelity, Row, study

__all__ = ["AGAIN", "BOUNDS", "DOCUMENT", "SCHEMES", "SHARE", "Case", "Fidelity", "Row", "draw", "scenario", "study"]
