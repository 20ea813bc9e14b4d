"""How close the simulator's `linux` is to this machine's kernel, on cases drawn from a seed."""

from handfast.fidelity.bounds import BOUNDS, SHARE
from handfast.fidelity.draw import Case, draw, scenario
from handfast.fidelity.study import DOCUMENT, Row, Study, document, study

__all__ = ["BOUNDS", "DOCUMENT", "SHARE", "Case", "Row", "Study", "document", "draw", "scenario", "study"]
