"""What a run gave: typed views of `result.json`. Names carry their unit; what a backend cannot know is None."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from handfast import _handfast
from handfast.errors import InputError
from handfast.measures import FlowMeasures, Measures, number

SIM, LAB = "sim", "lab"
"""The backends."""
BACKENDS = (SIM, LAB)

SCHEMA = 1
"""The version of `result.json` this package reads and writes."""


def _text(data: Mapping[str, Any], name: str, *, optional: bool = False) -> Any:  # noqa: ANN401 (str, or None where that may be)
    value = data.get(name) if optional else data[name]
    if isinstance(value, str) or (value is None and optional):
        return value
    raise ValueError(f"{name}: {value!r} is no text")


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow of a run."""

    flow: str
    """Its name."""
    outcome: str
    """`not-started`, `open`, `closed`, or why the connection died."""
    measures: FlowMeasures
    source: str | None = None
    """Who sends."""
    target: str | None = None
    """Who receives."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read an entry of `flows`."""
        return cls(
            _text(data, "flow"),
            _text(data, "outcome"),
            FlowMeasures.from_json(data),
            _text(data, "from", optional=True),
            _text(data, "to", optional=True),
        )


@dataclass(frozen=True, slots=True)
class Passage:
    """One flow in one outage: it was open when the link came back."""

    flow: str
    stall_s: float | None
    """From the link's return to the first new data, seconds; None where none came."""
    time_to_full_rate_s: float | None
    """From the link's return to 90 % of the rate before, seconds; None where that was not reached."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read an entry of a handover's `flows`."""
        stall, full = (number(data, name, optional=True) for name in ("stall_s", "time_to_full_rate_s"))
        return cls(_text(data, "flow"), stall, full)


@dataclass(frozen=True, slots=True)
class Handover:
    """One handover of a station, or one absence of a link."""

    station: str
    """The station that lost its link, or the link's name where no end of it is a station."""
    link: str
    """The link that went."""
    to: str | None
    """The access point that the station roamed to; None: the same link came back."""
    down_s: float
    """When the link went, seconds from the run's start."""
    up_s: float | None
    """When it or the one to the new access point came, seconds from the run's start; None where that is after the run's
    end."""
    stall_s: float | None
    """From `up_s` to the first new data at the receiving application, seconds; the longest of the flows concerned."""
    time_to_full_rate_s: float | None
    """From `up_s` to 90 % of the rate before, seconds; the longest of the flows concerned."""
    flows: tuple[Passage, ...] = ()
    """The flows concerned."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read an entry of `handovers`."""
        return cls(
            station=_text(data, "station"),
            link=_text(data, "link"),
            to=_text(data, "to", optional=True),
            down_s=number(data, "down_s"),
            up_s=number(data, "up_s", optional=True),
            stall_s=number(data, "stall_s", optional=True),
            time_to_full_rate_s=number(data, "time_to_full_rate_s", optional=True),
            flows=tuple(map(Passage.from_json, data.get("flows", ()))),
        )


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a run in the lab was done, and how exactly."""

    problems: tuple[str, ...] = ()
    """Why the run does not count, a sentence each."""
    kernel: str | None = None
    processor: str | None = None
    cores: int | None = None
    realtime: bool | None = None
    """Whether the packet loop had real-time priority."""
    lateness_p99_s: float | None = None
    """How late 99 % of the frames left at most, seconds."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read a run's `environment`."""
        return cls(
            tuple(data.get("problems", ())),
            _text(data, "kernel", optional=True),
            _text(data, "processor", optional=True),
            number(data, "cores", optional=True),
            data.get("realtime"),
            number(data, "lateness_p99_s", optional=True),
        )


def row(scheme: str, backend: str) -> str:
    """What tables and charts call a scheme: its name, and where it ran if that was not the simulator."""
    return scheme if backend == SIM else f"{scheme} · {backend}"


@dataclass(frozen=True, slots=True)
class Segment:
    """The last part of a path, up to a node that notices losses."""

    start: str
    """The sending edge of the path."""
    end: str
    """The receiving edge of the path."""
    at: str
    """The node where the segment ends."""
    noticed: int
    repaired: int
    given_up: int
    repair_mean_s: float | None
    """From the first sign of a loss to its repair; None where nothing was repaired."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read one object of `segments`."""
        return cls(
            start=_text(data, "from"),
            end=_text(data, "to"),
            at=_text(data, "at"),
            noticed=int(number(data, "noticed")),
            repaired=int(number(data, "repaired")),
            given_up=int(number(data, "given_up")),
            repair_mean_s=None if data["repair_mean_s"] is None else number(data, "repair_mean_s"),
        )


def _segments(data: Sequence[Mapping[str, Any]] | None) -> tuple[Segment, ...] | None:
    return None if data is None else tuple(map(Segment.from_json, data))


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
    duration_s: float
    """How long the run lasted, seconds of the scenario's time."""
    aggregate: Measures
    flows: tuple[Flow, ...]
    handovers: tuple[Handover, ...]
    controller: Mapping[str, int] | None
    """What an SDN controller has counted; None without one, and where it was started again."""
    segments: tuple[Segment, ...] | None
    """What became of losses where nodes repair them (SDTP); None where no node does, and in the lab."""
    environment: Environment | None
    """Of the lab; None in the simulator."""
    raw: str = field(repr=False)
    """The run object as it came, JSON."""

    @property
    def row(self) -> str:
        """What tables and charts call it."""
        return row(self.scheme, self.backend)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the run does not count, a sentence each."""
        return self.environment.problems if self.environment is not None else ()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read one run object of `result.json`."""
        data = json.loads(text)
        return cls(
            scenario=_text(data, "scenario"),
            scenario_hash=_text(data, "scenario_hash"),
            scheme=_text(data, "scheme"),
            backend=_text(data, "backend"),
            seed=number(data, "seed"),
            valid=data["valid"] is True,
            duration_s=number(data, "duration_s"),
            aggregate=Measures.from_json(data["aggregate"]),
            flows=tuple(map(Flow.from_json, data["flows"])),
            handovers=tuple(map(Handover.from_json, data["handovers"])),
            controller=data.get("controller"),
            segments=_segments(data.get("segments")),
            environment=Environment.from_json(data["environment"]) if data.get("environment") else None,
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


def _compact(run: object) -> str:
    return json.dumps(run, separators=(",", ":"), ensure_ascii=False)


def parse_document(text: str, origin: str) -> Document:
    """Read a `result.json`; `origin` names it in errors."""
    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA:
            raise InputError(f"{origin}: schema {data['schema']!r}, this handfast reads schema {SCHEMA}")
        runs = tuple(Result.from_json(_compact(run)) for run in data["runs"])
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


def by_row(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The results of each scheme on each backend, in the order in which they first appear."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.row, []).append(result)
    return groups
