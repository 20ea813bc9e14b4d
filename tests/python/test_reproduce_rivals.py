"""iosl-rivals: the bench's files as they may come, and what the claim makes of them."""

from __future__ import annotations

import copy
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Command
from handfast.errors import InputError
from handfast.lab import controller
from handfast.studies import roaming
from handfast.studies.reproduce import NotRun, Runs, paper
from handfast.studies.reproduce.verdict import judge, not_run
from handfast.studies.roaming import Download, Record, Terminal

sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "bench" / "roaming"))

import compare
import record
import terminal
import ways


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are looked for in the working directory."""
    monkeypatch.chdir(tmp_path)


WHOLE = 400_000_000
TIMES = (0.0, 0.01, 0.02, 0.01, 0.03)
"""By which the returns of one way differ."""


def way(name: str, back_s: float | None, soon_mb: float = 15.0, seconds: float | None = 32.0) -> Download:
    """One with five changes: from each to the first octet, the second after, the whole; None: never."""
    back = tuple(back_s + more for more in TIMES) if back_s is not None else ()
    soon = (soon_mb,) * (len(back) - 1) if back else ()
    octets = 75_000_000 if seconds is None else WHOLE
    return Download(name, seconds is not None, octets, seconds or 5.0, back, soon, len(TIMES))


def downloads(delay_ms: int) -> Record[Download]:
    """As the bench finds them, nearly."""
    near = delay_ms / 1e3
    rows = (
        way(roaming.TCP, None, seconds=None),
        *(way(name, 0.05 + near) for name in roaming.SESSIONS),
        way(roaming.TOLD, 1.8, 9.0, None),
        way(roaming.CAPPED, 1.6, 9.0, 68.0),
        *(way(name, 0.04 + near) for name in roaming.QUINN),
        way(roaming.MPTCP[0], 0.3, seconds=None),
        way(roaming.MPTCP[1], 0.2, seconds=43.0),
        way("rsync, asks for the rest", 2.0, seconds=90.0),
    )
    return Record("download", delay_ms, dict(roaming.DOWNLOAD), rows, programs={"curl": "curl 8"}, kernel="Linux 6")


def typed() -> Record[Terminal]:
    """160 keys by each way."""
    rows = (
        Terminal(roaming.SSH, 160, (0.05,) * 16),
        Terminal(roaming.SSH_BY_SESSION, 160, (*(0.05,) * 150, *(3.0,) * 10)),
        *(Terminal(name, 160, (*(0.001,) * 158, 0.03, 0.06)) for name in roaming.MOSH),
    )
    return Record("terminal", roaming.FAR_MS, dict(roaming.TERMINAL), rows, kernel="Linux 6")


Change = Callable[[Download], Download]


def leave(change: Change | None = None, name: str = "", keys: int = 160, **settings: object) -> None:
    """Write the three files, with a row of the far download changed, and so many keys shown over a session."""
    for delay_ms in roaming.DELAYS_MS:
        made = downloads(delay_ms)
        rows = tuple(change(row) if change and row.name == name else row for row in made.rows)
        put(replace(made, rows=rows if delay_ms else made.rows, settings={**made.settings, **settings}))
    made_by = typed()
    ssh, session, *mosh = made_by.rows
    put(replace(made_by, rows=(ssh, replace(session, shown_s=session.shown_s[:keys]), *mosh)))


def put(measured: Record[Any]) -> Path:
    """Where it belongs."""
    roaming.FOLDER.mkdir(parents=True, exist_ok=True)
    place = roaming.FOLDER / measured.file
    place.write_text(measured.document())
    return place


def verdict() -> dict[str, Any]:
    """What the claim comes to with these files; without the command around it, which draws a figure too."""
    paper.load("iosl")
    rivals = sys.modules["handfast_paper_iosl.rivals"]
    try:
        found = judge("x", "", "", rivals.rivals(Runs((), quick=False, scratch=Path())))
    except NotRun as why:
        found = not_run("x", "", "", str(why))
    return dict(found.as_json())


def test_sessions_that_do_all_of_it_hold(handfast: Command, tmp_path: Path) -> None:
    leave()
    result = handfast("reproduce", "iosl/rivals", "--json")
    assert result.exit_code == 0, result.stderr
    (one,) = json.loads(result.stdout)["claims"]
    assert one["verdict"] == "holds", one["reason"]
    assert "fails, as it must" in one["control"]
    assert "TCP, 0 ms: 75 of 400 MB came" in one["control"]
    assert "first octet, TCP, 0 ms: no timeout: never <= 0.2 s" in one["control"]
    assert "keys shown, ssh: 16 of 160" in one["control"]
    first = one["measured"]["first_octet_handfastd_session_run_20_ms_s"]
    assert (first["median"], first["low"], first["runs"]) == (pytest.approx(0.08), pytest.approx(0.07), 5)
    assert one["measured"]["the_whole_mptcp_subflows_given_up_in_7_s_20_ms_s"] == 43
    assert one["measured"]["came_tcp_0_ms_mb"] == 75
    assert one["measured"]["the_whole_rsync_asks_for_the_rest_0_ms_s"] == 90
    assert "mosh's local echo wins at the terminal" in one["reason"]
    assert "not the bench's own" not in one["reason"]
    assert (tmp_path / "out" / "reproduce" / "iosl" / "figures" / "iosl-rivals.svg").is_file()


SESSION = roaming.SESSIONS[3]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda row: replace(row, complete=False, octets=WHOLE - 1),
            f"{SESSION}, 20 ms: 400 of 400 MB came, or not the right ones, through 5 changes",
        ),
        (
            lambda row: replace(row, back_s=(0.3, 0.31, 0.1, 0.3, 0.2)),
            f"first octet, {SESSION}, 20 ms: no timeout: 0.3 <= 0.24 s",
        ),
        (
            lambda row: replace(row, back_s=(1.7, 1.8, 1.9, 1.7, 1.6)),
            f"first octet, {SESSION}, 20 ms and {roaming.CAPPED}: 1.7 <= 1.63 s",
        ),
        # After three of five changes nothing came until the next one.
        (
            lambda row: replace(row, back_s=row.back_s[:2], soon_mb=()),
            f"first octet, {SESSION}, 20 ms: no timeout: never <= 0.24 s",
        ),
        (
            lambda row: replace(row, soon_mb=(8.5,) * 4),
            f"the second after, {SESSION}, 20 ms and {roaming.TOLD}: 8.5 >= 8.55 MB",
        ),
        (
            lambda row: replace(row, seconds=34.0),
            f"the whole, {SESSION}, 20 ms and {roaming.QUINN[0]}: 34 <= 33.7 s",
        ),
        (
            lambda row: replace(row, seconds=46.0),
            f"the whole, {SESSION}, 20 ms and {roaming.MPTCP[1]}: 46 <= 45.3 s",
        ),
    ],
)
def test_each_check_can_fail(change: Change, says: str) -> None:
    leave(change, SESSION)
    one = verdict()
    assert one["verdict"] == "fails"
    assert f"{says} (no)" in one["reason"]


def test_a_key_that_is_lost_fails() -> None:
    leave(keys=159)
    one = verdict()
    assert one["verdict"] == "fails"
    assert one["reason"].startswith(f"keys shown, {roaming.SSH_BY_SESSION}: 159 of 160 (no)")


def test_a_control_that_passes_one_kind_of_check_is_no_control() -> None:
    for delay_ms in roaming.DELAYS_MS:
        made = downloads(delay_ms)
        put(replace(made, rows=(way(roaming.TCP, 2.0, 1.0, 99.0), *made.rows[1:])))
    put(typed())
    one = verdict()
    assert one["verdict"] == "fails"
    assert "the control holds too" in one["reason"]
    assert "in the place of sessions: holds as well" in one["control"]


def test_without_files_it_is_not_run_and_says_what_writes_them(handfast: Command) -> None:
    result = handfast("reproduce", "iosl/rivals", "--json")
    assert result.exit_code == 2
    (one,) = json.loads(result.stdout)["claims"]
    assert one["verdict"] == "not-run"
    for word in ("out/bench-roaming/download-20ms.json", "`make bench-roaming`", "as root", "40 minutes"):
        assert word in one["reason"]


def test_the_one_that_is_missing_is_named() -> None:
    leave()
    roaming.terminal().unlink()
    one = verdict()
    assert one["verdict"] == "not-run"
    assert "there is no out/bench-roaming/terminal-20ms.json, in the folder" in one["reason"]


def test_a_rival_that_was_left_out_makes_it_one_that_is_not_run() -> None:
    leave()
    made = downloads(0)
    rows = tuple(row for row in made.rows if row.name != roaming.CAPPED)
    put(replace(made, rows=rows, left_out={roaming.CAPPED: "this kernel has no tcp_rto_max_ms"}))
    one = verdict()
    assert one["verdict"] == "not-run"
    assert f"{roaming.CAPPED}: this kernel has no tcp_rto_max_ms" in one["reason"]


def test_too_few_changes_judge_nothing() -> None:
    leave(lambda row: replace(row, back_s=row.back_s[:2], soon_mb=(), changes=2), SESSION)
    assert "met 2 changes of address; at least 3" in verdict()["reason"]


def test_changes_that_vary_nothing_judge_nothing() -> None:
    leave(lambda row: replace(row, back_s=(0.1,) * 5), SESSION)
    one = verdict()
    assert one["verdict"] == "not-run"
    assert "the changes vary nothing" in one["reason"]


def test_settings_of_ones_own_are_named() -> None:
    leave(every_s=2.0, gaps_s=[0.0, 9.0], congestion="bbr")
    one = verdict()
    assert one["verdict"] == "holds"
    says = (
        "settings that are not the bench's own: every_s 2, not 4; gaps_s [0.0, 9.0], not [0.0, 1.0, 3.0, 0.3, 5.0, 2.0]"
    )
    assert f"download-0ms.json has {says}; congestion bbr, not cubic" in one["reason"]
    assert "terminal-20ms.json has" not in one["reason"]


def test_files_of_before_the_daemon_was_built_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    daemon = tmp_path / "handfastd"
    daemon.touch()
    monkeypatch.setenv(controller.BINARY, str(daemon))
    leave()
    for at, said in ((time.time() - 60, False), (time.time() + 60, True)):
        os.utime(daemon, (at, at))
        assert ("before the handfastd that is here was built" in verdict()["reason"]) is said


def test_where_mosh_is_not_ahead_nothing_says_so() -> None:
    leave()
    made = typed()
    put(replace(made, rows=(*made.rows[:2], *(replace(row, shown_s=(4.0,) * 160) for row in made.rows[2:]))))
    one = verdict()
    assert one["verdict"] == "holds"
    assert (
        "mosh's local echo does not win here: 95 % of its keys are there in 4 s, ssh's over a session in 3"
        in one["reason"]
    )


Break = Callable[[dict[str, Any]], object]


def first(key: str, value: object) -> Break:
    return lambda data: data["rows"][0].update({key: value})


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda data: data.update(schema=2), "schema: 2 is not 1"),
        (lambda data: data.update(version="0.0.1"), "version: '0.0.1' is not"),
        (lambda data: data.pop("version"), "version: None is not"),
        (lambda data: data.update(more=1), "is not the keys bench, delay_ms"),
        (lambda data: data.update(delay_ms=0), "the file's name: 'download-20ms.json' is not 'download-0ms.json'"),
        (lambda data: data.update(bench="terminal"), "is not 'terminal-20ms.json'"),
        (lambda data: data.update(rows={}), "rows: {} is not a list"),
        (lambda data: data.update(rows=data["rows"] * 100), "rows: ["),
        (lambda data: data["rows"].append(data["rows"][0]), "one of each name"),
        (lambda data: data["rows"].append(7), "rows[13]: 7 is not an object"),
        (lambda data: data.update(made="yesterday"), "Invalid isoformat"),
        (lambda data: data.update(kernel="\x1b[2J"), "kernel: '\\x1b[2J' is not a printable text"),
        (lambda data: data.update(programs={"curl": 8}), "programs.curl: 8 is not"),
        (lambda data: data["settings"].pop("every_s"), "settings: ["),
        (lambda data: data["settings"].update(gaps_s=[-1]), "settings.gaps_s[0]: -1 is not a number"),
        (lambda data: data["settings"].update(congestion=5), "settings.congestion: 5 is not"),
        (first("name", "x" * 201), "printable text of 1 to 200"),
        (first("complete", "yes"), "rows[0].complete: 'yes' is not true or false"),
        (first("complete", True), "rows[0].octets: 75000000 is not 400000000"),
        (first("octets", 0.5), "rows[0].octets: 0.5 is not a whole number"),
        (first("octets", True), "rows[0].octets: True is not a number"),
        (first("seconds", float("nan")), "rows[0].seconds: nan is not a number"),
        (first("seconds", float("inf")), "rows[0].seconds: inf is not a number"),
        (first("seconds", 10**400), "rows[0].seconds: 1000"),
        (first("back_s", [0.1] * 6), "rows[0].changes: 5 is not as many as came back"),
        (first("back_s", [0.1] * 20_000), "rows[0].back_s: ["),
        (first("soon_mb", [1.0]), "rows[0].changes: 5 is not as many"),
    ],
)
def test_a_malformed_file_is_an_error_that_says_what_to_do(handfast: Command, spoil: Break, says: str) -> None:
    leave()
    place = roaming.download(20)
    data = json.loads(place.read_text())
    spoil(data)
    place.write_text(json.dumps(data))
    result = handfast("reproduce", "iosl/rivals", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {place}: "), result.stderr
    assert says in result.stderr
    assert "`make bench-roaming` (as root" in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        b"[" * 200_000,
        b" " * (roaming.MOST_OCTETS + 1),
        b'{"schema": 1' + b"1" * 5000 + b"}",
    ],
    ids=["empty", "cut", "list", "null", "no text", "deep", "large", "long number"],
)
def test_no_content_gets_past_the_reader(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "download-20ms.json"
    place.write_bytes(content)
    with pytest.raises(InputError, match="makes it anew"):
        roaming.read_download(place)


JUNK: tuple[object, ...] = (
    None,
    True,
    -1,
    0,
    1e300,
    float("nan"),
    "",
    "x",
    "\x07",
    [],
    {},
    [[]],
    ["x"],
    [0.5] * 7,
    {"name": 1},
)


def places(data: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value of a document."""
    yield at
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield from places(value, (*at, key))


def spoiled(data: Any, draw: random.Random) -> object:  # noqa: ANN401 (what JSON gives)
    """With a value replaced, moved or gone."""
    at = draw.choice(list(places(data)))
    if not at:
        return draw.choice(JUNK)
    parent = data
    for key in at[:-1]:
        parent = parent[key]
    if draw.random() < 0.2:
        del parent[at[-1]]
    else:
        parent[at[-1]] = copy.deepcopy(draw.choice((*JUNK, data["rows"][0], data["settings"])))
    return data


def ends() -> str:
    """How it ends, in a line."""
    try:
        found = verdict()
    except InputError as error:
        return f"error: {error}"
    return f"{found['verdict']}: {found['reason']}"


def test_whatever_a_file_holds_it_is_judged_or_refused() -> None:
    draw = random.Random(31)
    found = []
    for _ in range(600):
        leave()
        place = draw.choice(sorted(roaming.FOLDER.iterdir()))
        place.write_text(json.dumps(spoiled(json.loads(place.read_text()), draw)))
        found.append(ends())
    assert [one for one in found if not one.isprintable()] == []
    assert {one.partition(":")[0] for one in found} == {"holds", "fails", "not-run", "error"}


def test_what_is_no_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "terminal-20ms.json").mkdir()
    with pytest.raises(InputError, match="not a file"):
        roaming.read_terminal(tmp_path / "terminal-20ms.json")


def test_more_keys_shown_than_typed_are_refused() -> None:
    made = typed()
    place = put(replace(made, rows=(Terminal("x", 1, (0.1, 0.2)),)))
    with pytest.raises(InputError, match=r"rows\[0\].shown_s: 2 is not at most the 1 keys typed"):
        roaming.read_terminal(place)


def test_files_are_read_as_they_were_written() -> None:
    for made in (downloads(0), downloads(20)):
        assert roaming.read_download(put(made)) == made
    # Made once: a record says when it was made, to the second.
    keys = typed()
    assert roaming.read_terminal(put(keys)) == keys


def test_a_bad_file_is_told_before_anything_runs(handfast: Command, tmp_path: Path) -> None:
    leave()
    roaming.terminal().write_text("{}")
    result = handfast("reproduce", "iosl/application", "iosl/rivals", "--quick")
    assert result.exit_code == 2
    assert "terminal-20ms.json" in result.stderr
    assert not (tmp_path / "out" / "reproduce").exists()


def test_the_bench_has_each_way_that_is_judged() -> None:
    judged = {roaming.TCP, roaming.TOLD, roaming.CAPPED, *roaming.SESSIONS, *roaming.QUINN, *roaming.MPTCP}
    assert judged <= {one.name for one in ways.WAYS}
    assert {one.name for one in terminal.TERMINALS} == {roaming.SSH, roaming.SSH_BY_SESSION, *roaming.MOSH}


def test_returns_are_counted_as_the_claim_reads_them() -> None:
    # An octet every 0.1 s; away from 4 to 5 s, 9 to 10, 14 to 15; nothing in the second time with an address.
    arrivals = [n / 10 for n in range(201) if not 4 < n / 10 < 5.2 and not 9 < n / 10 < 15.3]
    totals = [1_000_000 * n for n in range(len(arrivals))]
    back, soon, changes = compare.returns([5.0, 10.0, 15.0, 20.5], arrivals, totals, 4.0, complete=True)
    assert changes == 3, "the last address came when all was there"
    assert back == pytest.approx((0.2, 0.3)), "after the second nothing came until the third"
    assert soon == pytest.approx((10.0, 10.0))
    back, soon, changes = compare.returns([5.0, 10.0, 15.0, 20.5], arrivals, totals, 4.0, complete=False)
    assert changes == 4, "one that has failed has not come back from the last"
    assert len(back) == 2


def test_a_second_that_is_cut_by_the_next_absence_or_the_end_is_none() -> None:
    late = [n / 10 for n in range(300) if not 4 < n / 10 < 8.5]
    assert compare.returns([5.0], late, range(len(late)), 4.0, complete=True)[1] == ()
    over = [n / 10 for n in range(60) if not 4 < n / 10 < 5.2]
    assert compare.returns([5.0], over, range(len(over)), 4.0, complete=True)[1] == ()


def test_the_bench_says_what_programs_say_of_themselves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "handfastd"
    program.write_text("#!/bin/sh\nprintf '\\n\\033[1mhandfastd 9\\nmore\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("HANDFASTD", str(program))
    assert record.versions(["no such program"]) == {"handfastd": "[1mhandfastd 9", "no such program": "unknown"}
    assert record.quinn(ROOT / "bench" / "roaming" / "quic" / "Cargo.lock").startswith("0.11.")
