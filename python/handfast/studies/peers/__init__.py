"""`handfast peers`: a figure in this simulator and in another one."""

from handfast.studies.peers import ns2, quick_start
from handfast.studies.peers.eln import (
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
    order,
    study,
)
from handfast.studies.peers.names import OUT

__all__ = [
    "CAPS",
    "LOSSES",
    "OUT",
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
    "order",
    "quick_start",
    "study",
]
