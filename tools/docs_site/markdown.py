"""Links, headings and lines of Markdown files, for the site and for the tests of the pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"`[^`]*`")


@dataclass(frozen=True)
class Link:
    """A link or an image: `[text](path#anchor)`."""

    text: str
    path: str
    anchor: str
    is_image: bool

    @property
    def is_relative(self) -> bool:
        """Whether it leads to a file of the repository."""
        return "://" not in self.path and not self.path.startswith("mailto:")


LinkChange = Callable[[Link], str]


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside code blocks, numbered from 1."""
    fenced = code = in_list = False
    blank = True
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            indented = line.startswith("    ")
            code = indented and not in_list and (blank or code)
            if not code:
                yield number, line
            if re.match(r"\s*([-*+]|\d+[.)])\s", line):
                in_list = True
            elif line.strip() and not line.startswith(" "):
                in_list = False
        blank = not line.strip()


def links(text: str) -> Iterator[Link]:
    """Every link outside code."""
    body = _CODE.sub(lambda code: "`" + "x" * (len(code[0]) - 2) + "`", "\n".join(line for _, line in prose(text)))
    for found in _LINK.finditer(body):
        path, _, anchor = found["target"].partition("#")
        yield Link(found["text"], path, anchor, bool(found["mark"]))


def anchors(text: str) -> set[str]:
    """The names of its headings, as GitHub makes them."""
    seen: Counter[str] = Counter()
    names = set()
    for _, line in prose(text):
        if heading := _HEADING.match(line):
            name = slug(heading[1])
            names.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return names


def slug(heading: str) -> str:
    """The anchor of a heading."""
    words = _LINK.sub(lambda link: link["text"], heading).replace("`", "")
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", words.strip().lower()))


def title(text: str) -> str:
    """The first heading."""
    return next(heading[1] for _, line in prose(text) if (heading := _HEADING.match(line)))


def relink(text: str, change: LinkChange) -> str:
    """The text with each relative link as `change` makes it; code stays as it is."""
    plain = {number for number, _ in prose(text)}
    lines = text.splitlines(keepends=True)
    joined: list[str] = []
    # A link's text may go over the end of a line: prose between code blocks is changed together.
    run: list[str] = []
    for number, line in enumerate(lines, 1):
        if number in plain:
            run.append(line)
        else:
            joined += [_relinked("".join(run), change), line]
            run = []
    return "".join([*joined, _relinked("".join(run), change)])


def _relinked(text: str, change: LinkChange) -> str:
    def changed(found: re.Match[str]) -> str:
        path, _, anchor = found["target"].partition("#")
        link = Link(found["text"], path, anchor, bool(found["mark"]))
        return change(link) if link.is_relative else found[0]

    return _LINK.sub(changed, text)
