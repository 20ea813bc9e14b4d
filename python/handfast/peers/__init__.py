"""`handfast peers`: a figure in this simulator and in another one."""

from handfast.peers import ns2, quick_start
from handfast.peers.eln import (
    CAPS,
    LOSSES,
    QUICK_LOSSES,
    QUICK_S,
    QUICK_SEEDS,
    SCHEMES,
    SEEDS,
    Order,
    Row,
    Study,
    document,
    draw,
    markdown,
    study,
)

__all__ = [
    "CAPS",
    "LOSSES",
    "QUICK_LOSSES",
    "QUICK_S",
    "QUICK_SEEDS",
    "SCHEMES",
    "SEEDS",
    "Order",
    "Row",
    "Study",
    "document",
    "draw",
    "markdown",
    "ns2",
    "quick_start",
    "study",
]
