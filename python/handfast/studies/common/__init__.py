"""`handfast common`: every scheme in every situation, beside the capacity limit."""

from handfast.studies.common.groups import GROUPS, Group
from handfast.studies.common.measures import SHARE, Measure
from handfast.studies.common.page import gain, named, short, stall, whole, winner
from handfast.studies.common.remedies import CHANGES, changes
from handfast.studies.common.study import BASELINE, OUT, RIVAL, Cell, Common, Row, schemes, study

__all__ = [
    "BASELINE",
    "CHANGES",
    "GROUPS",
    "OUT",
    "RIVAL",
    "SHARE",
    "Cell",
    "Common",
    "Group",
    "Measure",
    "Row",
    "changes",
    "gain",
    "named",
    "schemes",
    "short",
    "stall",
    "study",
    "whole",
    "winner",
]
