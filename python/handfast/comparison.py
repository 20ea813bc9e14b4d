"""The runs of a scenario side by side: a sequence of results with a table, frames, figures and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, overload

from handfast import bundle, frames, headline, keeping, series, tables
from handfast.errors import InputError
from handfast.frames import Tabular
from handfast.results import Result
from handfast.store import write_whole

if TYPE_CHECKING:
    import polars as pl

    from handfast.bundle import Bundle
    from handfast.picture import Picture


class Comparison(Tabular, Sequence[Result]):
    """Results in the order schemes, backends, seeds. Time series and figures need the directory of the runs."""

    def __init__(self, runs: Iterable[Result], directory: Path | None = None) -> None:
        self._runs = tuple(runs)
        self.directory = directory
        """Where the runs' time series and captures are; None where nothing was written."""

    @overload
    def __getitem__(self, index: int) -> Result: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Result]: ...

    def __getitem__(self, index: int | slice) -> Result | Sequence[Result]:
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return f"<Comparison: {keeping.named(self._runs)}>"

    @property
    def headline(self) -> str:
        """Who won, by how much, and where the rest was lost; empty where there is nothing to compare."""
        return headline.sentences(self._runs)

    def _tables(self) -> Mapping[str, Callable[[], Iterator[frames.Row]]]:
        return {
            "runs": lambda: map(frames.run, self._runs),
            "flows": lambda: (row for run in self._runs for row in frames.flows(run)),
            "handovers": lambda: (row for run in self._runs for row in frames.handovers(run)),
        }

    def series(self, table: str = series.FLOWS) -> pl.DataFrame:
        """The time series of all runs: columns `scheme`, `backend`, `seed`, then those of the `table`.

        `flows` has a row whenever a flow's figures changed, `queues` whenever a queue's length did, `packets` a row for
        each packet of flows with `measure = ["delay"]` (docs/reference/results.md names the columns and their units).
        """
        import polars as pl

        directory = self._bundle().directory / series.DIRECTORY
        read = ((run, series.read(directory, run, table)) for run in self._runs)
        parts = [
            frame.select(
                pl.lit(run.scheme).alias("scheme"),
                pl.lit(run.backend).alias("backend"),
                pl.lit(run.seed).alias("seed"),
                pl.all().exclude(pl.Categorical),
                pl.col(pl.Categorical).cast(pl.String),
            )
            for run, frame in read
            if frame is not None
        ]
        if not parts:
            there = "flows, queues, and packets where flows measure delays"
            raise InputError(f"{directory}: no table {table!r} of these runs; there are: {there}")
        return pl.concat(parts)

    def figure(self, name: str = "overview") -> Picture:
        """One figure of the typical seed: `overview`, `delivered`, `cwnd`, `ssthresh`, `rtt`, `rto` or `queue`."""
        from handfast import figures
        from handfast.picture import Picture

        return Picture(figures.one(self._bundle(), name))

    def figures(self, directory: str | Path) -> None:
        """Write every figure as PNG and SVG into `directory`."""
        from handfast import figures

        figures.write(self._bundle(), Path(directory))

    def report(self, out: str | Path | None = None) -> Path:
        """Write the HTML report of these runs, by default beside them, and return where it is."""
        from handfast import page

        found = self._bundle()
        target = Path(out) if out is not None else found.directory / bundle.REPORT
        write_whole(target, page.build(found))
        return target

    def _bundle(self) -> Bundle:
        if self.directory is None:
            raise InputError('no time series were kept: give the runs a directory, compare(..., out="DIR")')
        found = bundle.read(self.directory)
        # The directory may hold further runs.
        return replace(found, document=replace(found.document, runs=self._runs))

    def _repr_html_(self) -> str:
        from handfast.page import document

        title = f"<p><b>{escape(tables.heading(self._runs))}</b>. {escape(self.headline)}</p>"
        return title + document.comparison(self._runs)


def read(path: str | Path) -> Comparison:
    """The runs of a result directory, or of a `result.json`, with their time series."""
    found = bundle.read(Path(path))
    return Comparison(found.document.runs, found.directory)
