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
    shown: tuple[str, ...] = ()
    """The rows that README has."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Why a scheme is not run here, by its name."""
    carry: tuple[str, ...] = ()
    """Where the station's address changes: the schemes whose connections go on. With all others the application opens
    another connection. Empty where the address stays."""

    def reconnects(self, scheme: str) -> bool:
        """Whether with a scheme the connection ends here, and the application opens another one."""
        return bool(self.carry) and scheme not in self.carry


_MOVES_PATHS = "a controller moves paths when it hears of a roam, which is no make before break"
_SESSIONS = ("iosl-peers",)
_STORES = {"proxy": "it keeps megabytes while the radio is gone or slower, and the limit counts no store in the path"}

GROUPS = (
    Group("loss", "no roam, the radio loses packets", "lost:", ("1 in 1,000", "1 in 100")),
    Group("core", "no roam, lossy network", "lost:", ("1 in 100",)),
    Group("silent", "same access point, silent radio, unannounced", "about", ("1 s", "5 s"), cannot=_STORES),
    Group("announced", "roam between access points, announced", "about", ("1 s", "3 s"), cannot=_STORES),
    Group(
        "unannounced",
        "roam between access points, unannounced",
        "about",
        ("3 s",),
        cannot={**_STORES, "zwa": "it answers for a station that it knows to be away, and so presumes announced roams"},
    ),
    Group("lossy", "announced roam, lossy radios", "lost:", ("1 in 100",), cannot=_STORES),
    Group("queues", "announced roam, queues of today", "about 3 s,", cannot=_STORES),
    Group("drawn", "no roam, a radio whose rate varies", ""),
    Group("cellular", "LTE, a handover every 4 s", "the old cell", cannot=_STORES),
    Group("to-cell", "vertical: Wi-Fi to cell", "about", ("3 s",), cannot=_STORES),
    Group("from-cell", "vertical: cell to Wi-Fi", "about", ("3 s",), cannot=_STORES),
    Group(
        "overlap",
        "make before break",
        "",
        ("to the cell",),
        cannot={**_STORES, **dict.fromkeys(("bare", "spurious", "spurious-bbr", "zwa"), _MOVES_PATHS)},
    ),
    # What a proxy keeps meanwhile is lost with the connection, so the limit holds for it here.
    Group("address", "another address, app told", "about", ("1 s",), carry=_SESSIONS),
    Group(
        "address-app",
        "another address, other apps",
        "",
        ("notices after 10 s",),
        carry=_SESSIONS,
    ),
)
