"""The first sentence of a report says what the results say, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from handfast import bundle, headline
from handfast.measures import FlowMeasures, Measures
from handfast.results import Flow, Handover, Passage, Result
from handfast.tables import UNKNOWN
from test_tables import EMPTY


def run(scheme: str, mbps: float, seed: int = 1, stall: float | None = None, limit: float = 10.0) -> Result:
    """Ten seconds of one flow, two of them without a link where there is a stall."""
    aggregate = Measures(
        goodput_bps=mbps * 1e6,
        limit_bps=limit * 1e6,
        stall_s=stall,
        delivered_bytes=round(mbps * 1e6 * 10 / 8),
        retransmitted_segments=10,
    )
    gone = () if stall is None else (Handover("s", "radio", None, 3.0, 5.0, stall, 1.0, (Passage("f", stall, 1.0),)),)
    flow = Flow("f", "open", FlowMeasures(data_segments_sent=1010))
    return replace(EMPTY, scheme=scheme, seed=seed, aggregate=aggregate, flows=(flow,), handovers=gone)


def test_who_won_by_how_much_and_where_the_rest_went() -> None:
    said = headline.sentences([run("a", 6.0, stall=1.0), run("b", 8.0, stall=0.4), run("c", 7.5, stall=0.8)])
    first = said.split(". ")[0]
    assert first.startswith(
        "b won: 8.00 Mbit/s, 6.7 % more than c and 33.3 % more than a, the last; of the 2.00 Mbit/s"
    )
    # 10 Mbit/s over ten seconds, two of them without a link, are 12.5 while there is one: 0.4 s cost 0.5 Mbit/s.
    assert "about 0.50 went with the stall of 0.400 s" in first
    # Ten repeats beside a thousand first sendings.
    assert "at most 0.08 with 10 repeated segments" in first
    assert "the rest with" in first
    assert "shortest with b (0.400 s) and longest with a (1.000 s)" in said
    assert "one run of each" in said


def test_intervals_that_overlap_are_no_difference() -> None:
    seeds = [run("a", 7.0 + seed / 10, seed) for seed in range(6)] + [
        run("b", 7.1 + seed / 10, seed) for seed in range(6)
    ]
    said = headline.sentences(seeds)
    assert said.startswith("No difference: both delivered alike")
    assert "won" not in said
    slow = [run("c", 3.0 + seed / 10, seed) for seed in range(6)]
    assert headline.sentences([*seeds, *slow]).startswith("a and b won, with no difference between them")


def test_all_that_the_links_carry_is_said() -> None:
    assert "all that the links could carry" in headline.sentences([run("a", 10.0)])


def test_several_flows_have_no_price_of_a_stall() -> None:
    one = run("a", 6.0, stall=1.0)
    said = headline.sentences([replace(one, flows=(*one.flows, replace(one.flows[0], flow="g")))])
    assert "went with the stall" not in said
    assert "the rest with stalls, start-up" in said


def test_runs_that_do_not_count_are_not_compared() -> None:
    assert headline.sentences([replace(run("a", 9.0), valid=False)]) == ""
    assert headline.sentences([replace(run("a", 9.0), valid=False), run("b", 6.0)]).startswith("b delivered 6.00")


def test_of_persons_it_says_what_they_feel() -> None:
    def of(scheme: str, seed: int, *flows: FlowMeasures) -> Result:
        one = run(scheme, 6.0, seed)
        return replace(one, flows=tuple(Flow(f"f{number}", "open", felt) for number, felt in enumerate(flows)))

    def typing(echo: float) -> FlowMeasures:
        return FlowMeasures(delivered_bytes=9, echo_p50_s=0.04, echo_p95_s=echo)

    runs = [of("a", seed, typing(0.3)) for seed in range(6)] + [of("b", seed, typing(0.2)) for seed in range(6)]
    assert headline.sentences(runs) == "f0: echo, 95 % 200 ms with b, the least, and 300 ms with a."
    same = [of(scheme, seed, typing(0.3)) for scheme in "ab" for seed in range(6)]
    assert headline.sentences(same) == "f0: echo, 95 % does not differ (300 ms with a)."
    watching = FlowMeasures(delivered_bytes=9, video_stalls=1, video_stalled_s=1.5)
    assert headline.sentences([of("a", 1, typing(0.3), watching)]) == (
        "f0: echo, 95 % 300 ms with a. f1: stood still 1.50 s with a."
    )
    bulk = FlowMeasures(delivered_bytes=9, goodput_bps=6e6)
    said = headline.sentences([of("a", 1, typing(0.3), bulk), of("b", 1, typing(0.2), bulk)])
    assert said.startswith("No difference: both delivered alike")
    assert "f0: echo, 95 % 200 ms with b" in said


def test_a_scheme_without_a_figure_is_not_left_out() -> None:
    def of(scheme: str, stalled: float | None) -> Result:
        felt = FlowMeasures(delivered_bytes=9, video_stalls=0, video_stalled_s=stalled)
        return replace(run(scheme, 6.0), flows=(Flow("f0", "open", felt),))

    never = of("never", None)
    said = headline.sentences([of("a", 1.5), never])
    assert said == f"f0: stood still 1.50 s with a; {UNKNOWN} with never."
    said = headline.sentences([of("a", 1.5), of("b", 4.0), never, of("also", None)])
    assert said.endswith(f"the least, and 4.00 s with b; {UNKNOWN} with never, also.")
    assert headline.sentences([of("a", 1.5), of("b", 1.5), never]) == (
        f"f0: stood still does not differ (1.50 s with a; {UNKNOWN} with never)."
    )


def test_the_shipped_scenario(compared: Path) -> None:
    runs = bundle.read(compared).document.runs
    best = max(runs, key=lambda one: one.aggregate.goodput_bps or 0)
    said = headline.sentences(runs)
    assert said.startswith(f"{best.scheme} won: {(best.aggregate.goodput_bps or 0) / 1e6:.2f} Mbit/s")
