"""`handfast common`: every scheme in every situation, beside the capacity limit."""

from handfast.common.draw import draw
from handfast.common.groups import GROUPS, Group
from handfast.common.page import gain, named, short, stall, whole, winner
from handfast.common.remedies import CHANGES, changes
from handfast.common.study import BASELINE, Cell, Order, Row, Study, document, schemes, study

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
]
