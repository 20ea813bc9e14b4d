"""The pages: every link leads somewhere, lines are short, and each command has its page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from conftest import ROOT, Command, edited
from handfast.errors import WRONG_INPUT

sys.path.insert(0, str(ROOT / "tools"))

from docs_site import bench, check, markdown

LONGEST = 100


def pages() -> list[Path]:
    """All Markdown of the repository."""
    listed = subprocess.run(
        [shutil.which("git") or "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        return sorted(path for path in ROOT.rglob("*.md") if not {".venv", "out", "target"} & set(path.parts))
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).exists()]


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in markdown.links(page.read_text()):
        if not link.is_relative:
            continue
        target = (page.parent / link.path).resolve() if link.path else page
        if not target.exists():
            found.append(f"{link.path}: no such file")
        elif link.anchor and target.suffix == ".md" and link.anchor not in markdown.anchors(target.read_text()):
            found.append(f"{link.path}#{link.anchor}: no such heading")
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# One heading\n")
    page = tmp_path / "page.md"
    page.write_text("[a](there.md#one-heading) [b](gone.md) [c](there.md#two) `[d](code.md)`\n\n    [e](block.md)\n")
    assert broken(page) == ["gone.md: no such file", "there.md#two: no such heading"]


def overlong(text: str) -> list[str]:
    """Lines of prose above the limit; a table's row and where a link leads are not counted."""
    return [
        f"{number}: {line}"
        for number, line in markdown.prose(text)
        if not line.startswith("|") and len(re.sub(r"\]\([^)]*\)", "]()", line)) > LONGEST
    ]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_fit_an_editor(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        pytest.skip("its old entries are left as they were released")
    assert overlong(page.read_text()) == []


def test_an_overlong_line_is_found() -> None:
    text = f"{'x ' * 60}\n\n    {'c ' * 60}\n\n| {'t ' * 60} |\n\n```\n{'f ' * 60}\n```\n"
    assert [line.partition(":")[0] for line in overlong(text)] == ["1"]


FULLEST = 8


def full(text: str) -> list[str]:
    """Cells of tables with more words than fit one; a piece of code counts as a word, a link as its text."""
    found = []
    for number, line in markdown.prose(text):
        if line.startswith("|") and not re.fullmatch(r"[|\s:-]+", line):
            short = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", line))
            found += [f"{number}: {cell.strip()}" for cell in short.split("|") if len(cell.split()) > FULLEST]
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_cell_holds_a_figure_or_some_words(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        pytest.skip("its old entries are left as they were released")
    assert full(page.read_text()) == [], "a list has room for sentences"


def test_a_full_cell_is_found() -> None:
    text = f"| {'w ' * 8} | `{'c ' * 9}` |\n|---|---|\n| {'w ' * 9} | 1 |\n"
    assert [cell.partition(":")[0] for cell in full(text)] == ["3"]


def test_every_command_has_a_page_of_its_own_options() -> None:
    made = bench.pages()
    assert {"handfast compare", "handfast lab relay", "handfast peers eln"} <= made.keys()
    assert "- `--seeds SEEDS`" in made["handfast compare"]
    assert "- `SCENARIO`: A scenario file" in made["handfast compare"]
    assert "```text\nhandfast compare wifi-outage " in made["handfast compare"]
    for name, page in made.items():
        assert page.startswith(f"# {name}\n\n"), name
        assert "[bold]" not in page, name


def test_what_a_page_loads_from_outside_is_found() -> None:
    page = '<a href="https://a.example/"><script src="https://b.example/x.js"></script><img src="x.svg">'
    assert check.outside(page) == ["https://b.example/x.js"]


def test_the_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert version
    assert f"\nversion: {version[1]}\n" in citation


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_tutorial_does_what_it_says(handfast: Command) -> None:
    page = (ROOT / "docs" / "tutorials" / "own-scenario.md").read_text()
    (scenario,), (figure,) = blocks(page, "toml"), blocks(page, "python")
    here = Path("tunnel.toml")
    here.write_text(edited(scenario, 'link = "radio"', 'link = "raido"'))
    refused = handfast("compare", here)
    assert refused.exit_code == WRONG_INPUT
    assert textwrap.indent(refused.stderr.strip(), "    ") in re.sub(r" +$", "", page, flags=re.MULTILINE)

    here.write_text(scenario)
    commands = [line.split()[1:] for line in page.splitlines() if line.startswith("    handfast ") and "tunnel" in line]
    assert [words[0] for words in commands] == ["compare", "sweep"]
    for words in commands:
        done = handfast(*[{"1..20": "1..2", "1..10": "1"}.get(word, word) for word in words])
        assert done.exit_code == 0, done.stderr
    subprocess.run([sys.executable, "-c", figure], check=True, env={**os.environ, "MPLBACKEND": "agg"})
    assert "<svg" in Path("stall.svg").read_text()
