"""`handfast peers`: a figure in this simulator and in another one."""

from handfast.studies.peers import eln, ns2, quick_start
from handfast.studies.peers.names import OUT

__all__ = ["OUT", "eln", "ns2", "quick_start"]
