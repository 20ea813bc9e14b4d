"""Options that several commands share, and how their values are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from handfast import api
from handfast.cli import complete
from handfast.engine import check_jobs
from handfast.errors import InputError

MAX_SEEDS = 1_000_000
"""More is a typing mistake, and would fill the memory before the first run."""

ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A scenario file, or the name of a shipped one.", autocompletion=complete.scenarios
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Replace a value of the file, e.g. links.radio.loss=0.01."),
]
SchemesOption = Annotated[
    str | None,
    typer.Option(
        "--schemes",
        metavar="A,B",
        help="Only these schemes, or profiles (default: all schemes).",
        autocompletion=complete.several_schemes,
    ),
]
SeedsOption = Annotated[
    str, typer.Option("--seeds", "--seed", metavar="SEEDS", help="One seed, a list 1,5,9 or a range 1..10.")
]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where results go.", file_okay=False)]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace what DIR holds, whatever it is; without it no result is lost.")
]
PcapOption = Annotated[
    bool,
    typer.Option("--pcap", help="Capture at the nodes that the file's `capture` names, as pcapng into DIR."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
BackendOption = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="A,B",
        help="Where it runs: sim, lab (real kernels; root), or sim,lab.",
        autocompletion=complete.backends,
    ),
]


def _jobs(number: int | None) -> int | None:
    check_jobs(number)
    return number


JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", "--cores", "-j", metavar="N", callback=_jobs, help="Runs at a time (default: all cores)."),
]


def load(name: str, settings: Sequence[str] | None) -> api.Scenario:
    """Load the scenario that `name` means, with `--set` values replaced."""
    given = [setting(text) for text in settings or ()]
    paths = [path for path, _ in given]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise InputError(f"--set {twice}: given twice; leave one of the two out")
    return api.load(name, given)


def setting(text: str) -> tuple[str, str]:
    """Read PATH=VALUE."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip() or not value.strip():
        raise InputError(f"--set {text}: expected PATH=VALUE, such as links.radio.loss=0.01")
    return path.strip(), value.strip()


def axis(text: str) -> tuple[str, list[str]]:
    """Read PATH=VALUE,VALUE,...; commas inside brackets, braces or quotes belong to a value."""
    path, values = setting(text)
    return path, _split(values, text)


def _split(values: str, text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for char in values:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char in "[{") - (char in "]}")
        if char == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    if not all(part.strip() for part in parts):
        raise InputError(f"--set {text}: an empty value between commas")
    return list(dict.fromkeys(part.strip() for part in parts))


def names(text: str | None) -> list[str] | None:
    """Read A,B,C; None stays None."""
    return listed("--schemes", text)


def listed(option: str, text: str | None) -> list[str] | None:
    """Read the A,B,C of `option`; None stays None."""
    if text is None:
        return None
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise InputError(f"{option}: names nothing")
    return found


def backends(text: str) -> list[str]:
    """Read A,B."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise InputError("--backend: names no backend")
    return list(dict.fromkeys(found))


def seeds(text: str) -> list[int]:
    """Read seeds: 7, 1,5,9 or 1..10 (both ends included), in order and without repetition."""
    found: dict[int, None] = {}
    for part in text.split(","):
        first, dots, last = part.partition("..")
        low = _seed(first, text)
        high = _seed(last, text) if dots else low
        if high < low or high - low >= MAX_SEEDS:
            raise InputError(f"--seeds {text}: {part} is not a range of 1 to {MAX_SEEDS} seeds")
        found.update(dict.fromkeys(range(low, high + 1)))
    return list(found)


def _seed(text: str, whole: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or int(digits[:20]) >= 2**63 or len(digits) > 19:
        raise InputError(f"--seeds {whole}: expected whole numbers from 0 to 2^63-1, such as 7 or 1..10")
    return int(digits)
