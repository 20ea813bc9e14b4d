"""The Rust core: scenarios, the simulator, the vocabulary."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import final

__all__ = [
    "LONGEST_FILE",
    "LONGEST_TRACE",
    "LONGEST_TRACES",
    "Cancelled",
    "Control",
    "Recording",
    "Run",
    "Scenario",
    "ScenarioError",
    "Trace",
    "__version__",
    "agents",
    "disciplines",
    "document",
    "generators",
    "lab_capacity",
    "lab_relay",
    "load",
    "metrics",
    "profiles",
    "result_schema",
    "schema",
]

__version__: str
LONGEST_FILE: int
"""The longest scenario file that is read, bytes."""
LONGEST_TRACE: int
"""The longest file of a trace that is read, bytes."""
LONGEST_TRACES: int
"""The most bytes that all traces of a scenario have together."""

class ScenarioError(ValueError):
    """A scenario that cannot be used. `str()` shows the line, what was expected and the nearest valid name."""

    line: int | None
    column: int | None

class Cancelled(Exception):
    """A run was stopped by `Control.cancel`."""

@final
class Control:
    """A handle on a run in progress, shared between threads."""

    def __new__(cls) -> Control: ...
    def cancel(self) -> None:
        """Ask the run to stop soon; it then raises `Cancelled`."""
    @property
    def progress(self) -> float:
        """The scenario's time done, 0 to 1."""

@final
class Run:
    """What one run gave."""

    @property
    def json(self) -> str:
        """One run object of `result.json`."""
    @property
    def series(self) -> dict[str, dict[str, list[str] | memoryview]]:
        """Tables of equally long columns.

        The tables are "flows", "queues" and "packets", empty unless the run was asked for time series; the last one
        also where no flow measures its delays. The column of names is a list of str; each other column is a memoryview
        of float32, float64, uint32 or uint64, NaN where there is no value.
        """

@final
class Scenario:
    """A validated scenario."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def schemes(self) -> list[str]: ...
    @property
    def nodes(self) -> list[str]: ...
    @property
    def flows(self) -> list[str]: ...
    @property
    def captures(self) -> list[str]:
        """The nodes at which packets can be captured: those of `capture`."""
    @property
    def trace_files(self) -> list[str]:
        """The files that links follow, as the scenario names them."""
    def run(
        self,
        scheme: str,
        seed: int,
        *,
        series: bool = False,
        capture_dir: str | Path | None = None,
        verify_wire: bool = False,
        control: Control | None = None,
    ) -> Run:
        """Simulate once. The interpreter lock is released meanwhile."""
    def lab_plan(self, scheme: str) -> str:
        """What a run in the lab needs of the machine, as JSON."""
    def lab_load(self, scheme: str) -> float:
        """Frames a second that the packet loop would move at the most."""
    def check_lab_load(self, scheme: str, frames_per_s: float) -> None:
        """Raise `ScenarioError` where that is more than a machine carries which carries so many."""
    def run_lab(
        self,
        scheme: str,
        seed: int,
        hub: str,
        nodes: Sequence[str],
        *,
        association_socket: str | Path | None = None,
        series: bool = False,
        capture_dir: str | Path | None = None,
        control: Control | None = None,
    ) -> Run:
        """Run once in real time, in namespaces made after `lab_plan`. The interpreter lock is released meanwhile."""

def lab_capacity(
    hub: str,
    ends: Sequence[str],
    hosts: Sequence[str],
    interfaces: Sequence[str],
    receiver: str,
    seconds: float,
    on_step: Callable[[str], object],
) -> str:
    """Measure what the packet loop carries between two hosts: a JSON object.

    `ends` are the loop's interfaces, `interfaces` the hosts' own; `receiver` is an address and port of the second host.
    `on_step` is called with each transfer as JSON; what it raises ends the measurement.
    """

def lab_relay(
    interface: str,
    addresses: Sequence[str],
    wire: str,
    local: str,
    *,
    netns: str | None = None,
    mac: str | None = None,
    neighbours: Sequence[tuple[str, str]] = ...,
    profile: str = "linux",
    control: Control | None = None,
) -> tuple[int, int, int, int]:
    """Relay between local programs and our endpoint on an interface.

    It goes on until `control` is cancelled or the one connection of standard input and output is over, and returns
    connections, broken ones, bytes to the wire, bytes from it. `netns` is where the interface is, `mac` its address
    where it is not to be the kernel's, `neighbours` pairs of IP and Ethernet address.
    """

@final
class Trace:
    """What a direction of a link follows over time."""

    @staticmethod
    def parse(text: str) -> Trace:
        """Read a text in one of the formats of scenario files; raises `ValueError` with its line."""
    @staticmethod
    def generate(name: str, way: str, seconds: float, seed: int) -> Trace:
        """Draw one; `way` is "down" or "up"."""
    def csv(self) -> str:
        """As lines of values; of opportunities the mean rate of each tenth of a second."""
    def summary(self) -> str:
        """In figures, as JSON."""

@final
class Recording:
    """Lines of values under declared columns, cut where they pause."""

    @staticmethod
    def read(
        text: str,
        time: tuple[str, float | None],
        rate: tuple[str, float] | None = ...,
        delay: tuple[str, float] | None = ...,
        loss: tuple[str, float] | None = ...,
        round_trip: bool = ...,
    ) -> Recording:
        """Names of columns, and what a number is worth there (s, bit/s, s, 1); a time worth None is a date."""
    def parts(self) -> list[float]:
        """How long each part is, in seconds."""
    def trace(self, part: int | None = ...) -> Trace:
        """A part, counted from 0, as a trace; without a number the longest."""

def generators() -> list[tuple[str, str]]:
    """Everything that draws traces: its name and one line about it."""

def load(text: str, name: str, overrides: Sequence[tuple[str, str]] = ...) -> Scenario:
    """Parse and validate a scenario file's text."""

def schema() -> str:
    """JSON Schema of the scenario file."""

def result_schema() -> str:
    """JSON Schema of `result.json`."""

def metrics() -> str:
    """The tables of metrics and time series as JSON: names, units, aggregation, descriptions, columns, curves."""

def profiles() -> list[tuple[str, str]]:
    """Every TCP profile: its name and one line about it."""

def agents() -> list[tuple[str, str]]:
    """Every kind of agent built in: its name and one line about it."""

def disciplines() -> list[tuple[str, str]]:
    """Every queue discipline: its name and one line about it."""

def document(runs: Sequence[str]) -> str:
    """The versioned document around run objects."""
