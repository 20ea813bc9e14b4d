"""README's first page: short, and what it shows is what the commands print."""

from __future__ import annotations

import re
from collections import Counter

from conftest import ROAM, ROOT, Command
from handfast.studies.common import CHANGES

README = (ROOT / "README.md").read_text(encoding="utf-8")


def between(mark: str) -> str:
    """What stands between a mark and its end."""
    found = re.search(rf"<!-- {mark} -->\n(.*?)<!-- end -->", README, re.DOTALL)
    assert found is not None
    return found[1]


def lines(text: str, margin: str) -> list[str]:
    """The lines that say something, without the margin and what stands at their ends."""
    return [line.removeprefix(margin).rstrip() for line in text.splitlines() if line.strip()]


def test_it_is_short() -> None:
    lines = README.splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 100 and not line.startswith(("|", "!["))] == []


def test_the_table_of_the_demo_is_what_the_demo_prints(handfast: Command) -> None:
    printed = handfast("compare", ROAM, "--out", "demo").stdout
    assert lines(between("handfast demo"), "    ") == lines(printed, "")


def test_the_digest_names_remedies_that_it_explains() -> None:
    named = set(re.findall(r"^\| [^|]+\| [^|]+\| [^|]+\| `([a-z-]+)`", between("handfast common"), re.MULTILINE))
    assert len(named) > 2
    assert named <= set(CHANGES)
    explained = set(re.findall(r"`([a-z-]+)`\s(?:holds|repeats|splits|marks|has|caps|asks) ", README))
    assert named - {"linux"} <= explained


def test_it_counts_the_claims_of_the_papers_as_their_pages_do() -> None:
    pages = ROOT / "docs" / "reference" / "claims"
    # Our own claims, of what the papers leave out.
    beyond = {"beyond", "incc", "place", "release", "rivals", "together"}
    for key in ("sdn", "eln", "sdtp", "vho"):
        verdicts = [
            re.search(r"^\*\*Verdict: ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
            for page in pages.glob(f"{key}-*.md")
            if page.stem.partition("-")[2] not in beyond
        ]
        count = Counter(found[1] if found is not None else "missing" for found in verdicts)
        row = next(line for line in README.splitlines() if line.startswith(f"| [`{key}`]"))
        assert row.endswith(f"| {count['holds']} / {count['fails']} |"), f"{key}: {count}"
        assert set(count) <= {"holds", "fails"}
