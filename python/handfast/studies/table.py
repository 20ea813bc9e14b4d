"""What a study gives: frames, a document, a table for a notebook, and often a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from handfast.frames import Tabular
from handfast.store import staged, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from handfast.picture import Picture


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text below heads."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)
    """Columns that Markdown aligns to the left: names. All others are numbers."""

    def html(self) -> str:
        """For a page or a notebook."""
        from handfast.page.document import table

        return table(self.heads, self.rows)

    def markdown(self) -> str:
        """For README, docs and files."""
        rule = ["---" if place in self.left else "--:" for place in range(len(self.heads))]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in (self.heads, rule, *self.rows))


class Study(Tabular):
    """What a study gave."""

    __slots__ = ()

    def document(self) -> str:
        """All of it as JSON."""
        raise NotImplementedError

    def overview(self) -> Table:
        """What a notebook shows."""
        raise NotImplementedError

    def files(self) -> Mapping[str, str | bytes]:
        """What a directory gets, by name; figures apart."""
        raise NotImplementedError

    def write(self, out: Path) -> None:
        """Write it into `out`."""
        for name, content in self.files().items():
            write_whole(out / name, content)

    def _repr_html_(self) -> str:
        return self.overview().html()


class Drawn(Study):
    """What a study with a figure gave."""

    __slots__ = ()
    FIGURE: ClassVar[str]
    """The name of the figure's files, without their suffix."""

    def draw(self) -> Figure:
        """The figure, in the style that is set."""
        raise NotImplementedError

    def figure(self) -> Picture:
        """The figure, to be shown or saved."""
        from handfast import figures
        from handfast.picture import Picture

        with figures.style():
            return Picture(self.draw())

    def write(self, out: Path) -> None:
        """Write it and its figure into `out`."""
        from handfast import figures

        super().write(out)
        with staged(out) as stage, figures.style():
            figures.save(self.draw(), stage / self.FIGURE)
