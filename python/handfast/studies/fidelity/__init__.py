"""How close the simulator's `linux` is to this machine's kernel, on cases drawn from a seed."""

from handfast.studies.fidelity.bounds import BOUNDS, SHARE
from handfast.studies.fidelity.draw import Case, draw, scenario
from handfast.studies.fidelity.study import DOCUMENT, Fidelity, Row, study

__all__ = ["BOUNDS", "DOCUMENT", "SHARE", "Case", "Fidelity", "Row", "draw", "scenario", "study"]
