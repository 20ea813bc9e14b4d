"""A result directory that is written again: its other runs stay, and nothing in it is lost unless the user says so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from handfast import _handfast, bundle, results, series
from handfast.api import Scenario
from handfast.errors import InputError
from handfast.results import LAB, SIM, Result, by_row
from handfast.store import build_id

Key = tuple[str, str, int]
"""Scheme, backend and seed: what tells the runs of one scenario apart."""

WAYS_OUT = """\
  --out DIR   writes the new results elsewhere and keeps these
  --force     deletes these and writes the new ones"""
MAX_SEEDS = 8
"""Seeds that a message lists; of more it gives their number, the first and the last."""


def key(run: Result) -> Key:
    """What tells the run from the others of its scenario."""
    return (run.scheme, run.backend, run.seed)


def kept(directory: Path, scenario: Scenario, coming: Collection[Key], *, pcap: bool = False) -> list[Result]:
    """The runs in `directory` that stay beside the runs of `scenario` that are `coming`.

    They stay where they are of the same scenario and build, and where each scheme then has the same seeds: a table
    with the median of 20 seeds beside a single one misleads. Otherwise, or where captures would be lost, this raises.
    """
    held = _held(directory)
    if held and (reason := _hindrance(directory, held, scenario, coming, pcap)):
        raise InputError(f"{directory} holds results that would be lost:\n  {named(held)}.\n{reason}\n{WAYS_OUT}")
    return [run for run in held if key(run) not in coming]


def _held(directory: Path) -> Sequence[Result]:
    if (directory / bundle.RESULT).exists():
        try:
            return results.read_document(directory / bundle.RESULT).runs
        except InputError as error:
            raise InputError(f"{error}\n{WAYS_OUT}") from error
    strangers = [name for name in bundle.ENTRIES if os.path.lexists(directory / name)]
    if strangers:
        raise InputError(
            f"{directory} is no result directory, and {', '.join(strangers)} there would be lost.\n{WAYS_OUT}"
        )
    return ()


def check_sweep(directory: Path, runs: str) -> None:
    """Raise where `directory` holds results that are no sweep's: a sweep keeps its own in the folder `runs`."""
    foreign = [name for name in bundle.ENTRIES if name != bundle.RESULT and os.path.lexists(directory / name)]
    if foreign or ((directory / bundle.RESULT).exists() and not (directory / runs).is_dir()):
        raise InputError(f"{directory} holds results of `compare` or `run`; --out DIR writes the sweep elsewhere")


def _hindrance(
    directory: Path, held: Sequence[Result], scenario: Scenario, coming: Collection[Key], pcap: bool
) -> str | None:
    if {run.scenario_hash for run in held} != {scenario.hash}:
        return _origin(held, scenario.name)
    if _build(directory) != build_id():
        return f"Another build of handfast made them; this is {_handfast.__version__}, build {build_id()}."
    rows = _by_seeds({*map(key, held), *coming})
    if len(rows) > 1:
        listed = "\n".join(f"  {_numbers(seeds)}: {', '.join(names)}" for seeds, names in rows.items())
        return f"With the new runs, some schemes would have other seeds than the rest:\n{listed}"
    if not pcap and (lost := [run for run in held if key(run) in coming and _captured(directory, run)]):
        return f"Captures would not be made again without --pcap:\n  {named(lost)}"
    return None


def _captured(directory: Path, run: Result) -> bool:
    return run.backend == LAB and (directory / bundle.CAPTURES / bundle.capture_name(*key(run))).is_dir()


def _origin(held: Sequence[Result], name: str) -> str:
    if len({run.scenario_hash for run in held}) > 1:
        return "They are of a sweep."
    others = held[0].scenario
    return f"They are of {others}." if others != name else f"They are of {name} with other values."


def _by_seeds(keys: Collection[Key]) -> dict[tuple[int, ...], list[str]]:
    rows: dict[str, set[int]] = {}
    for scheme, backend, seed in sorted(keys):
        rows.setdefault(results.row(scheme, backend), set()).add(seed)
    alike: dict[tuple[int, ...], list[str]] = {}
    for row, seeds in rows.items():
        alike.setdefault(tuple(sorted(seeds)), []).append(row)
    return alike


def named(runs: Sequence[Result]) -> str:
    """How many runs these are, and which."""
    numbers = _numbers(tuple(sorted({run.seed for run in runs})))
    return f"{len(runs)} run{'s' * (len(runs) != 1)} of {', '.join(by_row(runs))}, {numbers}"


def _numbers(seeds: tuple[int, ...]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if len(seeds) == seeds[-1] - seeds[0] + 1:
        return f"seeds {seeds[0]}..{seeds[-1]}"
    if len(seeds) > MAX_SEEDS:
        return f"{len(seeds)} seeds from {seeds[0]} to {seeds[-1]}"
    return f"seeds {','.join(map(str, seeds))}"


def _build(directory: Path) -> str | None:
    with suppress(OSError, UnicodeDecodeError):
        return (directory / bundle.BUILD).read_text(encoding="ascii").strip()
    return None


def join(directory: Path, stage: Path, old: Sequence[Result], new: Sequence[Result]) -> None:
    """Put into `stage` what `directory` holds of the runs that stay: their series, and captures that are still true."""
    tables = [
        file for file in _entries(directory / series.DIRECTORY) if any(series.is_of(run, file.name) for run in old)
    ]
    for file in tables:
        _link(file, stage / series.DIRECTORY / file.name)
    # A simulation done again is the same run, so its captures are still true.
    true = {bundle.capture_name(*key(run)) for run in (*old, *(run for run in new if run.backend == SIM))}
    for folder in _entries(directory / bundle.CAPTURES):
        target = stage / bundle.CAPTURES / folder.name
        if folder.name in true and not target.exists():
            shutil.copytree(folder, target, symlinks=True, copy_function=_link)


def _entries(directory: Path) -> Iterator[Path]:
    yield from directory.iterdir() if directory.is_dir() else ()


def _link(source: str | Path, target: str | Path) -> None:
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        # Not every file system has links.
        shutil.copy2(source, target)


def in_order(schemes: Sequence[str], runs: Sequence[Result]) -> list[Result]:
    """The runs as one comparison has them: by scheme, the scenario's first and in its order, by backend and by seed."""
    order = list(dict.fromkeys([*schemes, *(run.scheme for run in runs)]))
    return sorted(runs, key=lambda run: (order.index(run.scheme), run.backend != SIM, run.seed))
