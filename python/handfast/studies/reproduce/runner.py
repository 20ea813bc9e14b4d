"""Does the runs that claims need, judges them, and leaves verdicts, figures and a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from handfast import figures, sweeps, tasks
from handfast.engine import Progress
from handfast.errors import DONE, FAILED, WRONG_INPUT
from handfast.frames import Tabular
from handfast.picture import Picture
from handfast.store import staged, write_whole
from handfast.studies.reproduce import page, runs, verdict
from handfast.studies.reproduce.paper import Claim, Paper
from handfast.studies.reproduce.verdict import FAILS, HOLDS, NotRun, Verdict

OUT = Path("out") / "reproduce"
"""Where papers' result directories are."""
FIGURES = "figures"
"""The folder of a paper's figures: ID.png, ID.svg."""
DOCUMENT = "claims.json"
SCRATCH = "scratch"


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asked for."""

    paper: Paper
    claims: Sequence[Claim]
    out: Path
    """The paper's result directory."""
    quick: bool = False
    seeds: Sequence[int] | None = None
    """Instead of those in the sweeps' files."""
    jobs: int | None = None

    @property
    def name(self) -> str:
        """Of a document on all claims, or on some: a look at one leaves the others' page alone."""
        if len(self.claims) == len(self.paper.claims.all):
            return ""
        return "".join(f"-{claim.id.removeprefix(f'{self.paper.key}-')}" for claim in self.claims)


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Tabular):
    """The verdicts of one call, and how they came about."""

    verdicts: tuple[Verdict, ...]
    runs: int
    reused: int
    """How many of the runs were found on disk."""
    page: Path
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    """The figure of each claim that has one, by the claim's id."""

    def __repr__(self) -> str:
        return f"<Outcome: {', '.join(f'{one.id} {one.verdict}' for one in self.verdicts)}>"

    def _tables(self) -> Mapping[str, Callable[[], Iterator[Mapping[str, object]]]]:
        """A row a claim; a row a measured figure."""
        return {"claims": lambda: map(_claim, self.verdicts), "measured": lambda: _figures(self.verdicts)}

    def _repr_html_(self) -> str:
        from handfast.page.document import table

        rows = [
            [one.id, one.verdict, one.title, one.paper, "\n".join(map(str, one.measured)), one.reason, one.control]
            for one in self.verdicts
        ]
        return table(["claim", "verdict", "what is claimed", "paper", "measured", "reason", "control"], rows)


def _claim(one: Verdict) -> Mapping[str, object]:
    return {name: getattr(one, name) for name in ("id", "verdict", "title", "paper", "control", "reason")}


def _figures(verdicts: Sequence[Verdict]) -> Iterator[Mapping[str, object]]:
    for verdict_ in verdicts:
        for one in verdict_.measured:
            figures_of = {name: getattr(one, name) for name in ("name", "unit", "value", "low", "high", "count")}
            yield {"id": verdict_.id, **figures_of}


def reproduce(order: Order, progress: Progress | None = None) -> Outcome:
    """Judge the claims of `order`; finished runs are kept, whatever happens then."""
    found, done, reused = _runs(order, progress)
    verdicts = tuple(_judge(order, claim, found) for claim in order.claims)
    pictures = _draw(order, verdicts, found)
    drawn = {name: picture.svg() for name, picture in pictures.items()}
    write_whole(order.out / f"claims{order.name}.json", document(verdicts))
    path = order.out / f"report{order.name}.html"
    write_whole(path, page.build(order.paper.claims.title, verdicts, drawn, _facts(order, found, done)))
    return Outcome(verdicts, done, reused, path, pictures)


Found = Mapping[tuple[str, str], Sequence[runs.Run]]
"""The runs of each claim: by (claim, sweep)."""


def _runs(order: Order, progress: Progress | None) -> tuple[Found, int, int]:
    """The runs by claim and sweep, how many there are (claims share them), and how many were there before."""
    wanted: dict[tuple[str, str], list[sweeps.Cell]] = {}
    for claim in order.claims:
        for one in claim.needs:
            plan = order.paper.plan(one.sweep)
            seeds = order.seeds or (plan.quick_seeds if order.quick else plan.seeds)
            wanted.setdefault((claim.id, one.sweep), []).extend(plan.cells(one.only, seeds))
    cells = [cell for some in wanted.values() for cell in some]
    for cell in {cell.backend: cell for cell in cells}.values():
        tasks.check([cell.backend], [cell.scenario], [cell.scheme])
    results, reused = sweeps.fill(cells, out=order.out, jobs=order.jobs, progress=progress)
    left = iter(results)
    found = {key: runs.of_cells(key[1], some, [next(left) for _ in some], order.out) for key, some in wanted.items()}
    return found, len({cell.key for cell in cells}), reused


def _of(order: Order, claim: Claim, found: Found) -> runs.Runs:
    mine = [run for (name, _), some in found.items() if name == claim.id for run in some]
    return runs.Runs(tuple(mine), order.quick, order.out / SCRATCH)


def _judge(order: Order, claim: Claim, found: Found) -> Verdict:
    mine = _of(order, claim, found)
    try:
        mine.check()
        return verdict.judge(claim.id, claim.title, claim.paper, claim.judge(mine))
    except NotRun as why:
        return verdict.not_run(claim.id, claim.title, claim.paper, str(why))


def _draw(order: Order, verdicts: Sequence[Verdict], found: Found) -> Mapping[str, Picture]:
    """Each claim's figure; as files for a paper too."""
    drawn: dict[str, Picture] = {}
    with staged(order.out / FIGURES) as stage, figures.style():
        for claim, judged in zip(order.claims, verdicts, strict=True):
            if claim.figure is None or judged.verdict == verdict.NOT_RUN:
                continue
            figure = claim.figure(_of(order, claim, found))
            drawn[claim.id] = Picture(figure)
            figures.save(figure, stage / claim.id)
    return drawn


def _facts(order: Order, found: Found, done: int) -> Mapping[str, str]:
    every = [run.result for some in found.values() for run in some]
    seeds = {run.seed for run in every}
    return {
        "runs": str(done),
        "seeds": f"{min(seeds)} to {max(seeds)}" if seeds else "none",
        "backend": ", ".join(sorted({run.backend for run in every})),
        "extent": "a quick look" if order.quick else "as the sweeps have it",
    }


def document(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as JSON, in the words of DESIGN."""
    return json.dumps({"claims": [one.as_json() for one in verdicts]}, indent=2) + "\n"


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """1 where a claim fails; 2 where nothing could be judged, for want of runs or of a requirement; else 0."""
    words = {one.verdict for one in verdicts}
    return FAILED if FAILS in words else DONE if HOLDS in words else WRONG_INPUT
