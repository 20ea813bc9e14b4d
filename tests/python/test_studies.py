"""All that the studies print and write as text, each beside a file of `studies/`.

`HANDFAST_UPDATE=1` writes the files anew; a change of any number is a "results changed" entry in the CHANGELOG.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import handfast as hf
import test_fidelity
import test_peers
import test_reproduce
from conftest import OUTAGE, Command
from handfast.frames import Tabular
from handfast.studies.peers import ns2

GOLDEN = Path(__file__).parent / "studies"

fake = test_reproduce.fake
path = test_peers.path


class Page:
    """Collects what is printed and written, and compares it with the file of its name."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._parts: list[str] = []

    def ran(self, *arguments: str | Path, code: int = 0) -> None:
        """Adds what a command prints on both streams."""
        done = self._command(*arguments)
        assert done.exit_code == code, done.output
        self._add(f"handfast {arguments[0]}", done.stdout, "stderr", done.stderr)

    def wrote(self, directory: Path, *names: str) -> None:
        """Adds files."""
        for name in names:
            self._add(name, (directory / name).read_text(encoding="utf-8"))

    def showed(self, made: Tabular, tables: Sequence[str]) -> None:
        """Adds what a notebook shows, and the frames."""
        html = getattr(made, "_repr_html_")()  # noqa: B009 (a notebook asks whatever it is given)
        self._add("a notebook shows", html.replace("<tr>", "\n<tr>"))
        for table in tables:
            self._add(f"frame {table}", made.to_frame(of=table).write_csv())

    def _add(self, *parts: str) -> None:
        for title, text in zip(parts[::2], parts[1::2], strict=True):
            lines = [line.rstrip() for line in text.replace(hf.__version__, "VERSION").splitlines()]
            self._parts.append("\n".join([f"== {title}", *lines, ""]))

    def compare(self, name: str) -> None:
        """Compares it with the file, line by line."""
        file, text = GOLDEN / name, "\n".join(self._parts)
        if os.environ.get("HANDFAST_UPDATE"):
            file.write_text(text, encoding="utf-8")
        assert text.splitlines() == file.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def page(handfast: Command) -> Page:
    return Page(handfast)


def test_what_sweep_says(page: Page, tmp_path: Path) -> None:
    axes = ("--set", "duration=13s,14s", "--set", "events.0.gap=500ms,1s")
    some = ("sweep", OUTAGE, *axes, "--schemes", "reno,sack", "--seeds", "1,2", "--out", "made")
    page.ran(*some)
    page.wrote(tmp_path / "made", "runs.csv")
    changes: dict[str, Sequence[object]] = {"duration": ["13s"], "events.0.gap": ["500ms", "1s"]}
    page.showed(hf.sweep(OUTAGE, changes, schemes=["reno"], seeds=[1, 2], out=tmp_path / "made"), ["runs"])
    page.compare("sweep.txt")


def test_what_common_says(page: Page, tmp_path: Path) -> None:
    groups, schemes, seeds = ["announced", "overlap"], ["linux", "spurious", "rto-max"], [1, 2]
    words = ("--groups", ",".join(groups), "--schemes", ",".join(schemes), "--seeds", "1,2", "--out", "made")
    page.ran("common", *words)
    page.wrote(tmp_path / "made", "common.json", "short.md", "whole.md")
    page.showed(hf.common(groups, schemes, seeds, out=tmp_path / "made"), ["cells"])
    page.compare("common.txt")


def test_what_reproduce_says(page: Page, fake: Path, tmp_path: Path) -> None:
    page.ran("reproduce")
    page.ran("reproduce", "fake/good", "fake/bad", "fake/still", "--out", "made", code=1)
    page.wrote(tmp_path / "made" / fake.name, "claims-good-bad-still.json")
    page.showed(hf.reproduce("fake/good", out=tmp_path / "made"), ["claims", "measured"])
    page.compare("reproduce.txt")


def test_what_peers_eln_says(page: Page, path: Path, tmp_path: Path) -> None:
    test_peers.fake(path, '{"delivered_bytes": 11000000, "retransmitted_segments": 3, "timeouts": 1}')
    page.ran("peers", "eln", "--quick", "--schemes", "reno", "--seeds", "1..2", "--out", "made")
    page.wrote(tmp_path / "made", "peers.json", "tables.md")
    page.showed(hf.peers("eln", schemes=["reno"], seeds=[1, 2], quick=True, out=tmp_path / "made"), ["points"])
    page.compare("peers-eln.txt")


def test_what_peers_quick_start_says(page: Page, path: Path, tmp_path: Path) -> None:
    test_peers.fake(path, '{"delivered_segments": [1, 2, 3, 4, 5, 6]}')
    page.ran("peers", "quick-start", "--out", "made")
    page.wrote(tmp_path / "made", "peers.json", "tables.md")
    page.showed(hf.peers("quick-start", out=tmp_path / "made"), ["delivered"])
    page.compare("peers-quick-start.txt")


def test_what_fidelity_says(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(data: dict[str, object]) -> None:
        """The second case is slower there, the third late."""
        aggregate, late = data["aggregate"], data["scenario"] == "fidelity-7-3"
        assert isinstance(aggregate, dict)
        aggregate["goodput_bps"] *= 0.5 if data["scenario"] == "fidelity-7-2" else 1.0
        data["valid"] = not late
        known = {"kernel": "6.12", "processor": "made up", "cores": 2, "realtime": True, "lateness_p99_s": 1e-4}
        data["environment"] = {**known, "problems": ["frames left late"] if late else []}

    test_fidelity.pretend(monkeypatch, changed)
    page.ran("fidelity", "--seed", "7", "--cases", "3", "--out", "made", code=1)
    page.wrote(tmp_path / "made", "fidelity.json")
    page.showed(hf.fidelity(7, 3), ["cases"])
    page.compare("fidelity.txt")


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    ns2.version.cache_clear()
