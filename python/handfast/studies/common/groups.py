"""The groups of rows: a sweep of scenarios/common each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from handfast.studies.common.measures import FELT, LEAST, OWN, SHARE, Measure


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
    measures: tuple[Measure, ...] = (SHARE,)
    """What its rows are judged by; each makes a row of each situation."""
    heading: str = ""
    """Above the table of those measures that are no share of the limit."""

    def reconnects(self, scheme: str) -> bool:
        """Whether with a scheme the connection ends here, and the application opens another one."""
        return bool(self.carry) and scheme not in self.carry


_MOVES_PATHS = "a controller moves paths when it hears of a roam, which is no make before break"
_PRESUMES = "it answers for a station that it knows to be away, and so presumes announced roams"
_SESSIONS = ("iosl-peers",)
_UNSEEN = dict.fromkeys(
    ("iosl", "iosl-bbr", "iosl-peers"), "the device's layer looks at the signal, which it is not told on this air"
)
_STORES = {"proxy": "it keeps megabytes while the radio is gone or slower, and the limit counts no store in the path"}

GROUPS = (
    Group("loss", "no roam, lossy radio", "lost:", ("1 in 100",)),
    Group("core", "no roam, lossy network", "lost:", ("1 in 100",)),
    Group("silent", "silent radio, same access point", "about", ("5 s",), cannot=_STORES),
    Group("announced", "roam between access points, announced", "about", ("1 s", "3 s"), cannot=_STORES),
    Group(
        "unannounced",
        "roam between access points, unannounced",
        "about",
        ("3 s",),
        cannot={**_STORES, "zwa": _PRESUMES},
    ),
    Group("lossy", "announced roam, lossy radios", "lost:", ("1 in 100",), cannot=_STORES),
    Group("queues", "announced roam, queues of today", "about 3 s,", cannot=_STORES),
    Group(
        "beside",
        "announced roam, lesser of two downloads",
        "",
        ("FQ-CoDel",),
        cannot=_STORES,
        measures=(LEAST, OWN),
        heading="Beside another download, what the roaming one gets of its fair part, %",
    ),
    Group("drawn", "no roam, a radio whose rate varies", "", ("Starlink",)),
    Group("cellular", "cellular, handover each 4 s", "", ("5G NR, drops",)),
    Group("air", "announced roam, 802.11's air", "about 1 s,", cannot=_UNSEEN),
    Group(
        "walk",
        "walk out of range, 802.11's air",
        "",
        ("802.11ac",),
        cannot={**_UNSEEN, "zwa": _PRESUMES},
    ),
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
    Group(
        "felt",
        "four applications at once",
        "",
        cannot={"iosl-peers": "sessions carry bulk flows and transfers alone"},
        measures=FELT,
        heading="What a person feels",
    ),
)
