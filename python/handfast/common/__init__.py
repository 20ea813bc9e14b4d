"""`handfast common`: every scheme in every situation, beside the capacity limit."""

from handfast.common.draw import draw
from handfast.common.groups import GROUPS, Group
from handfast.common.page import named, short, stall, whole
from handfast.common.study import BASELINE, Cell, Order, Row, Study, document, schemes, study

__all__ = [
    "BASELINE",
    "GROUPS",
    "Cell",
    "Group",
    "Order",
    "Row",
    "Study",
    "document",
    "draw",
    "named",
    "schemes",
    "short",
    "stall",
    "study",
    "whole",
]
