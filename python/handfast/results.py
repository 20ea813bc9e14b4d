"""What a run gave: typed views of `result.json`. Names carry their unit; what a backend cannot know is None."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from handfast import _handfast
from handfast.errors import InputError

SCHEMA = 1
"""The version of `result.json` this package reads and writes."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The figures of one flow, or of all flows of a run together."""

    stall_s: float | None = None
    """From the link's return to the first new data at the receiving application, seconds."""
    idle_s: float | None = None
    """The longest gap in delivery, seconds."""
    goodput_bps: float | None = None
    """New bytes delivered from the first to the last one, bits per second."""
    time_to_full_rate_s: float | None = None
    """From the link's return to 90 % of the rate before, seconds; None where it was never reached."""
    retransmitted_segments: int | None = None
    """Segments sent more than once."""
    timeouts: int | None = None
    """How often the retransmission timer expired."""
    lost_segments: int | None = None
    """Segments that the network dropped."""
    cwnd_mean_pkt: float | None = None
    """The congestion window, time-weighted over the flow, in segments of full size."""
    cwnd_min_pkt: float | None = None
    """The smallest congestion window, in segments of full size."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Take the known names from a JSON object; other names are left to `Result.raw`."""
        return cls(**{name: data.get(name) for name in cls.__slots__})


MEASURES: tuple[str, ...] = Measures.__slots__
"""The names of the figures, in the order in which tables show them."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow of a run."""

    name: str
    measures: Measures

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read an entry of `flows`."""
        return cls(str(data.get("flow", data.get("name", ""))), Measures.from_json(data))


@dataclass(frozen=True, slots=True)
class Handover:
    """One absence of a link or a station."""

    station: str
    down_s: float
    """When the link went, seconds from the run's start."""
    up_s: float | None
    """When it came back, seconds from the run's start."""
    stall_s: float | None
    """From `up_s` to the first new data at the receiving application, seconds."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read an entry of `handovers`."""
        return cls(str(data["station"]), data["down_s"], data.get("up_s"), data.get("stall_s"))


@dataclass(frozen=True, slots=True)
class Result:
    """One run: a scenario under one scheme and one seed."""

    scenario: str
    scenario_hash: str
    """Hash of the scenario's resolved content, hexadecimal."""
    scheme: str
    backend: str
    seed: int
    valid: bool
    """False for a run that must not be counted (the lab was late)."""
    aggregate: Measures
    flows: tuple[Flow, ...]
    handovers: tuple[Handover, ...]
    limit_bps: float | None
    """The goodput that the links' capacity allows, bits per second."""
    raw: str = field(repr=False)
    """The run object as it came, JSON."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read one run object of `result.json`."""
        data = json.loads(text)
        return cls(
            scenario=data["scenario"],
            scenario_hash=data["scenario_hash"],
            scheme=data["scheme"],
            backend=data["backend"],
            seed=data["seed"],
            valid=data["valid"],
            aggregate=Measures.from_json(data["aggregate"]),
            flows=tuple(map(Flow.from_json, data["flows"])),
            handovers=tuple(map(Handover.from_json, data["handovers"])),
            limit_bps=data.get("limit_bps", data["aggregate"].get("limit_bps")),
            raw=text,
        )


@dataclass(frozen=True, slots=True)
class Document:
    """A `result.json`: the runs, and the version of handfast that made them."""

    version: str
    runs: tuple[Result, ...]


def document(results: Iterable[Result]) -> str:
    """The versioned document around `results`, as `--json` prints and `result.json` holds it."""
    return _handfast.document([result.raw for result in results])


def parse_document(text: str, origin: str) -> Document:
    """Read a `result.json`; `origin` names it in errors."""
    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA:
            raise InputError(f"{origin}: schema {data['schema']!r}, this handfast reads schema {SCHEMA}")
        runs = tuple(Result.from_json(json.dumps(run)) for run in data["runs"])
        return Document(str(data["version"]), runs)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{origin}: not a handfast result ({type(error).__name__}: {error})") from error


def read_document(path: Path) -> Document:
    """Read a `result.json` from a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return parse_document(text, str(path))


def by_scheme(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The results of each scheme, schemes in the order in which they first appear."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.scheme, []).append(result)
    return groups
