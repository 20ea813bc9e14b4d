"""The lab: the same scenario on real Linux kernels, in network namespaces made for each run."""

from __future__ import annotations

from handfast.lab.capacity import Capacity, measure
from handfast.lab.names import Namespace, existing
from handfast.lab.plumbing import clean, leftovers
from handfast.lab.requirements import missing, needs, require
from handfast.lab.run import LabTask

__all__ = [
    "Capacity",
    "LabTask",
    "Namespace",
    "clean",
    "existing",
    "leftovers",
    "measure",
    "missing",
    "needs",
    "require",
]
