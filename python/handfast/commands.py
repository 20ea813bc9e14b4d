"""What the command line does besides running, for programs: the same words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from handfast import _handfast, bundle, machine, vocabulary
from handfast.store import write_whole


def listing() -> vocabulary.Vocabulary:
    """What there is to start from (`handfast list`)."""
    return vocabulary.vocabulary()


def schema() -> dict[str, Any]:
    """JSON Schema of the scenario file (`handfast schema`)."""
    found: dict[str, Any] = json.loads(_handfast.schema())
    return found


def doctor() -> list[machine.Check]:
    """What this machine has and lacks, required things first (`handfast doctor`)."""
    return machine.checks()


def report(source: str | Path, out: str | Path | None = None, *, figures: str | Path | None = None) -> Path:
    """Draw the HTML report, and figures into a folder, from a result directory or a `result.json`.

    `out` is the report's file, by default `report.html` beside the results; returned is where it is. Raises
    `InputError` where the results cannot be read, or the files not written.
    """
    from handfast import figures as figure
    from handfast import page

    found = bundle.read(Path(source))
    target = Path(out) if out is not None else found.directory / bundle.REPORT
    write_whole(target, page.build(found))
    if figures is not None:
        figure.write(found, Path(figures))
    return target
