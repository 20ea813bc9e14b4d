"""`handfast common`: every scheme in every situation, beside the capacity limit."""

from handfast.studies.common.draw import draw
from handfast.studies.common.groups import GROUPS, Group
from handfast.studies.common.page import gain, named, short, stall, whole, winner, write
from handfast.studies.common.remedies import CHANGES, changes
from handfast.studies.common.study import BASELINE, Cell, Order, Row, Study, document, schemes, study

__all__ = [
    "BASELINE",
    "CHANGES",
    "GROUPS",
    "Cell",
    "Group",
    "Order",
    "Row",
    "Study",
    "changes",
    "document",
    "draw",
    "gain",
    "named",
    "schemes",
    "short",
    "stall",
    "study",
    "whole",
    "winner",
    "write",
]
