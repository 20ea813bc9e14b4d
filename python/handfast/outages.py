"""What took a link away, in words: from the results, and from the events of the scenario where it is there."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from handfast.results import Handover, Result


@dataclass(frozen=True, slots=True, order=True)
class Absence:
    """A time without a link."""

    start: float
    """Seconds from the run's start."""
    end: float
    """When it, or the one to the next access point, came; the run's end where that is later."""
    name: str
    """What happened: "roam to ap2", "radio silent"."""
    back: bool = True
    """Whether a link came back before the run's end."""


def absences(runs: Sequence[Result], scenario_text: str | None) -> list[Absence]:
    """When links were gone in these runs, which are of one scenario and one seed: in order of time, each once."""
    events = _events(scenario_text)
    found = {
        Absence(one.down_s, run.duration_s if one.up_s is None else one.up_s, name(one, events), one.up_s is not None)
        for run in runs
        for one in run.handovers
    }
    return sorted(found)


def name(handover: Handover, events: Sequence[Mapping[str, Any]] = ()) -> str:
    """What happened to the link, in the scenario's names."""
    if handover.to is not None:
        return f"roam to {handover.to}"
    modes = {event.get("mode", "drop") for event in events if event.get("link") == handover.link}
    # Only a station's link is a radio; the results name the link itself where no end of it is a station.
    what = f"{handover.link} silent" if handover.station != handover.link else f"{handover.link} down"
    return f"{what}, packets wait" if modes == {"hold"} else what


def _events(scenario_text: str | None) -> list[Mapping[str, Any]]:
    try:
        events = tomllib.loads(scenario_text or "").get("events", [])
    except tomllib.TOMLDecodeError:
        return []
    if not isinstance(events, list):
        return []
    return [event for event in events if isinstance(event, dict) and event.get("do") == "outage"]
