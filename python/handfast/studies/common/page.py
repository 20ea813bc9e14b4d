"""The common table in Markdown: all of it, and short for README."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from handfast.studies.common.remedies import changes, cheapest_first
from handfast.studies.common.study import BASELINE, RIVAL, Cell, Common, Row
from handfast.studies.table import Table
from handfast.tables import UNKNOWN

RECONNECTS = "r"
"""Behind a figure: the connection ends with the station's address, and the application opens another one."""
WIDTH = 100
"""Of lines of text."""


def whole(made: Common) -> str:
    """Shares of the limit, then stalls, then what else is measured: a table each, a column a scheme."""
    parts = []
    if made.limited:
        parts.append("Share of the capacity limit, %:\n\n" + _table(made, made.limited, _value, bold=True))
    went = [row for row in made.limited if any(cell.stall or cell.stalled for cell in row.cells)]
    if went:
        stalls = _table(made, went, lambda _, cell: stall(cell), bold=False)
        parts.append("From the link's return to the first new data at the receiving application, s:\n\n" + stalls)
    for key in dict.fromkeys(row.group.key for row in made.others):
        rows = [row for row in made.others if row.group.key == key]
        parts.append(f"{rows[0].group.heading}:\n\n" + _table(made, rows, _value, bold=True))
    return "\n".join(parts) + _notes(made)


def _value(row: Row, cell: Cell) -> str:
    return row.measure.text(cell.value.median)


def stall(cell: Cell) -> str:
    """The median, and in how many runs nothing new came; `never`: in no run did it."""
    if cell.stall is None:
        return "never" if cell.stalled else UNKNOWN
    return f"{cell.stall.median:.2f}" + (f" ({cell.stalled} never)" if cell.stalled else "")


def _table(made: Common, rows: Sequence[Row], show: Callable[[Row, Cell], str], *, bold: bool) -> str:
    lines, titled = [], ""
    for row in rows:
        title = row.group.title if row.measure.limit else row.measure.title
        winners = {cell.scheme for cell in row.winners} if bold else set()
        cells = []
        for scheme in made.schemes:
            cell = row.of(scheme)
            text = UNKNOWN if cell is None else show(row, cell)
            mark = f" {RECONNECTS}" if cell is not None and row.group.reconnects(scheme) else ""
            cells.append((f"**{text}**" if scheme in winners else text) + mark)
        lines.append([title if title != titled else "", row.name, *cells])
        titled = title
    head = "situation" if rows[0].measure.limit else "measure"
    return Table([head, "", *made.schemes], lines, left=(0, 1)).markdown()


HEADS = (
    "situation",
    "today: Linux with CUBIC",
    "stall today",
    "best remedy",
    "its share",
    "its stall",
    "over CUBIC, points",
    "over BBR, points",
    "who must change what",
)
"""The columns of the short table."""
NAMES = tuple(HEADS.index(head) for head in ("situation", "best remedy", "who must change what"))
"""Those of them that are no numbers."""


def short(made: Common) -> str:
    """For README: what Linux does today, the cheapest of the best remedies, and who must change what for it."""
    lines: list[list[str]] = []
    for group in dict.fromkeys(row.group.key for row in made.limited):
        shown = [row for row in made.limited if row.group.key == group and row.value in row.group.shown]
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
        UNKNOWN if base is None else _percent(base.value.median),
        UNKNOWN if base is None else _seconds(base),
        named(row),
        _percent(best.value.median),
        _seconds(best),
        gain(row),
        gain(row, RIVAL),
        changes(best.scheme, reconnects=row.group.reconnects(best.scheme)),
    ]


def winner(row: Row) -> Cell:
    """Of the best, which are alike, the one that costs least to deploy."""
    cheapest = cheapest_first(cell.scheme for cell in row.winners)[0]
    return next(cell for cell in row.winners if cell.scheme == cheapest)


def gain(row: Row, over: str = BASELINE) -> str:
    """By how much the named remedy is better than a scheme, as the table has the measure: in points of the limit."""
    base, measure = row.of(over), row.measure
    if base is None:
        return UNKNOWN
    better = measure.scale * measure.sign * (winner(row).value.median - base.value.median)
    return f"{better:+.{measure.digits}f}"


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
    reasons: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    carry = dict.fromkeys(f"`{scheme}`" for row in made.rows for scheme in row.group.carry)
    for row in made.rows:
        for scheme, why in row.group.cannot.items():
            if scheme in made.schemes:
                some, titles = reasons.setdefault(why, ({}, {}))
                some[f"`{scheme}`"] = titles[row.group.title] = None
    lines = [
        f"Not run ({UNKNOWN}): {', '.join(some)}; {'; '.join(titles)}: {why}."
        for why, (some, titles) in reasons.items()
    ]
    if carry:
        lines.insert(0, f"{_ENDS} Of all schemes {', '.join(carry)} carries connections over a new address.")
    return "".join("\n" + textwrap.fill(line, WIDTH) + "\n" for line in lines)
