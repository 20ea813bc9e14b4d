"""What the tables show of several flows, and of figures that are missing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Command
from handfast import bundle, outages, readings, tables
from handfast.cli.table import MAX_FLOWS
from handfast.measures import FlowMeasures, Measures
from handfast.results import Flow, Handover, Passage, Result

EMPTY = Result.from_json(
    json.dumps(
        {
            "scenario": "s",
            "scenario_hash": "h",
            "scheme": "linux",
            "backend": "sim",
            "seed": 1,
            "valid": True,
            "duration_s": 20.0,
            "aggregate": {},
            "flows": [],
            "handovers": [],
        }
    )
)


NONE = Measures()


def run(*passages: Passage, aggregate: Measures = NONE, first_byte_s: float | None = 1.0) -> Result:
    """A run with one outage, from 6 s to 8 s, and a flow for each of these."""
    measures = FlowMeasures(goodput_bps=1e6, delivered_bytes=9, first_byte_s=first_byte_s)
    flows = tuple(Flow(one.flow, "open", measures, "a", "b") for one in passages)
    outage = Handover("phone", "radio", None, 6.0, 8.0, None, None, passages)
    return replace(EMPTY, aggregate=aggregate, flows=flows, handovers=(outage,))


def cell(result: Result, column: tables.Column) -> str:
    return tables.cells([result], [column])[0]


def test_one_flow_that_never_recovers_leaves_the_others_their_figures() -> None:
    result = run(Passage("up", 1.0, 2.0), Passage("down", 3.0, None))
    assert result.aggregate.time_to_full_rate_s is None
    assert cell(result, tables.STALL) == "2.000"
    assert cell(result, tables.FULL_RATE) == "2.00\n(1 of 2 never)"
    assert tables.flow_cells([result], "up", [tables.FULL_RATE]) == ["2.00"]
    assert tables.flow_cells([result], "down", [tables.FULL_RATE]) == ["never"]


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (run(Passage("f", None, None)), "never"),
        (run(Passage("f", 0.5, None)), "never"),
        (run(Passage("f", 0.5, None), first_byte_s=9.0), "–"),
        (replace(run(), flows=(Flow("f", "open", FlowMeasures()),)), "–"),
    ],
    ids=["nothing came", "too slow", "it began behind the outage", "it was not there"],
)
def test_a_missing_figure_says_why(result: Result, shown: str) -> None:
    assert tables.flow_cells([result], "f", [tables.FULL_RATE]) == [shown]


def test_what_a_backend_cannot_know_is_not_called_nothing() -> None:
    windowless = run(Passage("f", 0.1, 0.2), aggregate=Measures(goodput_bps=1e6, delivered_bytes=9))
    assert cell(windowless, tables.COLUMNS[5]) == readings.UNKNOWN


def test_the_note_explains_only_what_is_shown() -> None:
    known = Measures(goodput_bps=1e6, retransmitted_segments=1, timeouts=1, cwnd_mean_pkt=2.0, cwnd_min_pkt=2.0)
    plain = run(Passage("f", 0.1, 0.2), aggregate=known)
    assert tables.footnote([plain]) == ""
    assert "never: not reached" in tables.footnote([run(Passage("f", None, None))])


def test_columns_that_tell_nothing_go() -> None:
    headers = [column.header for column in tables.columns([replace(EMPTY, aggregate=Measures(cwnd_min_pkt=1.0))])]
    assert headers == ["goodput", "retransmitted", "timeouts", "mean cwnd"]
    two = [replace(EMPTY, aggregate=Measures(cwnd_min_pkt=value)) for value in (1.0, 2.0)]
    assert tables.LEAST_WINDOW in tables.columns(two)


def test_each_flow_has_its_rows_in_the_terminal(several: Path, handfast: Command) -> None:
    scenario = several / "scenario.toml"
    lines = handfast("compare", scenario, "--seeds", "1..2").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.strip() for line in lines if line.strip() in {"all 4 flows", "download", "upload", "call", "page"}]
    assert heads == ["all 4 flows", "download", "upload", "call", "page"]
    assert sum(line.split()[:1] == ["sack"] for line in lines) == 5
    assert not any("…" in line for line in lines)


def test_one_run_shows_its_flows_whole(several: Path, handfast: Command) -> None:
    shown = handfast("run", several / "scenario.toml").stdout
    assert all(name in shown for name in ("download", "upload", "call", "page", "radio silent"))
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_flows_without_end_are_not_listed(handfast: Command) -> None:
    shown = handfast("compare", "short-flows", "--schemes", "iw10,iw3").stdout
    assert f"page-{MAX_FLOWS - 1}" in shown
    assert f"page-{MAX_FLOWS} " not in shown
    assert "13 more flows" in shown


def test_the_figures_of_a_flow_are_the_results(several: Path) -> None:
    runs = [one for one in bundle.read(several).document.runs if one.scheme == "sack"]
    shown = tables.flow_cells(runs, "upload", [tables.GOODPUT])[0].split("\n")[0]
    rates = sorted(flow.measures.goodput_bps or 0 for one in runs for flow in one.flows if flow.flow == "upload")
    assert shown == f"{rates[1] / 1e6:.2f}"


def test_outages_have_names() -> None:
    outage = Handover("phone", "radio", None, 6.0, 8.0, None, None)
    assert outages.name(outage) == "radio silent"
    assert outages.name(replace(outage, to="ap2")) == "roam to ap2"
    assert outages.name(replace(outage, station="backbone", link="backbone")) == "backbone down"
    held = [{"do": "outage", "link": "radio", "mode": "hold"}]
    assert outages.name(outage, held) == "radio silent, packets wait"


def persons(*measures: FlowMeasures) -> Result:
    """A run with a flow for each of these."""
    return replace(EMPTY, flows=tuple(Flow(f"f{number}", "open", one) for number, one in enumerate(measures)))


ECHOES = ["echo_p50_s", "echo_p95_s", "echo_p99_s", "echo_max_s"]
TERMINAL = FlowMeasures(
    goodput_bps=1e3, delivered_bytes=9, echo_p50_s=0.04, echo_p95_s=0.3, echo_p99_s=1.0, echo_max_s=2.0
)
VIDEO = FlowMeasures(goodput_bps=1e6, delivered_bytes=9, video_stalls=0, video_stalled_s=0.0, video_switches=3)
BULK = FlowMeasures(goodput_bps=1e6, delivered_bytes=9)


def test_where_all_flows_are_of_persons_who_do_the_same_the_table_shows_what_they_feel() -> None:
    result = persons(TERMINAL, TERMINAL)
    assert [column.measure for column in tables.columns([result])] == ECHOES
    assert tables.groups([result]) == []
    assert tables.flow_cells([result], "f0", tables.columns([result])) == ["40", "300", "1000", "2000"]
    assert tables.rows([result])[-1][0] != tables.LIMIT


def test_where_flows_differ_each_kind_of_person_has_a_table() -> None:
    result = persons(TERMINAL, BULK, VIDEO, TERMINAL)
    assert tables.GOODPUT in tables.columns([result])
    (terminals, echoes), (videos, stalls) = tables.groups([result])
    assert (terminals, videos) == (["f0", "f3"], ["f2"])
    assert [column.measure for column in stalls] == ["video_stalls", "video_stalled_s", "video_switches"]
    assert tables.group_rows([result], terminals, echoes)[1] == ["linux", "f3", "40", "300", "1000", "2000"]
    assert tables.group_rows([result], videos, stalls) == [["linux", "0", "0.00", "3"]]


def test_flows_of_nobody_have_the_columns_they_had() -> None:
    assert tables.groups([persons(BULK)]) == []
    assert [column.felt for column in tables.columns([persons(BULK)])] == [False] * 5


def test_what_persons_feel_fits_the_terminal(handfast: Command) -> None:
    short = ("--set", "duration=30s", "--set", "events.1.at=25s", "--seeds", "1..2")
    shown = handfast("compare", "feels", "--schemes", "bare,bbr", *short).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert all(name in shown for name in ("terminal", "pages", "video", "call", "stood", "echo"))
    terminal = ("--set", "flows.0.app={terminal={}}")
    alone = handfast("compare", "wifi-roam", "--schemes", "bare,spurious", *terminal).stdout
    assert max(map(len, alone.splitlines())) <= 80
    assert "goodput" not in alone
    assert "longest" in alone
