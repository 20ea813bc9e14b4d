"""The common table in Markdown: all of it, and short for README."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from handfast.studies.common.remedies import changes, cheapest_first
from handfast.studies.common.study import BASELINE, Cell, Common, Row
from handfast.studies.table import Table
from handfast.tables import UNKNOWN

RECONNECTS = "r"
"""Behind a figure: the connection ends with the station's address, and the application opens another one."""
WIDTH = 100
"""Of lines of text."""


def whole(made: Common) -> str:
    """Shares of the limit, then stalls: a table each, a column a scheme."""
    shares = _table(made, made.rows, lambda cell: f"{cell.share.median:.1%}".rstrip("%"), bold=True)
    went = [row for row in made.rows if any(cell.stall or cell.stalled for cell in row.cells)]
    stalls = _table(made, went, stall, bold=False)
    return (
        "Share of the capacity limit, %:\n\n"
        + shares
        + "\nFrom the link's return to the first new data at the receiving application, s:\n\n"
        + stalls
        + _notes(made)
    )


def stall(cell: Cell) -> str:
    """The median, and in how many runs nothing new came; `never`: in no run did it."""
    if cell.stall is None:
        return "never" if cell.stalled else UNKNOWN
    return f"{cell.stall.median:.2f}" + (f" ({cell.stalled} never)" if cell.stalled else "")


def _table(made: Common, rows: Sequence[Row], show: Callable[[Cell], str], *, bold: bool) -> str:
    lines, group = [], ""
    for row in rows:
        title = row.group.title if row.group.key != group else ""
        group = row.group.key
        winners = {cell.scheme for cell in row.winners} if bold else set()
        cells = []
        for scheme in made.schemes:
            cell = row.of(scheme)
            text = UNKNOWN if cell is None else show(cell)
            mark = f" {RECONNECTS}" if cell is not None and row.group.reconnects(scheme) else ""
            cells.append((f"**{text}**" if scheme in winners else text) + mark)
        lines.append([title, row.name, *cells])
    return Table(["situation", "", *made.schemes], lines, left=(0, 1)).markdown()


HEADS = (
    "situation",
    "today: Linux with CUBIC",
    "stall today",
    "best remedy",
    "its share",
    "its stall",
    "gain, points",
    "who must change what",
)
"""The columns of the short table."""
NAMES = tuple(HEADS.index(head) for head in ("situation", "best remedy", "who must change what"))
"""Those of them that are no numbers."""


def short(made: Common) -> str:
    """For README: what Linux does today, the cheapest of the best remedies, and who must change what for it."""
    lines: list[list[str]] = []
    for group in dict.fromkeys(row.group.key for row in made.rows):
        shown = [row for row in made.rows if row.group.key == group and row.value in row.group.shown]
        if len(shown) == 1:
            lines.append([f"**{shown[0].group.title}**: {shown[0].name}", *judged(shown[0])])
        elif shown:
            lines.append([f"**{shown[0].group.title}**", *[""] * (len(HEADS) - 1)])
            lines += [[row.name, *judged(row)] for row in shown]
    return Table(HEADS, lines, left=NAMES).markdown()


def judged(row: Row) -> list[str]:
    """The cells of a row of the short table, after its name."""
    base, best = row.of(BASELINE), winner(row)
    return [
        UNKNOWN if base is None else _percent(base.share.median),
        UNKNOWN if base is None else _seconds(base),
        named(row),
        _percent(best.share.median),
        _seconds(best),
        gain(row),
        changes(best.scheme, reconnects=row.group.reconnects(best.scheme)),
    ]


def winner(row: Row) -> Cell:
    """Of the best, which are alike, the one that costs least to deploy."""
    cheapest = cheapest_first(cell.scheme for cell in row.winners)[0]
    return next(cell for cell in row.winners if cell.scheme == cheapest)


def gain(row: Row) -> str:
    """How far the named remedy is above what everybody has, in points of the limit."""
    base = row.of(BASELINE)
    return UNKNOWN if base is None else f"{100 * (winner(row).share.median - base.share.median):+.1f}"


def named(row: Row) -> str:
    """The cheapest of the best; `+2`: two more are no worse."""
    alike = len(row.winners) - 1
    return f"`{winner(row).scheme}`" + (f" +{alike}" if alike else "")


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _seconds(cell: Cell) -> str:
    text = stall(cell)
    return text if text == UNKNOWN or "never" in text else f"{text} s"


_ENDS = (
    f"Reconnects ({RECONNECTS}): the connection ends with the station's address, and the application opens another "
    "one when it notices, the same application with each scheme."
)


def _notes(made: Common) -> str:
    reasons: dict[str, dict[str, None]] = {}
    carry = dict.fromkeys(f"`{scheme}`" for row in made.rows for scheme in row.group.carry)
    for row in made.rows:
        for scheme, why in row.group.cannot.items():
            if scheme in made.schemes:
                reasons.setdefault(f"{row.group.title}: {why}", {})[f"`{scheme}`"] = None
    lines = [f"Not run ({UNKNOWN}): {', '.join(some)}; {why}." for why, some in reasons.items()]
    if carry:
        lines.insert(0, f"{_ENDS} Of all schemes {', '.join(carry)} carries connections over a new address.")
    return "".join("\n" + textwrap.fill(line, WIDTH) + "\n" for line in lines)
