"""Fewer points for a line, none of them invented: what is kept lies in the samples' range in each column of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PER_COLUMN = 4
"""Points kept of a column, where the line has no gaps in it."""


def kept(x: Floats, y: Floats, span: tuple[float, float], columns: int) -> NDArray[np.intp]:
    """The samples to draw: the first, lowest, highest and last of each column, and both sides of every gap (NaN).

    The columns divide `span` by time, not by number of samples: where samples are rare, as in a queue that stays empty,
    a stretch of equally many samples is seconds wide, and a line across it shows what never was. The last sample
    of a column and the first of the next are neighbours in the data too.
    """
    import numpy as np

    if len(x) <= PER_COLUMN * columns:
        return np.arange(len(x))
    start, end = span
    column = np.clip(((x - start) / (end - start) * columns).astype(np.intp), 0, columns - 1)
    first = np.flatnonzero(np.diff(column, prepend=-1))
    last = np.append(first[1:], len(x)) - 1
    # Sorted by column, then value: the first of each column is its lowest (highest). NaN sorts to a column's end.
    lowest, highest = np.lexsort((y, column))[first], np.lexsort((-y, column))[first]
    borders = np.flatnonzero(np.diff(np.isnan(y)))
    return np.unique(np.concatenate([first, lowest, highest, last, borders, borders + 1]))
