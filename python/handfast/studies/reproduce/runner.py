"""Does the runs that claims need, judges them, and leaves verdicts, figures and a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from handfast import figures, tasks
from handfast.engine import Progress
from handfast.errors import DONE, FAILED, WRONG_INPUT
from handfast.picture import Picture
from handfast.store import staged
from handfast.studies.document import written
from handfast.studies.grid import Order, ScenarioCell, fill
from handfast.studies.reproduce import page, verdict
from handfast.studies.reproduce.paper import Claim, Paper
from handfast.studies.reproduce.runs import Run, Runs, of_cells
from handfast.studies.reproduce.verdict import FAILS, HOLDS, NotRun, Verdict
from handfast.studies.table import Study, Table

OUT = Path("out") / "reproduce"
"""Where papers' result directories are."""
FIGURES = "figures"
"""The folder of a paper's figures: ID.png, ID.svg."""
SCRATCH = "scratch"


@dataclass(frozen=True, slots=True)
class Question:
    """Some claims of a paper."""

    paper: Paper
    claims: Sequence[Claim]

    @property
    def suffix(self) -> str:
        """Of the names of files on all claims, or on some: a look at one leaves the others' page alone."""
        if len(self.claims) == len(self.paper.claims.all):
            return ""
        return "".join(f"-{claim.id.removeprefix(f'{self.paper.key}-')}" for claim in self.claims)


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Study):
    """The verdicts of one call, and how they came about."""

    verdicts: tuple[Verdict, ...]
    runs: int
    reused: int
    """How many of the runs were found on disk."""
    out: Path
    """The paper's result directory."""
    suffix: str
    """Of the names of its files."""
    html: str
    """The page of verdicts."""
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    """The figure of each claim that has one, by the claim's id."""

    def __repr__(self) -> str:
        return f"<Outcome: {', '.join(f'{one.id} {one.verdict}' for one in self.verdicts)}>"

    def _tables(self) -> Mapping[str, Callable[[], Iterator[Mapping[str, object]]]]:
        """A row a claim; a row a measured figure."""
        return {"claims": lambda: map(_claim, self.verdicts), "measured": lambda: _figures(self.verdicts)}

    @property
    def page(self) -> Path:
        """Where the page is."""
        return self.out / self._page

    @property
    def _page(self) -> str:
        return f"report{self.suffix}.html"

    def files(self) -> Mapping[str, str | bytes]:
        """The verdicts as JSON, and the page."""
        return {f"claims{self.suffix}.json": self.document(), self._page: self.html}

    def document(self) -> str:
        """The verdicts as JSON, in the words of DESIGN."""
        return document(self.verdicts)

    def overview(self) -> Table:
        """A row a claim."""
        rows = [
            [one.id, one.verdict, one.title, one.paper, "\n".join(map(str, one.measured)), one.reason, one.control]
            for one in self.verdicts
        ]
        return Table(["claim", "verdict", "what is claimed", "paper", "measured", "reason", "control"], rows)


def _claim(one: Verdict) -> Mapping[str, object]:
    return {name: getattr(one, name) for name in ("id", "verdict", "title", "paper", "control", "reason")}


def _figures(verdicts: Sequence[Verdict]) -> Iterator[Mapping[str, object]]:
    for verdict_ in verdicts:
        for one in verdict_.measured:
            figures_of = {name: getattr(one, name) for name in ("name", "unit", "value", "low", "high", "count")}
            yield {"id": verdict_.id, **figures_of}


def reproduce(question: Question, order: Order, progress: Progress | None = None) -> Outcome:
    """Judge the claims; finished runs are kept, whatever happens then."""
    # A file that cannot be used is told before the runs, which may take half an hour.
    for claim in question.claims:
        if claim.files is not None:
            claim.files()
    found = _runs(question, order, progress)
    verdicts = tuple(_judge(found, claim) for claim in question.claims)
    pictures = _draw(found, question.claims, verdicts)
    drawn = {name: picture.svg() for name, picture in pictures.items()}
    html = page.build(question.paper.claims.title, verdicts, drawn, found.facts)
    made = Outcome(verdicts, found.runs, found.reused, order.out, question.suffix, html, pictures)
    made.write(order.out)
    return made


@dataclass(frozen=True, slots=True)
class _Found:
    """The runs of some claims."""

    order: Order
    by_claim: Mapping[str, Sequence[Run]]
    runs: int
    """How many there are: claims share them."""
    reused: int

    def of(self, claim: Claim) -> Runs:
        """Those of one claim."""
        return Runs(tuple(self.by_claim.get(claim.id, ())), self.order.quick, self.order.out / SCRATCH)

    @property
    def facts(self) -> Mapping[str, str]:
        """What the page says of them."""
        every = [run.result for some in self.by_claim.values() for run in some]
        seeds = {run.seed for run in every}
        return {
            "runs": str(self.runs),
            "seeds": f"{min(seeds)} to {max(seeds)}" if seeds else "none",
            "backend": ", ".join(sorted({run.backend for run in every})),
            "extent": "a quick look" if self.order.quick else "as the sweeps have it",
        }


def _runs(question: Question, order: Order, progress: Progress | None) -> _Found:
    wanted: dict[tuple[str, str], list[ScenarioCell]] = {}
    for claim in question.claims:
        for one in claim.needs:
            plan = question.paper.plan(one.sweep)
            cells = plan.cells(one.only, order.seeds_of(plan.seeds, plan.quick_seeds))
            wanted.setdefault((claim.id, one.sweep), []).extend(cells)
    for cell in {cell.backend: cell for some in wanted.values() for cell in some}.values():
        tasks.check([cell.backend], [cell.scenario], [cell.scheme])
    done = fill(wanted, order, progress)
    by_claim: dict[str, list[Run]] = {}
    for (claim_id, sweep), some in wanted.items():
        by_claim.setdefault(claim_id, []).extend(of_cells(sweep, some, done.results[claim_id, sweep], order.out))
    return _Found(order, by_claim, done.runs, done.reused)


def _judge(found: _Found, claim: Claim) -> Verdict:
    mine = found.of(claim)
    try:
        mine.check()
        return verdict.judge(claim.id, claim.title, claim.paper, claim.judge(mine))
    except NotRun as why:
        return verdict.not_run(claim.id, claim.title, claim.paper, str(why))


def _draw(found: _Found, claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> Mapping[str, Picture]:
    """Each claim's figure; as files for a paper too."""
    drawn: dict[str, Picture] = {}
    with staged(found.order.out / FIGURES) as stage, figures.style():
        for claim, judged in zip(claims, verdicts, strict=True):
            if claim.figure is None or judged.verdict == verdict.NOT_RUN:
                continue
            figure = claim.figure(found.of(claim))
            drawn[claim.id] = Picture(figure)
            figures.save(figure, stage / claim.id)
    return drawn


def document(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as JSON, in the words of DESIGN."""
    return written({"claims": [one.as_json() for one in verdicts]})


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """1 where a claim fails; 2 where nothing could be judged, for want of runs or of a requirement; else 0."""
    words = {one.verdict for one in verdicts}
    return FAILED if FAILS in words else DONE if HOLDS in words else WRONG_INPUT
