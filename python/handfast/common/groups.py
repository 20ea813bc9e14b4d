"""The groups of rows: a sweep of scenarios/common each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Group:
    """Situations of one kind; they differ in how long or how lossy."""

    key: str
    """The sweep's name."""
    title: str
    row: str
    """What a row's value is, in the head of the column."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Why a scheme is not run here, by its name."""


GROUPS = (
    Group("loss", "no roam, the radio loses packets", "lost:"),
    Group("silent", "the radio of the same access point is silent, nobody is told", "about"),
    Group("announced", "roam between access points, announced", "about"),
    Group(
        "unannounced",
        "roam between access points, unannounced",
        "about",
        cannot={"zwa": "it answers for a station that it knows to be away, and so presumes announced roams"},
    ),
    Group("lossy", "announced roam, about 1 s, and lossy radios", "lost:"),
    Group("to-cell", "vertical: Wi-Fi to a slower cell", "about"),
    Group("from-cell", "vertical: a slower cell to Wi-Fi", "about"),
)
