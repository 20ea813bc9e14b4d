"""`handfast common`: every scheme in every situation, and who wins."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conftest import Command
from handfast import api, shipped, stats
from handfast.studies import common
from handfast.studies.common import GROUPS, Cell, Group, Row
from handfast.studies.common.measures import FELT, LEAST, OWN, least, missed, own
from handfast.studies.common.study import FOLDER
from handfast.studies.plan import read_plan


def cell(scheme: str, *shares: float, stall: float | None = None) -> Cell:
    summary = stats.summarise(shares)
    assert summary is not None
    return Cell(scheme, shares, summary, stats.summarise([stall]), 0)


def row(*cells: Cell) -> Row:
    return Row(GROUPS[0], "none", 1e6, cells)


def test_each_group_has_its_sweep_and_each_sweep_its_group() -> None:
    folder = shipped.file(f"{FOLDER}/network.toml").parent / "sweeps"
    assert {path.stem for path in folder.glob("*.toml")} == {group.key for group in GROUPS}
    for path in folder.glob("*.toml"):
        plan = read_plan(path)
        assert plan.schemes == (), "the list of schemes is in network.toml and nowhere else"
        assert len(plan.seeds) >= 10
        cells = plan.cells({}, [1])
        assert {one.scheme for one in cells} == set(common.schemes())
        assert all(one.point[0][0] == "row" for one in cells)


def test_the_rows_of_the_readme_are_rows() -> None:
    for group in GROUPS:
        plan = read_plan(shipped.file(f"{FOLDER}/sweeps/{group.key}.toml"))
        assert set(group.shown) <= set(plan.axes["row"])
    # A first page has no room for all.
    without = ["queues", "air", "felt"]
    assert [group.key for group in GROUPS if not group.shown] == without


def test_every_scheme_that_cannot_be_run_is_one_of_the_table() -> None:
    assert {scheme for group in GROUPS for scheme in group.cannot} <= set(common.schemes())


def test_a_winner_is_above_seed_by_seed_and_others_are_alike() -> None:
    clear = row(cell("linux", *[0.5, 0.7, 0.6] * 4), cell("other", *[0.6, 0.8, 0.7] * 4))
    assert [one.scheme for one in clear.winners] == ["other"]
    assert clear.gain() == pytest.approx(0.1)
    # Above in each, by 0.1 points: that is 25 ms.
    same = row(cell("linux", *[0.5, 0.6] * 6), cell("other", *[0.501, 0.601] * 6))
    assert [one.scheme for one in same.winners] == ["other", "linux"]


def test_winners_have_medians_that_are_alike() -> None:
    # Half of the seeds see no difference, the others a large one: the median of the differences is small.
    one = cell("linux", *[0.9, 0.9, 0.9, 0.98, 0.98, 0.9, 0.9, 0.98, 0.98, 0.98, 0.9])
    best = cell("eln", *[0.9, 0.9, 0.98, 0.98, 0.98, 0.98, 0.9, 0.98, 0.98, 0.98, 0.9])
    assert one.value.median < best.value.median
    assert [winner.scheme for winner in row(one, best).winners] == ["eln"]


def test_of_winners_that_are_alike_the_cheapest_is_named_and_the_others_are_counted() -> None:
    every = [cell(name, *[0.5] * 12) for name in ("eln", "snoop", "rto-max", "linux")]
    assert common.named(row(*every)) == "`linux` +3"
    assert common.named(row(*every[:3])) == "`rto-max` +2"
    assert common.named(row(*every[:2])) == "`snoop` +1"
    assert common.named(row(every[0])) == "`eln`"


def test_the_gain_is_that_of_the_remedy_that_is_named() -> None:
    # `eln` is above by less than what counts as alike: the row names `linux`, which gains nothing.
    alike = row(cell("linux", *[0.5] * 12), cell("eln", *[0.5015] * 12))
    assert (common.named(alike), common.gain(alike)) == ("`linux` +1", "+0.0")
    better = row(cell("linux", *[0.5] * 12), cell("eln", *[0.6] * 12))
    assert (common.named(better), common.gain(better)) == ("`eln`", "+10.0")
    # And above the cheapest remedy, where that is run.
    assert common.gain(better, common.RIVAL) == "–"
    beside = row(cell("linux", *[0.5] * 12), cell("linux-bbr", *[0.58] * 12), cell("eln", *[0.6] * 12))
    assert (common.gain(beside), common.gain(beside, common.RIVAL)) == ("+10.0", "+2.0")


def felt(*cells: Cell, measure: str = "page_load_p50_s") -> Row:
    group = Group("felt", "title", "", measures=FELT, heading="What a person feels")
    return Row(group, "a roam", 0.0, cells, next(one for one in FELT if one.key == measure))


def test_of_a_time_less_is_better_and_what_nobody_notices_is_alike() -> None:
    times = felt(cell("linux", *[2.0] * 12), cell("linux-bbr", *[1.53] * 12), cell("eln", *[1.5] * 12))
    assert [one.scheme for one in times.winners] == ["eln", "linux-bbr"], "30 ms apart"
    assert (common.named(times), common.gain(times)) == ("`linux-bbr` +1", "+0.47")
    assert times.gain() == pytest.approx(0.5)
    rates = felt(cell("linux", *[4.0e6] * 12), cell("eln", *[4.2e6] * 12), measure="video_mean_bps")
    assert [one.scheme for one in rates.winners] == ["eln"]
    assert common.gain(rates) == "+0.20"


def test_where_seeds_differ_more_than_schemes_chance_makes_nobody_worse() -> None:
    # In the median 1 s apart; of 12 seeds four say the opposite.
    some = felt(cell("linux", *[3.0, 3.0, 2.0] * 4), cell("eln", *[2.0, 2.0, 3.0] * 4))
    assert {one.scheme for one in some.winners} == {"eln", "linux"}
    # Seeds that do not tell them apart say nothing: all others agree.
    most = felt(cell("linux", *[3.0, 3.0, 2.0] * 4), cell("eln", *[2.0, 2.0, 2.0] * 4))
    assert {one.scheme for one in most.winners} == {"eln"}
    few = felt(cell("linux", 3.0, 3.0, 2.0), cell("eln", 2.0, 2.0, 2.0))
    assert {one.scheme for one in few.winners} == {"eln"}


def test_what_a_person_feels_has_a_table_of_its_own() -> None:
    rows = (
        Row(GROUPS[0], "none", 1e6, (cell("linux", 0.5), cell("eln", 0.75))),
        felt(cell("linux", 2.0), cell("eln", 1.5)),
        felt(cell("linux", 0.5e6), cell("eln", 0.25e6), measure="video_mean_bps"),
    )
    made = common.Common(rows, ("linux", "eln"), (1,), 10.0, 2, 0)
    shares, own_table = common.whole(made).split("What a person feels:")
    assert "page" not in shares
    assert own_table.splitlines()[2:] == [
        "| measure |  | linux | eln |",
        "| --- | --- | --: | --: |",
        "| page, median, s | a roam | 2.00 | **1.50** |",
        "| video, Mbit/s | a roam | **0.50** | 0.25 |",
    ]
    assert "page" not in common.short(made)
    one = json.loads(made.document())["rows"][1]
    assert (one["measure"], one["winners"], one["behind_limit"]) == ("page_load_p50_s", ["eln"], None)
    assert one["cells"]["eln"]["page_load_p50_s"]["median"] == 1.5
    assert made.to_frame(of="felt")["measure"].to_list() == ["page_load_p50_s"] * 2 + ["video_mean_bps"] * 2
    assert made.to_frame()["share"].to_list() == [0.5, 0.75]


def test_a_share_of_what_is_fair_that_somebody_else_loses_makes_nobody_best() -> None:
    group = Group("beside", "title", "", measures=(LEAST, OWN), heading="its own")
    cells = (cell("linux", *[0.9] * 12), cell("linux-bbr", *[1.5] * 12))
    assert Row(group, "RED", 1e6, cells, OWN).winners == ()
    made = common.Common((Row(group, "RED", 1e6, cells, OWN),), ("linux", "linux-bbr"), (1,), 10.0, 2, 0)
    assert "| own share of its fair part, % | RED | 90.0 | 150.0 |" in common.whole(made)


def test_a_download_beside_another_is_measured_by_who_has_least_of_what_is_fair() -> None:
    scenario = read_plan(shipped.file(f"{FOLDER}/sweeps/beside.toml")).cells({"row": ["drop-tail"]}, [1])[0].scenario
    runs = {scheme: scenario.run(scheme, seed=1) for scheme in ("linux", "linux-bbr")}
    for run in runs.values():
        assert [flow.flow for flow in run.flows] == ["roams", "stays"]
        assert least(run) <= min(1.0, own(run))
    # BBR takes more than its half of a queue that all share, and the other one has so much less.
    assert own(runs["linux-bbr"]) > 1.1
    assert least(runs["linux-bbr"]) < least(runs["linux"])


def test_what_a_call_misses_is_what_comes_late_or_never() -> None:
    scenario = read_plan(shipped.file(f"{FOLDER}/sweeps/felt.toml")).cells({}, [1])[0].scenario
    run = scenario.run("linux", seed=1)
    (call,) = [flow.measures for flow in run.flows if flow.flow == "call"]
    assert call.late_datagrams is not None
    assert call.lost_datagrams is not None
    assert missed(run) == (call.late_datagrams + call.lost_datagrams) / (call.sent_datagrams or 0)
    # Two roams of 2 to 4 s in 60 s.
    assert 0.06 < missed(run) < 0.15
    for measure in FELT:
        assert measure.of(run) >= 0


def test_a_scheme_reconnects_where_the_address_changes_and_nowhere_else() -> None:
    for group in GROUPS:
        text = shipped.file(f"{FOLDER}/sweeps/{group.key}.toml").read_text(encoding="utf-8")
        assert bool(group.carry) == (".network" in text), group.key
        assert set(group.carry) <= set(common.schemes())
        assert group.reconnects("linux") == bool(group.carry)
        assert not any(group.reconnects(scheme) for scheme in group.carry)


def test_where_the_application_reconnects_a_figure_says_so_and_the_application_is_named() -> None:
    group = Group("x", "title", "about", shown=("1 s",), carry=("b",))
    told = Row(group, "1 s", 1e6, (cell("linux", *[0.9] * 12, stall=0.08), cell("b", *[0.8] * 12, stall=0.04)))
    made = common.Common((told,), ("linux", "b"), (1,), 10.0, 2, 0)
    whole = common.whole(made)
    assert "| title | about 1 s | **90.0** r | 80.0 |" in whole
    assert "| title | about 1 s | 0.08 r | 0.04 |" in whole
    assert "Reconnects (r): " in whole
    assert "Of all schemes `b` carries connections over a new address." in " ".join(whole.split())
    assert common.short(made).splitlines()[-1].endswith("| +0.0 | – | nothing; the app reconnects |")
    assert json.loads(made.document())["rows"][0]["reconnects"] == ["linux"]
    stays = common.Common((Row(GROUPS[0], "none", 1e6, (cell("linux", 0.5),)),), ("linux",), (1,), 10.0, 1, 0)
    assert "econnects" not in common.whole(stays) + common.short(stays)


def test_every_scheme_says_who_must_change_what() -> None:
    assert set(common.CHANGES) == set(common.schemes())


def test_a_scheme_that_is_not_run_has_a_dash_and_a_reason() -> None:
    group = Group("x", "title", "about", cannot={"b": "it cannot"})
    rows = (
        Row(group, "1 s", 1e6, (cell("linux", 0.5, stall=0.25),)),
        Row(GROUPS[0], "none", 1e6, (cell("linux", 0.5), cell("b", 0.75))),
    )
    made = common.Common(rows, ("linux", "b"), (1,), 10.0, 3, 0)
    whole = common.whole(made)
    assert "| title | about 1 s | **50.0** | – |" in whole
    assert "| title | about 1 s | 0.25 | – |" in whole
    assert "Not run (–): `b`; title: it cannot." in whole
    assert json.loads(made.document())["rows"][0]["not_run"] == {"b": "it cannot"}
    assert common.short(made).count("\n") == 2, "the head: README has neither row"
    assert made.figure().figure.axes


def test_a_group_with_one_row_has_one_line() -> None:
    group = Group("x", "title", "about", shown=("1 s", "2 s"))
    one = Row(group, "1 s", 1e6, (cell("linux", 0.5, stall=0.25), cell("eln", 0.75, stall=0.1)))
    two = Row(group, "2 s", 1e6, (cell("linux", 0.5),))
    short = common.short(common.Common((one,), ("linux", "eln"), (1,), 10.0, 2, 0)).splitlines()
    assert short[2:] == [
        "| **title**: about 1 s | 50.0 % | 0.25 s | `eln` | 75.0 % | 0.10 s | +25.0 | – |"
        " access point, server, device |"
    ]
    both = common.short(common.Common((one, two), ("linux", "eln"), (1,), 10.0, 3, 0)).splitlines()
    assert [line.split(" | ")[0] for line in both[2:]] == ["| **title**", "| about 1 s", "| about 2 s"]


def test_the_command(handfast: Command) -> None:
    some = ["common", "--groups", "announced", "--schemes", "linux,spurious", "--seeds", "1,2"]
    shown = handfast(*some)
    assert shown.exit_code == 0, shown.stderr
    assert "roam between access points, announced" in shown.stdout
    assert "20 runs, 0 of them" in shown.stderr
    made = json.loads(handfast(*some, "--json").stdout)
    assert json.loads(Path("out/common/common.json").read_text()) == made
    assert [one["row"] for one in made["rows"]] == ["0.1 s", "0.3 s", "1 s", "3 s", "5 s"]
    for one in made["rows"]:
        assert one["winners"] == ["spurious"]
        cells = one["cells"]
        assert one["gain_over_linux"] == cells["spurious"]["share"]["median"] - cells["linux"]["share"]["median"]
        assert cells["spurious"]["stall_s"]["median"] < 0.1 < cells["linux"]["stall_s"]["median"]
        assert 0.5 < cells["linux"]["share"]["low"] <= 1
    for name in ("common.svg", "common.png", "short.md", "whole.md"):
        assert Path("out/common", name).stat().st_size > 100


def test_what_a_person_feels_alone(handfast: Command) -> None:
    some = ["common", "--groups", "felt", "--schemes", "linux,iosl,iosl-peers", "--seeds", "1,2"]
    shown = handfast(*some)
    assert shown.exit_code == 0, shown.stderr
    assert "What a person feels" in shown.stdout
    assert "8 runs, 0 of them" in shown.stderr
    made = json.loads(handfast(*some, "--json").stdout)["rows"]
    assert [one["measure"] for one in made] == [measure.key for measure in FELT] * 2
    echo = next(one for one in made if one["measure"] == "echo_p95_s")
    assert set(echo["not_run"]) == {"iosl-peers"}
    # A device that freezes sends its own keystrokes again when the radio is back.
    assert echo["cells"]["iosl"]["echo_p95_s"]["median"] < 0.8 * echo["cells"]["linux"]["echo_p95_s"]["median"]
    assert "What a person feels:" in Path("out/common/whole.md").read_text(encoding="utf-8")


def test_the_table_fits_80_columns_and_every_row_has_its_gain(handfast: Command) -> None:
    shown = handfast("common", "--schemes", "linux,spurious,quick-start", "--seeds", "1").stdout.splitlines()
    assert max(map(len, shown)) <= 80
    assert "…" not in "".join(shown)
    rows = [line for line in shown if len(re.findall(r"\d %", line)) == 2]
    limited = [one for one in GROUPS if any(measure.limit for measure in one.measures)]
    assert len(rows) == sum(
        len(read_plan(shipped.file(f"{FOLDER}/sweeps/{one.key}.toml")).axes["row"]) for one in limited
    )
    assert all(any(line.startswith(measure.title) for line in shown) for measure in FELT)
    assert all(re.search(r" [+-]\d+\.\d$", line.rstrip()) for line in rows)


def test_unannounced_means_that_the_controller_does_not_hear(handfast: Command) -> None:
    handfast("common", "--groups", "announced,unannounced", "--schemes", "linux,zwa,spurious", "--seeds", "1")
    made = json.loads(Path("out/common/common.json").read_text())
    told, untold = (
        {one["row"]: one for one in made["rows"] if one["group"] == key} for key in ("announced", "unannounced")
    )
    assert told["3 s"]["cells"]["spurious"]["share"]["median"] > untold["3 s"]["cells"]["spurious"]["share"]["median"]
    assert "zwa" in told["3 s"]["cells"]
    assert "zwa" not in untold["3 s"]["cells"]


def test_schemes_that_carry_connections_over_a_new_address_do_and_the_others_do_not(handfast: Command) -> None:
    made = json.loads(handfast("common", "--groups", "address-app", "--seeds", "1", "--json").stdout)
    waits = next(one for one in made["rows"] if one["row"] == "waits for TCP")
    assert set(waits["cells"]) == set(common.schemes())
    for scheme, one in waits["cells"].items():
        if scheme in waits["reconnects"]:
            # Nothing more comes, or not before TCP has given up: a timeout of 1 s at most does so after 15 of them.
            assert one["without_return"] == 1 or one["stall_s"]["median"] > 10, scheme
        else:
            assert one["stall_s"]["median"] < 0.1, scheme


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--groups", "anounced"], "announced"),
        (["--groups", ","], "--groups"),
        (["--schemes", "magic"], "spurious"),
        (["--seeds", "x"], "--seeds"),
    ],
)
def test_wrong_input(handfast: Command, arguments: list[str], says: str) -> None:
    result = handfast("common", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_all_schemes_have_one_network() -> None:
    network = shipped.file(f"{FOLDER}/network.toml")
    plans = [read_plan(shipped.file(f"{FOLDER}/sweeps/{group.key}.toml")) for group in GROUPS]
    assert {plan.scenario.resolve() for plan in plans} == {network.resolve()}
    assert common.BASELINE in api.load(network).schemes
