"""`handfast peers`: the same figure here and in ns-2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command, edited
from handfast import api, shipped
from handfast.stats import Summary
from handfast.studies.peers import eln, ns2, quick_start
from handfast.studies.peers.eln import Row

NS2 = ns2.version()
real = pytest.mark.skipif(NS2 is None, reason="ns-2 is not installed (Debian: apt-get install ns2)")

FAKE = """#!/bin/sh
if [ $# = 0 ]; then cat > /dev/null; echo 2.99; exit; fi
echo "{answer}"
exit {code}
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a program called `ns`, before all others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    ns2.version.cache_clear()
    return folder


def fake(path: Path, answer: str, code: int = 0) -> None:
    program = path / "ns"
    program.write_text(FAKE.format(answer=answer.replace('"', '\\"'), code=code))
    program.chmod(0o755)


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eln, "QUICK_S", 2.0)
    ns2.version.cache_clear()


def test_without_ns2_it_says_how_to_get_it(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    result = handfast("peers", "eln", "--quick")
    assert result.exit_code == 2
    assert "apt-get install ns2" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--schemes", "sack,eln"], "'eln'"),
        (["--seeds", "0..3"], "from 1 to"),
        (["--seeds", "1,99999"], "from 1 to"),
        (["--jobs", "0"], "jobs"),
    ],
)
def test_wrong_input(handfast: Command, path: Path, arguments: list[str], says: str) -> None:
    fake(path, "{}")
    result = handfast("peers", "eln", "--quick", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_table_a_document_and_a_figure(handfast: Command, path: Path) -> None:
    fake(path, '{"delivered_bytes": 100000, "retransmitted_segments": 3, "timeouts": 1}')
    shown = handfast("peers", "eln", "--quick", "--schemes", "reno,snoop", "--seeds", "1,2")
    assert shown.exit_code == 0, shown.stderr
    assert "[eln] figure 2" in shown.stdout
    assert "ns-2.99" in shown.stdout
    assert "0.400–0.400" in shown.stdout, "100,000 bytes in 2 s"
    assert "!" in shown.stdout
    assert "48 runs, 0 of them" in shown.stderr
    out = Path("out/peers/eln")
    assert (out / "figure.svg").stat().st_size > 1000
    assert "| 1e-3 |" in (out / "tables.md").read_text()
    again = handfast("peers", "eln", "--quick", "--schemes", "reno,snoop", "--seeds", "1,2", "--json")
    made = json.loads(again.stdout)
    assert json.loads((out / "peers.json").read_text()) == made
    assert (made["ns2"], made["seeds"], len(made["rows"])) == ("2.99", [1, 2], 12)
    first = made["rows"][0]
    assert (first["cap_pkt"], first["loss"], first["scheme"]) == (20, 1e-3, "reno")
    assert first["ns2"] == {
        "goodput_bps": {"median": 400000.0, "low": 400000.0, "high": 400000.0, "runs": 2},
        "retransmitted_segments_mean": 3,
        "timeouts_mean": 1,
    }
    assert first["beyond"] is True
    assert 1.5e6 < first["ours"]["goodput_bps"]["low"] <= first["ours"]["goodput_bps"]["high"] < made["limit_bps"]


def test_another_ns2_is_another_run(handfast: Command, path: Path) -> None:
    fake(path, '{"delivered_bytes": 100000}')
    some = ["peers", "eln", "--quick", "--schemes", "reno", "--seeds", "1"]
    assert "12 runs, 0 of them" in handfast(*some).stderr
    assert "12 runs, 12 of them" in handfast(*some).stderr
    program = path / "ns"
    program.write_text(edited(program.read_text(), "2.99", "3.00"))
    ns2.version.cache_clear()
    assert "12 runs, 6 of them" in handfast(*some).stderr, "ours are the same"


def test_a_run_that_fails_shows_what_ns2_said(handfast: Command, path: Path) -> None:
    fake(path, "invalid command name", code=1)
    result = handfast("peers", "eln", "--quick", "--schemes", "reno", "--seeds", "1")
    assert result.exit_code == 1
    assert "invalid command name" in result.stderr
    assert "-scheme reno" in result.stderr


def test_a_program_of_that_name_need_not_be_ns2(path: Path) -> None:
    program = path / "ns"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert ns2.version() is None


@pytest.mark.parametrize(
    ("theirs", "beyond"), [((1.0, 2.0), False), ((2.0, 3.0), False), ((2.1, 3.0), True), ((0.1, 0.9), True)]
)
def test_beyond_means_that_the_intervals_do_not_touch(theirs: tuple[float, float], beyond: bool) -> None:
    row = Row(20, "1e-3", "sack", Summary(1.5, 1.0, 2.0, 9, 0), Summary(1.0, *theirs, 9, 0), (0, 0), (0, 0))
    assert row.beyond is beyond
    assert row.difference == 0.5


@real
@pytest.mark.parametrize(
    ("scheme", "cap", "losses", "apart"),
    [
        ("tahoe", 20, "", 2),
        ("tahoe", 20, "1000", 2),
        ("tahoe", 20, "1000,1002", 2),
        ("reno", 20, "1000", 2),
        ("newreno", 20, "1000", 2),
        ("newreno", 20, "1000,1002,1007", 2),
        ("sack", 20, "1000", 2),
        ("sack", 20, "1000,1002", 2),
        ("snoop", 20, "1000", 2),
        ("snoop", 20, "1000,1002", 8),
    ],
)
def test_the_same_losses_come_to_the_same_in_both(scheme: str, cap: int, losses: str, apart: int) -> None:
    settings = [
        ("duration", "15s"),
        ("tcp.receive_buffer", f"{cap * 1024}B"),
        ("links.radio.forward.loss", f"{{list = [{losses}]}}" if losses else "0"),
    ]
    ours = api.load(shipped.file(eln.SCENARIO), settings).run(scheme).aggregate.delivered_bytes
    options = {"window": str(cap), "loss": "0", "list": losses}
    theirs = ns2.Task(shipped.file(eln.SCRIPT), options, scheme, 1, 15.0).run().aggregate.delivered_bytes
    assert ours is not None
    assert theirs is not None
    assert abs(ours - theirs) <= apart * 1024, f"segments: {ours / 1024} here, {theirs / 1024} there"


@real
def test_snoops_lan_is_the_link() -> None:
    """ns-2's Snoop needs a LAN; it must take as long as the link that the other schemes have."""

    def delivered(lan: str) -> int:
        options = {"window": "20", "loss": "1e-2", "lan": lan}
        task = ns2.Task(shipped.file(eln.SCRIPT), options, "sack", 1, 60.0)
        return task.run().aggregate.delivered_bytes or 0

    assert delivered("1") == pytest.approx(delivered("0"), rel=1e-3)


@real
def test_the_script_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ns2.Failed, match="unknown option -los"):
        ns2.Task(shipped.file(eln.SCRIPT), {"los": "0"}, "sack", 1, 1.0).run()


def test_quick_start_is_a_table_and_a_document(handfast: Command, path: Path) -> None:
    fake(path, '{"delivered_segments": [1, 2, 3, 4, 5, 6]}')
    assert "approved" in handfast("peers", "quick-start").stdout
    made = json.loads(handfast("peers", "quick-start", "--json").stdout)
    out = Path("out/peers/quick-start")
    assert json.loads((out / "peers.json").read_text()) == made
    assert made["times_s"] == list(quick_start.TIMES_S)
    rows = {row["case"]: row for row in made["delivered_segments"]}
    assert list(rows) == list(quick_start.CASES)
    assert all(row["ns2"] == [1, 2, 3, 4, 5, 6] for row in rows.values())
    # Four segments; or 10.24 Mbit/s for as long as the handshake and a one-way trip of 51 ms leave.
    assert rows["without"]["ours"][0] == rows["refused"]["ours"][0] == 4
    assert rows["reduced"]["ours"][0] == pytest.approx((0.25 - 3 * 0.051) * 10.24e6 / 8 / 1064, abs=2)
    assert f"| {rows['lost']['ours'][0]} 1 |" in (out / "tables.md").read_text()


@real
@pytest.mark.parametrize(
    ("case", "apart"),
    [
        ("without", (0, 0, 0, 0, 0, 0)),
        ("approved", (1, 1, 1, 1, 8, 8)),
        ("reduced", (1, 1, 1, 1, 1, 1)),
        ("lost", (1, 1, 2, 4, 10, 15)),
        # docs/explanation/peers.md: the report of the refusal takes eight bytes of the first window.
        ("refused", (0, 7, 23, 39, 39, 39)),
    ],
)
def test_quick_start_delivers_what_ns2s_does(case: str, apart: tuple[int, ...]) -> None:
    (row,) = quick_start.study([case]).rows
    found = [abs(ours - theirs) for ours, theirs in zip(row.ours, row.theirs, strict=True)]
    assert all(one <= most for one, most in zip(found, apart, strict=True)), f"{row.ours} here, {row.theirs} there"


@real
def test_ns2s_own_quick_start_is_in_slow_start_afterwards() -> None:
    """What the script sets alike makes the difference that docs/explanation/peers.md says."""
    options = {"at": "0.5", "ssthresh": "own"}
    own = ns2.Task(shipped.file(quick_start.SCRIPT), options, "reduced", 1, 1.0).run()
    assert ns2.facts(own)["delivered_segments"] == [695]
