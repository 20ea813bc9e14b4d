"""The report: drawn from results alone, closed to the network, escaped."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import OUTAGE, SCHEMES, Command, edited, files
from handfast import bundle, curves, figures, page
from handfast.measures import Measures
from handfast.page import charts
from handfast.results import Result
from test_tables import EMPTY

EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """Collects what a page would fetch, its text, and its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.scripts = 0
        self.text = ""
        self._skip = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self._skip = tag in ("script", "style")
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]

    def handle_endtag(self, tag: str) -> None:
        self._skip = self._skip and tag not in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.text += data


@pytest.fixture
def made(compared: Path, tmp_path: Path) -> Path:
    """A result directory of this test's own."""
    return shutil.copytree(compared, tmp_path / "made")


def test_it_opens_offline(made: Path) -> None:
    html = (made / "report.html").read_text()
    page = Page(html)
    assert page.fetched
    assert all(value.startswith("data:image/svg+xml;base64,") for value in page.fetched)
    assert "default-src 'none'" in html
    assert "@import" not in html
    assert "plotly" not in html


def test_it_shows_what_was_run(made: Path) -> None:
    text = Page((made / "report.html").read_text()).text
    shaded = "Without a link (shaded in the charts): radio silent, 10.0"
    for expected in (*SCHEMES, "capacity limit", "Congestion window", shaded, "scenario hash"):
        assert expected in text
    for line in OUTAGE.read_text().splitlines():
        assert line in text


def test_it_prints_every_chart(made: Path) -> None:
    html = (made / "report.html").read_text()
    paper = html.split('<div class="paper">')[1].split("<h2>Scenario")[0]
    assert paper.count("<figure>") == 6


def test_paper_gets_pages_of_its_own(made: Path) -> None:
    html = (made / "report.html").read_text()
    style = html.split("<style>")[1].split("</style>")[0]
    screen, _, paper = style.partition("@media print")
    assert re.search(r"@page \{[^}]*size: A4", screen)
    # On paper pictures stand for the charts that a pointer moves in.
    assert ".paper { display: none; }" in screen
    for rule in (
        r"\.screen \{ display: none; \}",
        r"\.paper \{ display: block; \}",
        r"pre \{[^}]*white-space: pre-wrap",
    ):
        assert re.search(rule, paper), rule
    assert 'class="screen"' in html
    assert 'class="paper"' in html


def test_it_is_small(made: Path, several: Path) -> None:
    """plotly.js alone was 4.7 MB."""
    for file in (made / "report.html", several / "report.html"):
        assert file.stat().st_size < 2_000_000


def test_many_schemes_and_flows_stay_small(made: Path) -> None:
    """Forty schemes, by name: each has the series of one that ran."""
    found = bundle.read(made)
    names = [f"scheme-{number}" for number in range(40)]
    for name in names:
        for table in ("flows", "queues"):
            (made / "series" / f"{name}-1.{table}.parquet").symlink_to(made / "series" / f"cubic-1.{table}.parquet")
    runs = tuple(replace(found.document.runs[-1], scheme=name) for name in names)
    html = page.build(replace(found, document=replace(found.document, runs=runs)))
    assert len(html) < 2_000_000
    assert len(data_of(html)["schemes"]) == 40


def data_of(html: str) -> dict[str, Any]:
    text = html.split('<script type="application/json" id="curves">')[1].split("</script>")[0]
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_charts_hold_every_sample(made: Path) -> None:
    """Of a run this short nothing is left out, so zooming in shows the samples themselves."""
    data = data_of((made / "report.html").read_text())
    (queue,) = [chart for chart in data["charts"] if chart["axis"] == "queue"]
    for line in queue["lines"]:
        frame = pl.read_parquet(made / "series" / f"{SCHEMES[line['scheme']]}-1.queues.parquet")
        frame = frame.filter(frame["queue"] == "ap>phone")
        assert list(accumulate(data["times"][line["x"]])) == pytest.approx((frame["time_s"] / data["tick"]).to_list())
        drawn = [step * queue["step"] for step in accumulate(line["y"])]
        assert drawn == pytest.approx(frame["queue_pkt"].to_list())


def test_gaps_stay_gaps(made: Path) -> None:
    data = data_of((made / "report.html").read_text())
    (threshold,) = [chart for chart in data["charts"] if chart["axis"] == "ssthresh"]
    frame = pl.read_parquet(made / "series" / "tahoe-1.flows.parquet")
    assert threshold["lines"][0]["y"].count(None) == frame["ssthresh_pkt"].null_count() > 0


def test_paper_says_which_flows_it_shows(handfast: Command, tmp_path: Path) -> None:
    assert handfast("compare", "short-flows", "--schemes", "iw10", "--out", "made").exit_code == 0
    text = Page((tmp_path / "made" / "report.html").read_text()).text
    assert "Here: the first 4 of 21 flows." in text
    # Without an outage there is no column to explain.
    assert "Stall:" not in text


def test_it_says_which_run_it_draws(several: Path) -> None:
    text = Page((several / "report.html").read_text()).text
    runs = bundle.read(several).document.runs
    seed = curves.typical_seed(runs)
    assert f"Seed {seed} of 3: its goodput lies nearest to the medians" in text


def test_the_typical_seed_is_the_median_run() -> None:
    def run(scheme: str, seed: int, goodput: float, *, valid: bool = True) -> Result:
        return replace(EMPTY, scheme=scheme, seed=seed, valid=valid, aggregate=Measures(goodput_bps=goodput))

    one = [run("a", 1, 1.0), run("a", 2, 9.0), run("a", 3, 2.0)]
    assert curves.typical_seed(one) == 3
    assert curves.typical_seed([*one, run("b", 1, 5.0), run("b", 2, 6.0), run("b", 3, 5.5)]) == 3
    # A seed that one scheme lacks would leave that scheme out.
    assert curves.typical_seed([*one, run("b", 2, 6.0)]) == 2
    assert curves.typical_seed([run("a", 1, 2.0, valid=False), run("a", 2, 9.0)]) == 2


def test_many_schemes_have_many_looks() -> None:
    patterns: tuple[Sequence[object], ...] = (charts.DASHES, figures.DASHES)
    for dashes in patterns:
        drawing = curves.Drawing(1, [], [f"scheme {number}" for number in range(40)], [])
        looks = {(drawing.colour(scheme), str(drawing.dash(scheme, dashes))) for scheme in drawing.schemes}
        assert len(looks) == 40


def test_it_is_the_same_when_drawn_again_from_results_alone(made: Path, handfast: Command) -> None:
    before = (made / "report.html").read_text()
    (made / "report.html").unlink()
    assert handfast("report", made).exit_code == 0
    after = (made / "report.html").read_text()
    assert after == before


def test_a_bare_result_gives_a_table_without_curves(made: Path, handfast: Command, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (made / "result.json").rename(alone / "result.json")
    assert handfast("report", alone / "result.json").exit_code == 0
    page = Page((alone / "report.html").read_text())
    assert "hold no time series" in page.text
    assert page.fetched == []


def test_text_is_escaped(made: Path, handfast: Command) -> None:
    clean = Page((made / "report.html").read_text()).scripts
    result = made / "result.json"
    hostile = f'"scenario":"{EVIL.replace("/", chr(92) + "/")}"'
    result.write_text(edited(result.read_text(), '"scenario":"wifi-outage"', hostile))
    (made / "scenario.toml").write_text(f'description = "{EVIL}"\n# </pre>{EVIL}\n')
    assert handfast("report", made).exit_code == 0
    page = Page((made / "report.html").read_text())
    assert page.scripts == clean
    assert page.text.count(EVIL) >= 3


def test_figures_for_a_paper(made: Path, handfast: Command, tmp_path: Path) -> None:
    for place in ("one", "two"):
        assert handfast("report", made, "--figures", tmp_path / place).exit_code == 0
    names = set(files(tmp_path / "one"))
    assert {"cwnd.png", "cwnd.svg", "overview.svg", "queue.png"} <= names
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert (tmp_path / "one" / "cwnd.svg").read_text().count("<path") > 5


def test_figures_need_time_series(made: Path, handfast: Command, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (made / "result.json").rename(alone / "result.json")
    result = handfast("report", alone, "--figures", tmp_path / "figures")
    assert result.exit_code == 2
    assert not (tmp_path / "figures").exists()
