"""What `make bench-roaming` leaves and claims read: downloads and a terminal while an address changes, by each way.

The bench (`bench/roaming`, in the source tree) writes these files and claims judge them: their places, their form and
what the bench does unless told otherwise stand here alone. A file is hostile until it is read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from handfast import __version__
from handfast.errors import InputError
from handfast.studies.document import written

FOLDER = Path("out") / "bench-roaming"
"""The bench's files: in the source tree for who writes them, in the working directory for who reads them."""
DELAYS_MS = (0, 20)
"""Of the wire, each way: a download at each."""
FAR_MS = 20
"""Of the terminal's wire."""
MAKE = "`make bench-roaming` (as root, in the source tree, 40 minutes)"
SCHEMA = 1
"""The form of the files."""

GAPS_S = (0.0, 1.0, 3.0, 0.3, 5.0, 2.0)
"""Without an address, in turn."""
RATE_MBIT_S = 160
QUEUE_PKT = 600
WIRE: Mapping[str, Any] = {
    "rate_mbit_s": RATE_MBIT_S,
    "queue_pkt": QUEUE_PKT,
    "every_s": 4.0,
    "gaps_s": list(GAPS_S),
    "congestion": "cubic",
}
"""What both move on: `every_s` is the time with an address, `congestion` that of the kernels' TCP."""
DOWNLOAD: Mapping[str, Any] = {**WIRE, "size_mb": 400}
TERMINAL: Mapping[str, Any] = {**WIRE, "typing_s": 40.0, "key_s": 0.25}
"""What the bench does unless told otherwise."""

BELOW = ("mptcp", "udp", "sctp")
"""What sessions have below themselves beside TCP."""
SESSIONS = (
    "handfastd session run",
    "handfastd session run --all",
    *(f"handfastd session --below {below}" for below in BELOW),
)
TCP = "TCP"
MPTCP = ("kernel MPTCP", "MPTCP, subflows given up in 7 s")
QUINN = ("QUIC migration (quinn)", "SOCKS over QUIC (quinn)")
TOLD = "WireGuard, told of each change"
CAPPED = "WireGuard, told, timer at most 1 s"
SSH, SSH_BY_SESSION = "ssh", "ssh by handfastd session"
MOSH = ("mosh, local echo where it is slow", "mosh, local echo always", "mosh, no local echo")
"""Names of ways that claims speak of."""

MOST_OCTETS = 4 << 20
MOST_ROWS = 100
MOST_TIMES = 10_000
LONGEST_WORD = 200
MOST = 1e12
"""What a file holds at most, and its largest number."""


def _wrong(name: str, value: object, wanted: str) -> ValueError:
    return ValueError(f"{name}: {repr(value)[:80]} is not {wanted}")


def _number(value: object, name: str) -> float:
    # NaN compares false, and a bool is an int.
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST:
        return float(value)
    raise _wrong(name, value, f"a number from 0 to {MOST:.0e}")


def _whole(value: object, name: str) -> int:
    number = _number(value, name)
    if number != int(number):
        raise _wrong(name, value, "a whole number")
    return int(number)


def _word(value: object, name: str) -> str:
    """A text for screens."""
    if isinstance(value, str) and 0 < len(value) <= LONGEST_WORD and value.isprintable():
        return value
    raise _wrong(name, value, f"a printable text of 1 to {LONGEST_WORD} characters")


def _list(value: object, name: str, most: int) -> Sequence[object]:
    if isinstance(value, list) and len(value) <= most:
        return value
    raise _wrong(name, value, f"a list of at most {most}")


def _numbers(value: object, name: str) -> tuple[float, ...]:
    return tuple(_number(one, f"{name}[{place}]") for place, one in enumerate(_list(value, name, MOST_TIMES)))


def _object(value: object, name: str) -> Mapping[str, object]:
    if isinstance(value, dict):
        return value
    raise _wrong(name, value, "an object")


def _keys(value: object, name: str, keys: Iterable[str]) -> Mapping[str, object]:
    """An object with these keys and no others."""
    data, known = _object(value, name), list(keys)
    if set(data) != set(known):
        raise _wrong(name, sorted(data), f"the keys {', '.join(known)}")
    return data


def _words(value: object, name: str) -> Mapping[str, str]:
    """Texts by name."""
    data = _object(value, name)
    if len(data) > MOST_ROWS:
        raise _wrong(name, len(data), f"at most {MOST_ROWS}")
    return {_word(key, name): _word(one, f"{name}.{key}") for key, one in data.items()}


@dataclass(frozen=True, slots=True)
class Download:
    """What came of one way to keep a download."""

    name: str
    complete: bool
    """Whether all came, and nothing else."""
    octets: int
    seconds: float
    """From the start to the last octet."""
    back_s: tuple[float, ...]
    """From each new address to the first octet after it; what came after the next address only is left out."""
    soon_mb: tuple[float, ...]
    """What came in the second after that, MB, where the address stayed for that second and the end was later."""
    changes: int
    """New addresses until the last octet; of a way that has failed, all."""

    @property
    def waits_s(self) -> Sequence[float]:
        """`back_s`, and infinity for each new address after which nothing came until the next one."""
        return [*self.back_s, *[math.inf] * (self.changes - len(self.back_s))]

    @classmethod
    def from_json(cls, data: object, name: str, settings: Mapping[str, Any]) -> Self:
        """Read a row, and whether its figures can be of one run."""
        given = _keys(data, name, [one.name for one in fields(cls)])
        if not isinstance(given["complete"], bool):
            raise _wrong(f"{name}.complete", given["complete"], "true or false")
        made = cls(
            _word(given["name"], f"{name}.name"),
            given["complete"],
            _whole(given["octets"], f"{name}.octets"),
            _number(given["seconds"], f"{name}.seconds"),
            _numbers(given["back_s"], f"{name}.back_s"),
            _numbers(given["soon_mb"], f"{name}.soon_mb"),
            _whole(given["changes"], f"{name}.changes"),
        )
        size = int(settings["size_mb"] * 1e6)
        if made.complete and made.octets != size:
            raise _wrong(f"{name}.octets", made.octets, f"{size}, though all came")
        if not len(made.soon_mb) <= len(made.back_s) <= made.changes <= MOST_TIMES:
            raise _wrong(f"{name}.changes", made.changes, "as many as came back, or more")
        return made


@dataclass(frozen=True, slots=True)
class Terminal:
    """What came of one way to a shell elsewhere."""

    name: str
    typed: int
    """Keys."""
    shown_s: tuple[float, ...]
    """How long each key that was shown had taken; mosh shows some before the server has them."""

    @property
    def late_s(self) -> float:
        """95 % of those that were shown had taken less."""
        waits = sorted(self.shown_s)
        return waits[min(len(waits) - 1, len(waits) * 95 // 100)]

    @classmethod
    def from_json(cls, data: object, name: str, _: Mapping[str, Any]) -> Self:
        """Read a row."""
        given = _keys(data, name, [one.name for one in fields(cls)])
        typed = _whole(given["typed"], f"{name}.typed")
        shown = _numbers(given["shown_s"], f"{name}.shown_s")
        if len(shown) > typed:
            raise _wrong(f"{name}.shown_s", len(shown), f"at most the {typed} keys typed")
        return cls(_word(given["name"], f"{name}.name"), typed, shown)


R = TypeVar("R", Download, Terminal)


@dataclass(frozen=True, slots=True)
class Record(Generic[R]):
    """A file of the bench."""

    bench: str
    """`download` or `terminal`."""
    delay_ms: float
    """Of the wire, each way."""
    settings: Mapping[str, Any]
    """With the keys of `DOWNLOAD` or `TERMINAL`."""
    rows: tuple[R, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Ways that were not tried, and why."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """What each program says of its version."""
    kernel: str = "unknown"
    made: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    version: str = __version__
    schema: int = SCHEMA

    @property
    def file(self) -> str:
        """Its name."""
        return f"{self.bench}-{self.delay_ms:g}ms.json"

    def row(self, name: str) -> R | None:
        """The way of that name."""
        return next((row for row in self.rows if row.name == name), None)

    def unlike(self) -> list[str]:
        """Settings that are not the bench's own."""
        usual = USUAL[self.bench]
        return [
            f"{name} {_said(value)}, not {_said(usual[name])}"
            for name, value in self.settings.items()
            if value != usual[name]
        ]

    def document(self) -> str:
        """As JSON."""
        return written(asdict(self))


USUAL: Mapping[str, Mapping[str, Any]] = {"download": DOWNLOAD, "terminal": TERMINAL}


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def download(delay_ms: int, folder: Path = FOLDER) -> Path:
    """Where the downloads over a wire of so many milliseconds are."""
    return folder / f"download-{delay_ms}ms.json"


def terminal(folder: Path = FOLDER) -> Path:
    """Where the terminals are."""
    return folder / f"terminal-{FAR_MS}ms.json"


def read_download(path: Path) -> Record[Download]:
    """Read a file of downloads."""
    return _read(path, "download", Download.from_json)


def read_terminal(path: Path) -> Record[Terminal]:
    """Read a file of terminals."""
    return _read(path, "terminal", Terminal.from_json)


Row = Callable[[object, str, Mapping[str, Any]], R]


def _read(path: Path, bench: str, row: Row[R]) -> Record[R]:
    try:
        return _parsed(_data(path), path.name, bench, row)
    except (ValueError, RecursionError) as error:
        why = str(error) or type(error).__name__
    except OSError as error:
        why = error.strerror or type(error).__name__
    raise InputError(f"{path}: {why}; {MAKE} makes it anew, and without the file its claim is not run")


def _data(path: Path) -> object:
    if not path.is_file():
        raise ValueError("not a file")
    with path.open("rb") as file:
        octets = file.read(MOST_OCTETS + 1)
    if len(octets) > MOST_OCTETS:
        raise ValueError(f"larger than {MOST_OCTETS} octets")
    return json.loads(octets)


def _parsed(value: object, file: str, bench: str, row: Row[R]) -> Record[R]:
    # What has another form may have other keys.
    told = _object(value, "the file")
    for name, here in (("schema", SCHEMA), ("version", __version__)):
        if told.get(name) != here:
            raise _wrong(name, told.get(name), f"{here}, as this handfast has it")
    given = _keys(value, "the file", [one.name for one in fields(Record)])
    settings = _settings(given["settings"], bench)
    rows = _list(given["rows"], "rows", MOST_ROWS)
    measured = Record(
        _word(given["bench"], "bench"),
        _number(given["delay_ms"], "delay_ms"),
        settings,
        tuple(row(one, f"rows[{place}]", settings) for place, one in enumerate(rows)),
        _words(given["left_out"], "left_out"),
        _words(given["programs"], "programs"),
        _word(given["kernel"], "kernel"),
        datetime.fromisoformat(_word(given["made"], "made")).isoformat(timespec="seconds"),
    )
    names = [one.name for one in measured.rows]
    if len(set(names)) != len(names):
        raise _wrong("rows", names, "one of each name")
    if measured.file != file:
        raise _wrong("the file's name", file, f"{measured.file!r}, by what it holds")
    return measured


def _settings(value: object, bench: str) -> Mapping[str, Any]:
    """Those of the bench, each of the kind that its usual one is of."""
    usual = USUAL[bench]
    given = _keys(value, "settings", usual)
    return {name: _of_kind(given[name], f"settings.{name}", usual[name]) for name in usual}


def _of_kind(value: object, name: str, usual: object) -> object:
    if isinstance(usual, list):
        return list(_numbers(value, name))
    return _word(value, name) if isinstance(usual, str) else _number(value, name)
