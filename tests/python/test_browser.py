"""The pages in a real Chromium: nothing runs off, nothing overlaps, on a phone, on a desk, in the dark and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browser
from browser import Browser
from handfast.studies.reproduce import page as verdicts
from handfast.studies.reproduce.verdict import Measured, Verdict

pytestmark = pytest.mark.skipif(browser.MISSING is not None, reason=str(browser.MISSING))

PHONE, TABLET, DESK, A4 = 390, 768, 1280, 688
"""Widths in CSS pixels; A4's is that between the margins."""

MEASURE = """
(() => {
  const shown = (e) => e.checkVisibility({visibilityProperty: true}); // not inside closed details
  const wanted = 'h1,h2,h3,p,dl,dl div,.scroll,figcaption,.plot,canvas,.u-legend tr,img,'
    + 'button,select,label,pre,summary';
  const all = [...document.querySelectorAll(wanted)].filter(shown);
  const box = (e) => e.getBoundingClientRect();
  const name = (e) => `${e.tagName}.${e.className} "${(e.textContent || e.alt || '').slice(0, 30)}"`;
  const wide = document.documentElement.clientWidth;
  const off = all.filter((e) => box(e).left < -0.5 || box(e).right > wide + 0.5).map(name);
  const over = [];
  all.forEach((a, i) => all.slice(i + 1).forEach((b) => {
    if (a.contains(b) || b.contains(a)) return;
    const x = Math.min(box(a).right, box(b).right) - Math.max(box(a).left, box(b).left);
    const y = Math.min(box(a).bottom, box(b).bottom) - Math.max(box(a).top, box(b).top);
    if (x > 1 && y > 1) over.push(name(a) + ' over ' + name(b));
  }));
  // A text that is wider than its cell lies over the next one.
  const cut = [...document.querySelectorAll('td,th,button,h1,h2,h3,p,dd')].filter(shown)
    .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline').map(name);
  return {off, over, cut, scrolls: document.documentElement.scrollWidth - wide, boxes: all.length};
})()
"""

CONTRAST = """
(() => {
  const rgb = (text) => text.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const light = (text) => {
    const [r, g, b] = rgb(text).map((v) => v / 255).map((v) => (v <= 0.04 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const worst = [...document.querySelectorAll('h1,h2,p,td,th,dd,dt,summary,figcaption')]
    .filter((e) => e.getClientRects().length)
    .map((e) => light(getComputedStyle(e).color))
    .map((ink) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05));
  return {paper, worst: Math.min(...worst)};
})()
"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser.started(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def pages(compared: Path, several: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    judged = tmp_path_factory.mktemp("judged") / "report.html"
    judged.write_text(
        verdicts.build("A paper with a long title: all of it", VERDICTS, {"sdn/7a": FIGURE}, {"seeds": "1"})
    )
    return {"one flow": compared / "report.html", "several flows": several / "report.html", "verdicts": judged}


LONG = "the stall of the unassisted sender is 3.2 s, so the remedy saves 2.9 s, more than the paper's 2.4 s " * 2
VERDICTS = [
    Verdict("sdn/7a", "The stall is shorter with the controller", "holds", LONG, (Measured("stall", "s", 0.05),), LONG),
    Verdict(
        "sdn/7b", "A claim with a title that is long enough for two lines on a phone", "fails", LONG, (), LONG, LONG
    ),
]
FIGURE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 500 160" width="500pt" height="160pt"><path d="M0 0"/></svg>'
)
PAGES = ["one flow", "several flows", "verdicts"]


def whole(found: dict[str, Any]) -> None:
    assert found["boxes"] > 3
    assert found["off"] == []
    assert found["over"] == []
    assert found["cut"] == []
    assert found["scrolls"] <= 0


@pytest.mark.parametrize("width", [PHONE, TABLET, DESK])
@pytest.mark.parametrize("page", PAGES)
def test_nothing_runs_off_and_nothing_overlaps(
    chromium: Browser, pages: dict[str, Path], page: str, width: int
) -> None:
    chromium.open(pages[page], width)
    whole(chromium.run(MEASURE))
    assert chromium.errors == []


@pytest.mark.parametrize("page", PAGES)
def test_paper_shows_pictures_and_all_of_the_text(chromium: Browser, pages: dict[str, Path], page: str) -> None:
    chromium.open(pages[page], A4, dark=True, media="print")
    whole(chromium.run(MEASURE))
    assert chromium.run("[...document.querySelectorAll('canvas')].every(e => !e.getClientRects().length)")
    assert chromium.run(
        "[...document.querySelectorAll('img')].every(e => e.complete && e.naturalWidth && e.width > 300)"
    )
    found = chromium.run(CONTRAST)
    assert found["paper"] > 0.99, "paper is white, whatever the screen was"
    assert found["worst"] > 4.5


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("dark", [False, True])
def test_every_text_can_be_read(chromium: Browser, pages: dict[str, Path], page: str, *, dark: bool) -> None:
    chromium.open(pages[page], DESK, dark=dark)
    found = chromium.run(CONTRAST)
    assert (found["paper"] < 0.05) == dark
    assert found["worst"] > 4.5


def test_without_scripts_there_are_pictures(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["one flow"], TABLET, scripts=False)
    whole(chromium.run(MEASURE))
    assert chromium.run("[...document.querySelectorAll('figure img')].filter(e => e.width > 300).length") == 6


RANGES = "document.getElementById('charts').plots().map(p => [p.scales.x.min, p.scales.x.max])"
HIDDEN = "document.getElementById('charts').plots().map(p => p.series.filter(s => !s.show).map(s => s.label))"
INK = """[...document.querySelectorAll('canvas')].map(c => new Set(
  new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)"""


def test_every_chart_draws_all_its_lines(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["one flow"], DESK)
    plots = "document.getElementById('charts').plots()"
    assert chromium.run(f"{plots}.map(p => p.series.length - 1)") == [5] * 6
    assert chromium.run(RANGES) == [[0, 30]] * 6
    assert all(colours > 20 for colours in chromium.run(INK))
    labels = chromium.run(f"{plots}.map(p => p.axes.map(a => a.label))")
    assert labels[0] == ["time, s", "delivered, MB"]
    assert all(unit for _, label in labels for unit in [label.partition(", ")[2]])


def test_charts_zoom_together_and_come_back(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["one flow"], DESK)
    x, y, w, h = chromium.run(
        "(() => { const b = document.querySelector('.u-over').getBoundingClientRect(); "
        "scrollBy(0, b.top - 100); return [b.left, 100, b.width, b.height]; })()"
    )
    for kind, share in (("mouseMoved", 0.3), ("mousePressed", 0.3), ("mouseMoved", 0.45), ("mouseReleased", 0.5)):
        at = {"x": x + share * w, "y": y + h / 2}
        chromium.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
    ranges = chromium.run(RANGES)
    assert len({tuple(one) for one in ranges}) == 1
    assert ranges[0][0] == pytest.approx(9, abs=0.3)
    assert ranges[0][1] < 16
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            chromium.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=count, **at)
    assert chromium.run(RANGES) == [[0, 30]] * 6


def test_a_button_zooms_to_the_outage(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["one flow"], PHONE)
    chromium.run("[...document.querySelectorAll('button')].find(b => b.textContent.startsWith('radio silent')).click()")
    assert all(9 < low < 10 and 15 < high < 17 for low, high in chromium.run(RANGES))
    whole(chromium.run(MEASURE))


def test_a_click_in_a_legend_hides_a_scheme_everywhere(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["one flow"], DESK)
    click = "[...document.querySelectorAll('.u-series th')].find(e => e.textContent === 'sack').click()"
    chromium.run(click)
    assert chromium.run(HIDDEN) == [["sack"]] * 6
    chromium.run(click)
    assert chromium.run(HIDDEN) == [[]] * 6


def test_a_flow_or_a_scheme_is_chosen(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["several flows"], DESK)
    labels = "document.getElementById('charts').plots().map(p => p.series.slice(1).map(s => s.label))"
    options = chromium.run("[...document.querySelectorAll('option')].map(o => o.textContent)")
    assert options == ["download", "upload", "call", "page", "linux", "sack", "newreno"]
    assert chromium.run(labels)[0] == ["linux", "sack", "newreno"]
    chromium.run(
        "(() => { const s = document.querySelector('select'); s.value = 5; s.dispatchEvent(new Event('change')); })()"
    )
    assert chromium.run(labels)[0] == ["download", "upload", "call", "page"]
    colours = chromium.run("document.getElementById('charts').plots()[0].series.slice(1).map(s => s._stroke)")
    assert len(set(colours)) == 4
    whole(chromium.run(MEASURE))
