"""A result directory: everything a report is drawn from, and nothing that needs the scenario's own place.

result.json      the runs
scenario.toml    the scenario as it ran: the file's text, overrides as comments at its end
scenario-traces/ the files that its links follow
series/          time series, one Parquet file a run and table
captures/        pcapng, a folder a run, where asked for
.build           which build of handfast made the runs
report.html      drawn from the above
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from handfast import followed, results, series
from handfast.api import Scenario
from handfast.errors import HandfastWarning, InputError
from handfast.results import SIM, Document, Result
from handfast.store import build_id, write_whole

RESULT = "result.json"
SCENARIO = "scenario.toml"
CAPTURES = "captures"
REPORT = "report.html"
BUILD = ".build"
ENTRIES = (RESULT, SCENARIO, followed.DIRECTORY, series.DIRECTORY, CAPTURES, REPORT, BUILD)
"""All that a result directory may hold; whatever else is there is somebody else's."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a result directory holds."""

    directory: Path
    document: Document
    scenario_text: str | None
    """None where only a `result.json` is there."""


def capture_name(scheme: str, backend: str, seed: int) -> str:
    """What a run's folder of captures is called."""
    return f"{scheme}-{seed}" if backend == SIM else f"{scheme}-{seed}.{backend}"


def write(directory: Path, scenario: Scenario, runs: list[Result]) -> None:
    """Write `result.json`, `scenario.toml` and `.build` into `directory`."""
    write_whole(directory / RESULT, results.document(runs).rstrip() + "\n")
    warning = followed.write(scenario, directory / SCENARIO)
    write_whole(directory / BUILD, build_id() + "\n")
    if warning is not None:
        # The runs are whole.
        warnings.warn(warning, HandfastWarning, stacklevel=2)


def read(path: Path) -> Bundle:
    """Read a result directory, or a bare `result.json`."""
    file = path / RESULT if path.is_dir() else path
    document = results.read_document(file)
    if not document.runs:
        raise InputError(f"{file}: holds no runs")
    if len({run.scenario_hash for run in document.runs}) > 1:
        raise InputError(f"{file}: holds runs of several scenarios (a sweep): compare them with runs.parquet beside it")
    scenario = file.parent / SCENARIO
    text = scenario.read_text(encoding="utf-8", errors="replace") if scenario.is_file() else None
    return Bundle(file.parent, document, text)
