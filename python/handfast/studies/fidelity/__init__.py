"""How close the simulator's `linux` is to this machine's kernel, on cases drawn from a seed."""

from handfast.studies.fidelity.bounds import BOUNDS, SHARE
from handfast.studies.fidelity.draw import Case, draw, scenario
from handfast.studies.fidelity.study import DOCUMENT, Row, Study, document, study, write

__all__ = ["BOUNDS", "DOCUMENT", "SHARE", "Case", "Row", "Study", "document", "draw", "scenario", "study", "write"]
