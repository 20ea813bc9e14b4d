"""The lab: the same scenario on real Linux kernels, in network namespaces made for each run."""

from __future__ import annotations

from handfast.lab.names import Namespace
from handfast.lab.plumbing import clean, leftovers
from handfast.lab.requirements import missing, needs, require
from handfast.lab.run import LabTask

__all__ = ["LabTask", "Namespace", "clean", "leftovers", "missing", "needs", "require"]
