"""README's first page: short, and what it shows is what the commands print."""

from __future__ import annotations

import re

from conftest import ROAM, ROOT, Command
from handfast.common import CHANGES

README = (ROOT / "README.md").read_text(encoding="utf-8")


def between(mark: str) -> str:
    """What stands between a mark and its end."""
    found = re.search(rf"<!-- {mark} -->\n(.*?)<!-- end -->", README, re.DOTALL)
    assert found is not None
    return found[1]


def test_it_is_short() -> None:
    lines = README.splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 100 and not line.startswith(("|", "!["))] == []


def test_the_table_of_the_demo_is_what_the_demo_prints(handfast: Command) -> None:
    printed = handfast("compare", ROAM, "--out", "demo").stdout
    table = [line.removeprefix("    ").rstrip() for line in between("handfast demo").strip("\n").splitlines()]
    assert table == [line.rstrip() for line in printed.strip("\n").splitlines()]


def test_the_digest_names_remedies_that_it_explains() -> None:
    named = set(re.findall(r"^\| [^|]+\| [^|]+\| [^|]+\| `([a-z-]+)`", between("handfast common"), re.MULTILINE))
    assert named <= set(CHANGES)
    explained = set(re.findall(r"^- `([a-z-]+)`:", README, re.MULTILINE))
    assert named - {"linux"} <= explained
