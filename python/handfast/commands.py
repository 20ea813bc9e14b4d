"""The commands of `handfast` for programs: the same words, defaults and files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handfast import _handfast, api, comparison, machine, vocabulary
from handfast.engine import Progress
from handfast.errors import refuse_unknown
from handfast.results import SIM, Result
from handfast.studies.grid import Order
from handfast.values import Overrides

if TYPE_CHECKING:
    from handfast.comparison import Comparison
    from handfast.studies.common import Common
    from handfast.studies.fidelity import Fidelity
    from handfast.studies.peers.eln import Throughput
    from handfast.studies.peers.quick_start import Delivered
    from handfast.studies.reproduce import Outcome
    from handfast.studies.sweep import Sweep

Wanted = str | Path | api.Scenario
"""A scenario, its file, or the name of a shipped one."""
PEERS = ("eln", "quick-start")


def _loaded(scenario: Wanted, overrides: Overrides) -> api.Scenario:
    if isinstance(scenario, api.Scenario):
        return scenario.with_overrides(overrides) if overrides else scenario
    return api.load(scenario, overrides)


def run(
    scenario: Wanted,
    scheme: str | None = None,
    seed: int = 1,
    *,
    overrides: Overrides = (),
    backend: str = SIM,
    out: str | Path | None = None,
    captures: bool | Sequence[str] = False,
    verify_wire: bool = False,
    force: bool = False,
) -> Result:
    """Run one scheme of a scenario: `load(scenario).run(...)` (`handfast run`)."""
    return _loaded(scenario, overrides).run(
        scheme, seed, backend=backend, out=out, captures=captures, verify_wire=verify_wire, force=force
    )


def compare(
    scenario: Wanted,
    schemes: Sequence[str] | None = None,
    seeds: Sequence[int] = (1,),
    *,
    overrides: Overrides = (),
    backends: Sequence[str] = (SIM,),
    out: str | Path | None = None,
    captures: bool | Sequence[str] = False,
    force: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare the schemes of a scenario: `load(scenario).compare(...)` (`handfast compare`)."""
    return _loaded(scenario, overrides).compare(
        schemes, seeds, backends=backends, out=out, captures=captures, force=force, jobs=jobs, progress=progress
    )


def sweep(
    scenario: Wanted,
    values: Mapping[str, Sequence[object]],
    *,
    out: str | Path,
    schemes: Sequence[str] | None = None,
    seeds: Sequence[int] = (1,),
    backends: Sequence[str] = (SIM,),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Run every combination of values: `load(scenario).sweep(...)` (`handfast sweep`)."""
    return _loaded(scenario, ()).sweep(
        values, out=out, schemes=schemes, seeds=seeds, backends=backends, jobs=jobs, progress=progress
    )


def common(
    groups: Sequence[str] | None = None,
    schemes: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    *,
    quick: bool = False,
    out: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Common:
    """Every scheme in every situation, or in some `groups` of them (`handfast common`).

    `seeds` replaces the sweeps' own, `quick` takes few. Results go to `out`, by default out/common.
    """
    from handfast.studies import common as bench

    order = Order(Path(out) if out is not None else bench.OUT, schemes, seeds, quick, jobs)
    made = bench.study(order, groups, progress)
    made.write(order.out)
    return made


def reproduce(
    target: str,
    *,
    quick: bool = False,
    beyond: bool = False,
    seeds: Sequence[int] | None = None,
    out: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Judge a paper's claims (`sdn`), or one of them (`sdn/7a`) (`handfast reproduce`).

    `quick` takes few seeds, `beyond` adds our own claims where the paper stops. Results go to a folder of `out` (by
    default out/reproduce) that is called like the paper.
    """
    from handfast.studies import reproduce as bench

    key, _, name = target.partition("/")
    paper = bench.load(key)
    claims = paper.choose([name] if name else [], beyond=beyond)
    place = (Path(out) if out is not None else bench.OUT) / key
    return bench.reproduce(bench.Question(paper, claims), Order(place, None, seeds, quick, jobs), progress)


def peers(
    figure: str,
    *,
    schemes: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    quick: bool = False,
    out: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Throughput | Delivered:
    """A figure here and in ns-2: `eln` or `quick-start` (`handfast peers`); the latter has no schemes and seeds."""
    from handfast.studies import peers as bench

    refuse_unknown([figure], PEERS, "figure", more=" with a peer")
    order = Order(Path(out) if out is not None else bench.OUT / figure, schemes, seeds, quick, jobs)
    made: Throughput | Delivered
    if figure == "eln":
        made = bench.eln.study(order, progress)
    else:
        made = bench.quick_start.study(progress=progress, jobs=jobs)
    made.write(order.out)
    return made


def fidelity(
    seed: int,
    cases: int = 30,
    *,
    scheme: str | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Fidelity:
    """Draw cases and run them in the simulator and on this machine's kernel (`handfast fidelity`); needs root.

    Each case is kept in a folder of `out`; None keeps nothing. `scheme`: all of them by that one, not by what is drawn.
    """
    from handfast.studies import fidelity as bench

    drawn = [bench.draw(seed, number, scheme) for number in range(1, cases + 1)]
    place = Path(out) if out is not None else None
    made = bench.study(drawn, out=place, progress=progress)
    if place is not None:
        made.write(place)
    return made


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
    found = comparison.read(source)
    target = found.report(out)
    if figures is not None:
        found.figures(figures)
    return target
