"""The first sentence of a report: who delivered most, by how much, and where the rest went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from handfast import stats, tables
from handfast.results import Result, by_row
from handfast.stats import Summary
from handfast.tables import GOODPUT, STALL, UNKNOWN, Column, felt_by_all

MAX_NAMED = 3
"""More schemes are counted, not named."""
MANY_TIMES = 10
DECIDES = ("echo_p95_s", "page_load_p50_s", "video_stalled_s", "delay_p95_s")
"""Of what persons feel the figure that says who won: less is better."""


def sentences(runs: Sequence[Result]) -> str:
    """The headline; empty where no run that counts delivered anything."""
    valid = {row: [run for run in group if run.valid] for row, group in by_row(runs).items()}
    felt = _felt(valid, runs)
    if felt_by_all(runs) or (felt and all(tables.felt(runs, flow.flow) for run in runs for flow in run.flows)):
        return felt
    rates = {row: one for row, group in valid.items() if (one := _summary(group, "goodput_bps")) is not None}
    if not rates:
        return ""
    best = max(rates, key=lambda row: rates[row].median)
    alike = [row for row in rates if _overlap(rates[row], rates[best])]
    said = [_won(rates, best, alike) + _missing(valid[best]) + ".", felt]
    stalls = {row: one for row in rates if (one := _summary(valid[row], "stall_s")) is not None}
    said.append(_stalls(stalls))
    if len(rates) > 1 and len({run.seed for run in runs}) == 1:
        said.append("This is one run of each; several seeds (--seeds 1..10) tell a difference from chance.")
    return " ".join(filter(None, said))


def _felt(valid: Mapping[str, Sequence[Result]], runs: Sequence[Result]) -> str:
    """Which scheme persons felt least of, for each kind of what they do, by the figure that decides."""
    names = list(dict.fromkeys(flow.flow for run in runs for flow in run.flows))
    own = felt_by_all(runs)
    said = []
    for flows, shown in [(names, own)] if own else tables.groups(runs):
        column = next((column for column in shown if column.measure in DECIDES), shown[0])
        values = {row: [_mean_of(run, flows, column.measure) for run in group] for row, group in valid.items()}
        known = {row: one for row, each in values.items() if (one := stats.summarise(each)) is not None}
        if known:
            who = ", ".join(flows) if len(flows) <= MAX_NAMED else f"{len(flows)} flows"
            unknown = [row for row in values if row not in known]
            said.append(_felt_most(f"{who}: {column.header} ", column, known, unknown))
    return " ".join(said)


def _mean_of(run: Result, flows: Sequence[str], measure: str) -> float | None:
    """The mean of a figure over flows; None where one does not have it."""
    values = [getattr(flow.measures, measure) for flow in run.flows if flow.flow in flows]
    return None if None in values or not values else sum(values) / len(values)


def _felt_most(what: str, column: Column, known: Mapping[str, Summary], unknown: Sequence[str]) -> str:
    least, most = (choose(known, key=lambda row: known[row].median) for choose in (min, max))
    low, high = known[least], known[most]
    # A scheme under which nobody got far enough for a figure is not left out: it may be the worst.
    dash = f"; {UNKNOWN} with {', '.join(unknown)}" if unknown else ""
    if len(known) < 2:
        return f"{what}{_shown(column, low.median)} with {least}{dash}."
    if low.high >= high.low:
        return f"{what}does not differ ({_shown(column, low.median)} with {least}{dash})."
    shown = f"{_shown(column, low.median)} with {least}, the least, and {_shown(column, high.median)} with {most}"
    return f"{what}{shown}{dash}."


def _shown(column: Column, value: float) -> str:
    return f"{column.show(value)} {column.unit}".rstrip()


def _summary(runs: Sequence[Result], measure: str) -> Summary | None:
    return stats.summarise([getattr(run.aggregate, measure) for run in runs])


def _overlap(one: Summary, other: Summary) -> bool:
    """Whether the intervals of the medians share a value, at the precision that tables show."""
    low, high = max(one.low, other.low), min(one.high, other.high)
    return low <= high or GOODPUT.show(low) == GOODPUT.show(high)


def _won(rates: Mapping[str, Summary], best: str, alike: Sequence[str]) -> str:
    rate = f"{GOODPUT.show(rates[best].median)} {GOODPUT.unit}"
    rest = sorted((row for row in rates if row not in alike), key=lambda row: -rates[row].median)
    if len(rates) == 1:
        return f"{best} delivered {rate}"
    if not rest:
        return f"No difference: {_named(alike, len(rates))} delivered alike, {best} {rate}"
    if len(alike) > 1:
        won = f"{_named(alike, len(rates))} won, with no difference between them: {rate} by {best}"
    else:
        won = f"{best} won: {rate}"
    more = [_more(rates, best, row) for row in dict.fromkeys([rest[0], rest[-1]])]
    more[-1] += ", the last" if len(rest) > 1 else ""
    return f"{won}, {' and '.join(more)}"


def _more(rates: Mapping[str, Summary], best: str, row: str) -> str:
    ahead, behind = rates[best].median, rates[row].median
    if ahead > MANY_TIMES * behind:
        return f"more than {MANY_TIMES} times what {row} delivered"
    return f"{ahead / behind - 1:.1%} more than {row}".replace("%", " %")


def _named(rows: Sequence[str], of: int) -> str:
    if len(rows) == of:
        return "both" if of == 2 else f"all {of} schemes"
    if len(rows) > MAX_NAMED:
        return f"{len(rows)} of {of} schemes"
    return " and ".join([", ".join(rows[:-1]), rows[-1]])


def _missing(runs: Sequence[Result]) -> str:
    """What the winner stayed below the links' limit, and what is known to have cost it."""
    pairs = [(run.aggregate.limit_bps, run.aggregate.goodput_bps) for run in runs]
    known = [(limit, limit - rate) for limit, rate in pairs if limit and rate is not None]
    if not known:
        return ""
    limit, gap = median(limit for limit, _ in known), median(gap for _, gap in known)
    if GOODPUT.show(max(gap, 0.0)) == GOODPUT.show(0.0):
        return f", all that the links could carry ({GOODPUT.show(limit)} {GOODPUT.unit})"
    short = f"of the {GOODPUT.show(gap)} {GOODPUT.unit} that it stayed below the links' limit ({GOODPUT.show(limit)})"
    costs = [cost for cost in (_stalled(runs), _repeated(runs)) if cost is not None]
    parts = [text for _, text in costs]
    if sum(cost for cost, _ in costs) < gap - 0.5 * 10**-GOODPUT.digits / GOODPUT.scale:
        parts.append(
            f"{'the rest' if parts else 'all'} with {_stalls_of_several(runs)}start-up, losses and windows too "
            "small for the path"
        )
    return f"; {short}, {', '.join(parts)}"


def _stalls_of_several(runs: Sequence[Result]) -> str:
    """Several flows share what a stalled one leaves, so their stalls are named without a price."""
    several = any(len(run.flows) > 1 and any(one.flows for one in run.handovers) for run in runs)
    return "stalls, " if several else ""


def _stalled(runs: Sequence[Result]) -> tuple[float, str] | None:
    """What the links could have carried while the one flow stood still though its link was back, bits per second."""
    pairs = [(stall, _rate_between(run)) for run in runs if (stall := _stall_of(run)) is not None]
    costs = [rate * stall / span for stall, (rate, span) in pairs if span]
    if not costs:
        return None
    seconds = STALL.show(median(stall for stall, _ in pairs))
    return median(costs), f"about {GOODPUT.show(median(costs))} went with the stall of {seconds} s"


def _stall_of(run: Result) -> float | None:
    """All stalls of the run's one flow together. Several flows share what one leaves, so theirs have no price."""
    stalls = [passage.stall_s for one in run.handovers for passage in one.flows]
    if len(run.flows) != 1 or not stalls or None in stalls:
        return None
    return sum(stall for stall in stalls if stall is not None)


def _rate_between(run: Result) -> tuple[float, float]:
    """The limit while the links were there, and the seconds between the first and the last delivery."""
    limit, rate, delivered = run.aggregate.limit_bps, run.aggregate.goodput_bps, run.aggregate.delivered_bytes
    if not limit or not rate or not delivered:
        return 0.0, 0.0
    span = 8 * delivered / rate
    gone = sum((run.duration_s if one.up_s is None else one.up_s) - one.down_s for one in run.handovers)
    return limit * span / max(span - gone, 0.1 * span), span


def _repeated(runs: Sequence[Result]) -> tuple[float, str] | None:
    """What repeated segments took at most, bits per second: a repeat of what was lost on the way may cost nothing."""
    pairs = [
        (cost, run.aggregate.retransmitted_segments or 0) for run in runs if (cost := _repeats_cost(run)) is not None
    ]
    if not pairs:
        return None
    cost, count = (median(values) for values in zip(*pairs, strict=True))
    plural = "" if count == 1 else "s"
    return cost, f"at most {GOODPUT.show(cost)} with {count:.0f} repeated segment{plural}"


def _repeats_cost(run: Result) -> float | None:
    sent = [flow.measures.data_segments_sent for flow in run.flows]
    repeats, rate = run.aggregate.retransmitted_segments, run.aggregate.goodput_bps
    if not repeats or not rate or None in sent:
        return None
    first_sent = sum(count for count in sent if count is not None) - repeats
    return repeats / first_sent * rate if first_sent > 0 else None


def _stalls(stalls: Mapping[str, Summary]) -> str:
    if len(stalls) < 2:
        return ""
    short, long = (choose(stalls, key=lambda row: stalls[row].median) for choose in (min, max))
    low, high = stalls[short], stalls[long]
    if low.high >= high.low:
        return "The stalls after the link's return do not differ."
    return (
        f"The stall after the link's return was shortest with {short} ({STALL.show(low.median)} s) "
        f"and longest with {long} ({STALL.show(high.median)} s)."
    )
