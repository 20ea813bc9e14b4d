"""A figure that shows itself in a notebook and is saved as a paper wants it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from handfast import figures
from handfast.errors import InputError
from handfast.store import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCREEN_DPI = 144
"""Of a notebook's picture: 1.5 pixels for one of the page."""
PAGE_DPI = 96
SUFFIXES = (".pdf", ".png", ".svg")


class Picture:
    """A figure: `save` it, change `figure` (matplotlib's) first, or leave it at a notebook cell's end."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        """matplotlib's figure."""

    def __repr__(self) -> str:
        width, height = self.figure.get_size_inches()
        return f"<Picture, {width:.1f} by {height:.1f} inches>"

    def save(self, path: str | Path) -> Path:
        """Write it as .svg, .pdf or .png (300 dots an inch), and return where."""
        target = Path(path)
        if target.suffix not in SUFFIXES:
            raise InputError(f"{target}: a picture is saved as one of {', '.join(SUFFIXES)}")
        write_whole(target, self._bytes(target.suffix.removeprefix("."), figures.PNG_DPI))
        return target

    def svg(self) -> bytes:
        """As SVG for a page, its text as text."""
        with figures.style():
            return figures.svg(self.figure)

    def _bytes(self, kind: str, dpi: int) -> bytes:
        with figures.style():
            if kind == "svg":
                return figures.svg(self.figure, "path")
            buffer = io.BytesIO()
            made_by = {"CreationDate": None} if kind == "pdf" else {"Software": "handfast"}
            self.figure.savefig(buffer, format=kind, dpi=dpi, metadata=made_by)
            return buffer.getvalue()

    def _repr_png_(self) -> tuple[bytes, Mapping[str, int]]:
        """What a notebook shows, and how wide."""
        return self._bytes("png", SCREEN_DPI), {"width": round(self.figure.get_figwidth() * PAGE_DPI)}
