"""What [iosl] leaves out: sessions beside what people use today, run for real; judged by the files of the bench.

Nothing is run here: `make bench-roaming` needs root, the source tree and most of an hour. Every margin is in
docs/explanation/deviations.md.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from handfast import figures
from handfast.curves import COLOURS
from handfast.errors import MissingRequirementError
from handfast.lab import controller
from handfast.studies import roaming
from handfast.studies.reproduce import Check, Control, Finding, Measured, NotRun, Runs, median
from handfast.studies.reproduce.plot import with_legend
from handfast.studies.reproduce.verdict import number
from handfast.studies.roaming import Download, Terminal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LATER_S = 0.02
"""By so much the median of a time to the first octet may be above another one."""
RTO_MIN_S = 0.2
"""The least timeout of Linux (`TCP_RTO_MIN`), to which it adds the smoothed round trip."""
NEAR = 0.95
"""What has this share of another figure is as good."""
MIN_CHANGES = 3
"""A download with fewer judges nothing."""

Downloads = roaming.Record[Download]
Groups = Mapping[str, Sequence[Check]]
"""Checks by what they are about."""

RIVALS = (roaming.TOLD, roaming.CAPPED, *roaming.QUINN, *roaming.MPTCP)
"""Those that sessions are judged against."""


def read() -> tuple[Sequence[Downloads], roaming.Record[Terminal] | None]:
    """The files that are there; `InputError` where one cannot be used."""
    places = [place for place in map(roaming.download, roaming.DELAYS_MS) if place.exists()]
    terminal = roaming.terminal()
    return [*map(roaming.read_download, places)], roaming.read_terminal(terminal) if terminal.exists() else None


def rivals(_: Runs) -> Finding:
    """Every way of sessions against each rival, over each wire; a terminal over the far one."""
    downloads, terminal = _whole()
    ours = _judged(downloads, terminal, roaming.SESSIONS, roaming.SSH_BY_SESSION)
    return Finding(
        (*_figures(downloads), *_keys(terminal)),
        tuple(check for checks in ours.values() for check in checks),
        Control(
            "plain TCP and plain ssh in the place of sessions",
            (_none_holds(_judged(downloads, terminal, [roaming.TCP], roaming.SSH)),),
        ),
        remark=". ".join(_remarks(downloads, terminal)),
    )


def _whole() -> tuple[Sequence[Downloads], roaming.Record[Terminal]]:
    """All files, with all ways that are compared."""
    downloads, terminal = read()
    wanted = [*map(roaming.download, roaming.DELAYS_MS), roaming.terminal()]
    absent = [str(place) for place in wanted if not place.exists()]
    if absent or terminal is None:
        raise NotRun(
            f"there is no {', no '.join(absent)}, in the folder that handfast runs in: {roaming.MAKE} writes "
            f"{roaming.FOLDER}/ there"
        )
    for one in downloads:
        _has(one, [roaming.TCP, *roaming.SESSIONS, *RIVALS])
        _varies(one)
    _has(terminal, [roaming.SSH, roaming.SSH_BY_SESSION, *roaming.MOSH])
    if not all(row.typed for row in terminal.rows):
        raise NotRun(f"{terminal.file}: no key was typed; {roaming.MAKE}")
    return downloads, terminal


def _has(measured: roaming.Record[Download] | roaming.Record[Terminal], names: Iterable[str]) -> None:
    lacking = [name for name in names if measured.row(name) is None]
    if lacking:
        why = "; ".join(f"{name}: {measured.left_out.get(name, 'not tried')}" for name in lacking)
        raise NotRun(f"{measured.file} lacks ways that sessions are judged against ({why}); {roaming.MAKE} has them")


def _varies(measured: Downloads) -> None:
    """Too few changes, or such as vary nothing, judge nothing ([DESIGN] rule 6)."""
    for name in (*roaming.SESSIONS, *RIVALS):
        row = _row(measured, name)
        if row.changes < MIN_CHANGES:
            raise NotRun(
                f"{measured.file}: {name} met {row.changes} changes of address; at least {MIN_CHANGES} are needed"
            )
        if len(row.back_s) > 1 and len(set(row.back_s)) == 1:
            raise NotRun(f"{measured.file}: {name} went on after the same time each time, so the changes vary nothing")


def _row(measured: Downloads, name: str) -> Download:
    found = measured.row(name)
    if found is None:
        raise NotRun(f"{measured.file} lacks {name}")
    return found


def _judged(
    downloads: Sequence[Downloads], terminal: roaming.Record[Terminal], names: Sequence[str], ssh: str
) -> Groups:
    """The checks on these ways, and on this terminal."""
    rows = [(one, _row(one, name)) for one in downloads for name in names]
    return {
        "octets": [_all_came(one, row) for one, row in rows],
        "no timeout": [_no_timeout(one, row) for one, row in rows],
        "first octet": [
            _no_later(one, row, _row(one, rival)) for one, row in rows for rival in (roaming.TOLD, roaming.CAPPED)
        ],
        "the second after": [
            _as_much(one, row, _row(one, rival)) for one, row in rows for rival in (roaming.TOLD, roaming.CAPPED)
        ],
        "the whole": [
            _as_fast(one, row, [_row(one, rival) for rival in best])
            for one, row in rows
            for best in (roaming.QUINN, roaming.MPTCP)
        ],
        "keys": [_all_keys(row) for row in terminal.rows if row.name == ssh],
    }


def _none_holds(groups: Groups) -> Check:
    """Each kind of check has to fail on its own, or one of them tells nothing."""
    holding = [kind for kind, checks in groups.items() if all(check.holds for check in checks)]
    failing = [next(check.says for check in checks if not check.holds) for kind, checks in _besides(groups, holding)]
    says = f"{', '.join(holding)} hold" if holding else "; ".join(failing)
    return Check(says, bool(holding))


def _besides(groups: Groups, holding: Sequence[str]) -> Iterable[tuple[str, Sequence[Check]]]:
    return ((kind, checks) for kind, checks in groups.items() if kind not in holding)


def _all_came(measured: Downloads, row: Download) -> Check:
    size = measured.settings["size_mb"]
    came = "every octet came" if row.complete else f"{row.octets / 1e6:.0f} of {size:g} MB came, or not the right ones"
    return Check(f"{_of(measured, row)}: {came}, through {row.changes} changes", row.complete)


def _no_timeout(measured: Downloads, row: Download) -> Check:
    """A sender that waits meets the new address somewhere in an interval that doubles: the least one is its best."""
    limit = RTO_MIN_S + 2e-3 * measured.delay_ms
    return _at_most(f"first octet, {_of(measured, row)}: no timeout", statistics.median(row.waits_s), limit)


def _no_later(measured: Downloads, row: Download, rival: Download) -> Check:
    theirs = statistics.median(rival.waits_s)
    return _at_most(
        f"first octet, {_of(measured, row)} and {rival.name}", statistics.median(row.waits_s), theirs + LATER_S
    )


def _as_much(measured: Downloads, row: Download, rival: Download) -> Check:
    ours, theirs = (statistics.median(one.soon_mb) if one.soon_mb else 0.0 for one in (row, rival))
    limit = NEAR * theirs
    says = f"the second after, {_of(measured, row)} and {rival.name}: {number(ours)} >= {number(limit)} MB"
    return Check(says, 0 < ours >= limit)


def _as_fast(measured: Downloads, row: Download, rivals_: Sequence[Download]) -> Check:
    """Beside the best of them; one that has failed takes for ever."""
    theirs, best = min((_time(rival), rival.name) for rival in rivals_)
    return _at_most(f"the whole, {_of(measured, row)} and {best}", _time(row), theirs / NEAR)


def _time(row: Download) -> float:
    return row.seconds if row.complete else math.inf


def _at_most(name: str, ours: float, limit: float) -> Check:
    """One that is never there is not in time, however late the other is."""
    return Check(f"{name}: {_seconds(ours)} <= {_seconds(limit)} s", ours <= limit and math.isfinite(ours))


def _seconds(value: float) -> str:
    return number(value) if math.isfinite(value) else "never"


def _all_keys(row: Terminal) -> Check:
    return Check(f"keys shown, {row.name}: {len(row.shown_s)} of {row.typed}", len(row.shown_s) == row.typed)


def _of(measured: Downloads, row: Download) -> str:
    return f"{row.name}, {measured.delay_ms:g} ms"


def _figures(downloads: Sequence[Downloads]) -> Iterable[Measured]:
    """Of all ways, ours first."""
    for measured in downloads:
        for row in sorted(measured.rows, key=lambda row: row.name not in roaming.SESSIONS):
            where = _of(measured, row)
            if row.back_s:
                yield median(f"first octet, {where}", "s", row.back_s)
            if row.soon_mb:
                yield median(f"the second after, {where}", "MB", row.soon_mb)
            if row.complete:
                yield Measured(f"the whole, {where}", "s", row.seconds)
            else:
                yield Measured(f"came, {where}", "MB", row.octets / 1e6)


def _keys(terminal: roaming.Record[Terminal]) -> Iterable[Measured]:
    for row in terminal.rows:
        yield Measured(f"keys shown, {row.name}", "%", 100 * len(row.shown_s) / row.typed)
        if row.shown_s:
            yield median(f"a key, {row.name}", "s", row.shown_s)
            yield Measured(f"95 % of keys, {row.name}", "s", row.late_s)
            yield Measured(f"the slowest key, {row.name}", "s", max(row.shown_s))


def _remarks(downloads: Sequence[Downloads], terminal: roaming.Record[Terminal]) -> Iterable[str]:
    """What a reader must know of them."""
    yield _echo(terminal)
    records: Sequence[roaming.Record[Download] | roaming.Record[Terminal]] = [*downloads, terminal]
    for one in records:
        before = ", before the handfastd that is here was built" if _older(one) else ""
        yield f"{one.file} was made at {one.made} on {one.kernel}{before}"
        if unlike := one.unlike():
            yield f"{one.file} has settings that are not the bench's own: {'; '.join(unlike)}"
    yield "a way ran once over each wire; medians are over its changes of address, or its keys"


def _older(record: roaming.Record[Download] | roaming.Record[Terminal]) -> bool:
    """Whether this machine's daemon is newer: what was measured may be another one."""
    with suppress(MissingRequirementError, OSError):
        return datetime.fromisoformat(record.made).timestamp() < controller.daemon().stat().st_mtime
    return False


def _echo(terminal: roaming.Record[Terminal]) -> str:
    """Who wins at the terminal is shown, and not judged."""
    ours, *echoes = (_late(terminal, name) for name in (roaming.SSH_BY_SESSION, *roaming.MOSH[:2]))
    wins = "mosh's local echo wins at the terminal" if max(echoes) < ours else "mosh's local echo does not win here"
    return f"{wins}: 95 % of its keys are there in {_seconds(max(echoes))} s, ssh's over a session in {_seconds(ours)}"


def _late(terminal: roaming.Record[Terminal], name: str) -> float:
    row = terminal.row(name)
    return row.late_s if row is not None and row.shown_s else math.inf


Of = Callable[[Download], Sequence[float]]
AXES: Mapping[str, Of] = {
    "first octet after a change, s": lambda row: row.back_s,
    "the second after, MB": lambda row: row.soon_mb,
}


def by_way(_: Runs) -> Figure:
    """A point for each change of address; a colour a wire."""
    downloads, _terminal = _whole()
    names = [*roaming.SESSIONS, *RIVALS]
    figure = figures.blank((figures.PAGE_IN[0], 1.6 * figures.PAGE_IN[1]))
    panels = figure.subplots(1, len(AXES), sharey=True)
    for axes, (what, of) in zip(panels, AXES.items(), strict=True):
        for colour, measured in zip(COLOURS, downloads, strict=False):
            values = [(value, place) for place, name in enumerate(names) for value in of(_row(measured, name))]
            label = f"{measured.delay_ms:g} ms each way"
            axes.plot([x for x, _ in values], [y for _, y in values], "o", ms=3, alpha=0.7, color=colour, label=label)
        axes.set_xlabel(what)
    panels[0].set_xscale("log")
    panels[0].set_yticks(range(len(names)), names, fontsize=6)
    panels[0].invert_yaxis()
    return with_legend(figure)
