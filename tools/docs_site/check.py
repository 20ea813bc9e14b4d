"""`python -m docs_site.check SITE`: whether a built site needs nothing from outside and its search finds words."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path

WORDS = ("frto", "handfastd", "tcp_rto_max_ms")
"""What readers search for."""


class _Loads(HTMLParser):
    """What a page loads by itself: scripts, styles, images; not where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what the tag loads."""
        given = dict(attrs)
        name = "href" if tag == "link" else "src"
        if tag in {"link", "script", "img", "iframe", "source"} and (where := given.get(name)):
            self.found.append(where)


def outside(html: str) -> list[str]:
    """What a page loads from another host."""
    loads = _Loads()
    loads.feed(html)
    return [where for where in loads.found if where.startswith(("http:", "https:", "//"))]


def problems(site: Path) -> list[str]:
    """What is wrong with a built site."""
    found = [
        f"{page.relative_to(site)} loads {where}"
        for page in sorted(site.rglob("*.html"))
        for where in outside(page.read_text())
    ]
    items = json.loads((site / "search.json").read_text())["items"]
    texts = [f"{item['title']} {item['text']}".lower() for item in items]
    found += [f"the search does not know {word}" for word in WORDS if not any(word in text for text in texts)]
    return found


if __name__ == "__main__":
    if wrong := problems(Path(sys.argv[1])):
        sys.exit("\n".join(wrong))
