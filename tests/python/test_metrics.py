"""What follows from the tables of metrics and time series in crates/results: types, pages, the schema of results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import handfast as hf
from conftest import ROOT
from handfast import _handfast, curves, tables
from handfast.measures import FlowMeasures, Measures


def test_types_and_pages_are_those_of_the_table() -> None:
    check = [sys.executable, str(ROOT / "tools/make-metrics"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_columns_and_curves_are_of_what_there_is() -> None:
    assert {column.measure for column in tables.COLUMNS} <= set(Measures.__dataclass_fields__)
    assert [kind.key for kind in curves.FLOW_KINDS] == ["delivered", "cwnd", "ssthresh", "rtt", "rto"]


def test_results_are_as_their_schema_says(compared: Path) -> None:
    schema = json.loads(_handfast.result_schema())
    document = json.loads((compared / "result.json").read_text())
    jsonschema.validate(document, schema)
    flow = document["runs"][0]["flows"][0]
    optional = {metric["name"] for metric in json.loads(_handfast.metrics())["metrics"] if metric["optional"]}
    assert set(FlowMeasures.__dataclass_fields__) - optional <= set(flow)
    assert not optional & set(flow), "only runs in which they are measured have them"
    flow["timeouts"] = "many"
    with pytest.raises(jsonschema.ValidationError, match="many"):
        jsonschema.validate(document, schema)


TWO_FLOWS = """
duration = "2s"
[nodes]
a = {kind = "host"}
b = {kind = "host"}
[[links]]
between = ["a", "b"]
rate = "8Mbit/s"
delay = "10ms"
[[flows]]
from = "a"
to = "b"
app = {datagrams = {size = "160B", interval = "20ms"}}
[[flows]]
from = "a"
to = "b"
connections = 4
"""


def test_figures_that_only_some_flows_have_are_measures_and_in_the_schema() -> None:
    run = hf.parse(TWO_FLOWS, "two.toml").run("sack")
    call, bulk = (flow.measures for flow in run.flows)
    assert (call.sent_datagrams, call.lost_datagrams, call.connections) == (100, 0, None)
    assert call.delay_min_s == pytest.approx(0.010188, abs=0.002)
    assert call.jitter_s is not None
    assert (bulk.connections, bulk.jitter_s) == (4, None)
    schema = json.loads(_handfast.result_schema())
    of_flow = schema["properties"]["runs"]["items"]["properties"]["flows"]["items"]
    for flow in json.loads(run.raw)["flows"]:
        assert set(flow) <= set(of_flow["properties"])
        jsonschema.validate(flow, of_flow)
    assert "jitter_s" not in of_flow["required"]


MEASURED = TWO_FLOWS.replace("connections = 4", 'connections = 4\nmeasure = ["connect", "delay"]')


def test_a_flow_that_asks_for_it_has_delays_and_a_table_of_packets(tmp_path: Path) -> None:
    compared = hf.compare(hf.parse(MEASURED, "two.toml"), schemes=["sack"], out=tmp_path / "asks")
    call, bulk = (flow.measures for flow in compared[0].flows)
    assert (call.connect_s, call.measured_packets) == (None, None)
    # Three times 10 ms, and the serialisation of what four connections send first.
    assert bulk.connect_s == pytest.approx(0.030, abs=0.010)
    assert bulk.write_to_delivery_p50_s is None, "bulk writes as there is room"
    assert compared[0].aggregate.connect_s == bulk.connect_s
    frame = compared.series("packets")
    assert len(frame) == bulk.measured_packets
    delays = frame.filter(frame["arrived_s"].is_not_null())
    mean = (delays["arrived_s"] - delays["sent_s"]).mean()
    assert mean == pytest.approx(bulk.send_to_arrival_mean_s)
    assert set(frame["connection"]) == set(range(4))
    assert set(frame["flow"]) == {compared[0].flows[1].flow}
    without = hf.compare(hf.parse(TWO_FLOWS, "two.toml"), schemes=["sack"], out=tmp_path / "plain")
    assert without[0].flows[1].measures.connect_s is None
    assert not list((tmp_path / "plain/series").glob("*packets*"))
