"""`list`, `schema`, `doctor`, `--help`, and the Python API."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest

import handfast as hf
from conftest import OUTAGE, SCHEMES, Command, edited
from handfast import _handfast, machine
from handfast.measures import MEASURES


def test_list(handfast: Command) -> None:
    found = json.loads(handfast("list", "--json").stdout)
    (outage,) = [one for one in found["scenarios"] if one["name"] == "wifi-outage"]
    assert outage["schemes"] == SCHEMES
    assert outage["description"]
    assert {*SCHEMES, "linux"} <= {profile["name"] for profile in found["profiles"]}
    assert [agent["name"] for agent in found["agents"]] == [
        "sdn",
        "sdtp",
        "snoop",
        "eln",
        "vho",
        "iosl",
        "quick-start",
        "ack-filter",
        "spray",
        "duplicate",
        "fec",
        "link-arq",
        "proxy",
    ]
    assert all(agent["description"] for agent in found["agents"])
    disciplines = ["drop-tail", "codel", "fq-codel", "red", "dualpi2"]
    assert [discipline["name"] for discipline in found["disciplines"]] == disciplines
    shown = handfast("list").stdout
    assert all(name in shown for name in ("wifi-outage", "newreno", "agents", "snoop"))


def test_schema_is_a_json_schema(handfast: Command) -> None:
    schema = json.loads(handfast("schema").stdout)
    assert "json-schema.org" in schema["$schema"]
    assert {"nodes", "links", "flows", "schemes"} <= set(schema["properties"])


def test_doctor_says_what_is_missing_and_how_to_get_it(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert handfast("doctor").exit_code == 0
    monkeypatch.setenv("PATH", "")
    checks = json.loads(handfast("doctor", "--json").stdout)["checks"]
    missing = {check["name"]: check for check in checks if not check["ok"]}
    assert {"ns", "tshark", "valgrind"} <= set(missing)
    assert not sys.platform.startswith("linux") or "lab: bbr" in {check["name"] for check in checks}
    assert "install tshark" in missing["tshark"]["advice"]


def test_doctor_fails_where_something_required_is_missing(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = machine.Check("polars", False, True, "missing", "pip install polars")
    monkeypatch.setattr(machine, "checks", lambda: [gone])
    result = handfast("doctor")
    assert result.exit_code == 2
    assert "pip install polars" in result.stdout


@pytest.mark.parametrize("command", ["run", "compare", "sweep", "report", "list", "schema", "doctor", "fidelity"])
def test_help_teaches_by_example(handfast: Command, command: str) -> None:
    shown = [line.strip() for line in handfast(command, "--help").stdout.splitlines()]
    assert any(line.startswith(f"handfast {command}") for line in shown), "the line of the usage is none"


def test_version(handfast: Command) -> None:
    assert handfast("--version").stdout == f"handfast {hf.__version__}\n"


def test_the_api_speaks_the_words_of_the_command_line(handfast: Command, tmp_path: Path) -> None:
    scenario = hf.load(OUTAGE)
    assert (scenario.name, scenario.schemes, scenario.duration_s) == ("wifi-outage", SCHEMES, 30.0)
    runs = scenario.compare(["reno", "sack"], seeds=[1, 2])
    assert [(run.scheme, run.seed) for run in runs] == [("reno", 1), ("reno", 2), ("sack", 1), ("sack", 2)]
    assert scenario.run("reno", seed=2) == runs[1]
    printed = handfast("compare", OUTAGE, "--schemes", "reno,sack", "--seeds", "1..2", "--json").stdout
    assert hf.document(runs).rstrip() == printed.rstrip()
    swept = scenario.sweep({"events.0.gap": ["1s", "2s"]}, out=tmp_path / "sweep", schemes=["sack"])
    assert swept.to_frame()["events.0.gap"].to_list() == ["1s", "2s"]


def test_the_api_refuses_no_jobs_as_the_command_line_does() -> None:
    with pytest.raises(hf.InputError, match="at least 1 run at a time"):
        hf.load(OUTAGE).compare(["reno"], jobs=0)


def test_a_document_is_read_as_it_was_written(tmp_path: Path) -> None:
    runs = hf.load(OUTAGE).compare(["reno"])
    (tmp_path / "result.json").write_text(hf.document(runs))
    read = hf.read_document(tmp_path / "result.json")
    assert read.version == hf.__version__
    assert [dataclasses.replace(run, raw="") for run in read.runs] == [dataclasses.replace(run, raw="") for run in runs]


def test_every_measure_of_the_core_has_a_field() -> None:
    run = json.loads(hf.load(OUTAGE).run("reno").raw)
    # The document has those only where somebody measures them.
    optional = {metric["name"] for metric in json.loads(_handfast.metrics())["metrics"] if metric["optional"]}
    # With fewer than two flows there is no fairness to speak of; it stays in the document.
    assert set(MEASURES) - optional == set(run["aggregate"]) - {"fairness"}
    names = {"flow", "from", "to", "outcome"}
    of_flow = {entry.name for entry in dataclasses.fields(hf.FlowMeasures)}
    assert of_flow - optional == set(run["flows"][0]) - names
    assert optional & of_flow, "the types have what only some runs measure"


def test_a_scenario_error_points_at_the_line() -> None:
    text = OUTAGE.read_text()
    with pytest.raises(hf.ScenarioError) as caught:
        hf.parse(edited(text, "delay", "dealy"), "broken")
    line = caught.value.line
    assert line is not None
    assert "delay" in text.splitlines()[line - 1]


def test_the_api_says_what_the_commands_say(handfast: Command) -> None:
    listed = dataclasses.asdict(hf.list())
    assert json.loads(json.dumps(listed, default=str)) == json.loads(handfast("list", "--json").stdout)
    assert hf.schema() == json.loads(handfast("schema").stdout)
    names = [check["name"] for check in json.loads(handfast("doctor", "--json").stdout)["checks"]]
    assert [check.name for check in hf.doctor()] == names


def test_a_report_is_drawn_from_results_by_either(handfast: Command, tmp_path: Path) -> None:
    out = tmp_path / "d"
    assert handfast("run", OUTAGE, "--set", "duration=11s", "--out", out).exit_code == 0
    drawn = (out / "report.html").read_text()
    (out / "report.html").unlink()
    said = json.loads(handfast("report", out, "--json").stdout)
    assert said == {"report": str(out / "report.html")}
    assert (out / "report.html").read_text() == drawn
    assert hf.report(out, tmp_path / "other.html").read_text() == drawn
    said = json.loads(handfast("report", out, "--figures", tmp_path / "figures", "--json").stdout)
    assert said["figures"] == str(tmp_path / "figures")
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".png", ".svg"}
    with pytest.raises(hf.InputError):
        hf.report(tmp_path)
