"""Traces of links: files, what they hold in figures, and recordings whose columns are declared."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from handfast import _handfast
from handfast.errors import InputError

TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "date": None}
"""What a number of each unit is worth in seconds; a date is no number."""
RATE = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
DELAY = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
LOSS = {"1": 1.0, "%": 1e-2}


@dataclass(frozen=True)
class Mapping:
    """Which columns of a recording mean what: their names, and what a number is worth."""

    time: tuple[str, float | None]
    rate: tuple[str, float] | None = None
    delay: tuple[str, float] | None = None
    loss: tuple[str, float] | None = None
    round_trip: bool = False


KNOWN = {
    "timestamp_start,timestamp_end,server,": {
        "down": Mapping(("timestamp_start", None), rate=("download_mbps", 1e6)),
        "up": Mapping(("timestamp_start", None), rate=("upload_mbps", 1e6)),
    },
    "timestamp_start,timestamp_end,target,": {
        way: Mapping(("timestamp_start", None), delay=("ping_avg", 1e-3), loss=("packet_loss", 1e-2), round_trip=True)
        for way in ("down", "up")
    },
}
"""Recordings whose columns need no declaration, by how their first line begins: Starlink-on-the-Road (TMA 2024)."""


def read(path: Path) -> str:
    """The text of a file, which must not be longer than a trace may be."""
    try:
        with path.open("rb") as file:
            data = file.read(_handfast.LONGEST_TRACE + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(data) > _handfast.LONGEST_TRACE:
        raise InputError(f"{path}: longer than {_handfast.LONGEST_TRACE} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from error


def column(option: str, text: str, units: dict[str, float] | dict[str, float | None]) -> tuple[str, float | None]:
    """`NAME:UNIT` as the name of a column and what a number is worth there."""
    name, _, unit = text.rpartition(":")
    if not name or unit not in units:
        raise InputError(f"`{option} {text}`: expected COLUMN:UNIT, the unit one of {', '.join(units)}")
    return name, units[unit]


def known(text: str, way: str) -> Mapping | None:
    """The columns of a recording that is known by its first line."""
    return next((ways[way] for begin, ways in KNOWN.items() if text.startswith(begin)), None)


def parse(path: Path) -> _handfast.Trace:
    """A file in one of the formats of scenario files."""
    text = read(path)
    try:
        return _handfast.Trace.parse(text)
    except ValueError as error:
        advice = "" if known(text, "down") is None else "; `handfast trace import` reads it"
        raise InputError(f"{path}: {error}{advice}") from error


def imported(path: Path, mapping: Mapping | None, way: str, part: int | None) -> tuple[_handfast.Trace, list[float]]:
    """A file as a trace, and how long the parts of a recording are."""
    text = read(path)
    mapping = mapping or known(text, way)
    try:
        if mapping is None:
            trace = _handfast.Trace.parse(text)
            if part is not None:
                raise InputError(f"{path}: it is a trace, which has no parts: leave out `--part {part}`")
            return trace, []
        recording = _handfast.Recording.read(
            text, mapping.time, mapping.rate, mapping.delay, mapping.loss, mapping.round_trip
        )
        return recording.trace(part), recording.parts()
    except ValueError as error:
        advice = "; declare its columns: --time COLUMN:UNIT --rate COLUMN:UNIT …" if mapping is None else ""
        raise InputError(f"{path}: {error}{advice}") from error


def summary(trace: _handfast.Trace) -> list[tuple[str, str]]:
    """A trace in figures, for people: what it does not say is left out."""
    facts = json.loads(trace.summary())
    entries = "opportunities" if facts["is_opportunities"] else "lines"
    rows = [("length", f"{facts['length_s']:g} s, {facts['entries']} {entries}")]
    if facts["mean_rate_bps"] is not None:
        mean, peak = (facts[key] / 1e6 for key in ("mean_rate_bps", "peak_rate_bps"))
        rows.append(("rate", f"{mean:.3g} Mbit/s in the mean, {peak:.3g} Mbit/s in the best 100 ms"))
        longest = f", the longest {facts['longest_outage_s']:.3g} s" if facts["outages"] else ""
        rows.append(("outages", f"{facts['outages']} of 100 ms or longer{longest}"))
    if facts["delay_min_s"] is not None:
        least, median, p99 = (facts[f"delay_{key}_s"] * 1e3 for key in ("min", "median", "p99"))
        rows.append(("delay", f"{least:.4g} ms at the least, {median:.4g} ms median, {p99:.4g} ms p99, one way"))
    if facts["loss"] is not None:
        rows.append(("loss", f"{facts['loss'] * 100:.3g} % in the mean"))
    return rows
