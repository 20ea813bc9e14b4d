"""The source of the site: copies of the pages with their links fitted, pages of commands, contents."""

from __future__ import annotations

import json
import posixpath
import shutil
from pathlib import Path

from docs_site import api, bench, daemon, markdown, notebook
from docs_site.markdown import Link

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Pages at the top of the repository that are pages of the site too."""
READERS = ("researcher.md", "operator.md", "app-developer.md")
FOLDERS = {
    "tutorials": "Tutorials",
    "how-to": "How to",
    "reference": "Reference",
    "reference/claims": "Claims",
    "reference/commands": "Commands",
    "explanation": "Explanation",
    "project": "Project",
}


def gather(into: Path, binary: Path) -> None:
    """Write the source of the site."""
    if into.exists():
        shutil.rmtree(into)
    pages, pictures = _pages(binary)
    for name, text in pages.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text(text)
    for name, data in pictures.items():
        (into / name).write_bytes(data)
    for folder in ("img", "assets"):
        shutil.copytree(ROOT / "docs" / folder, into / folder, dirs_exist_ok=True)
    settings = (ROOT / "docs" / "site.toml").read_text()
    contents = json.dumps(_contents(pages), ensure_ascii=False)
    (into.parent / "zensical.toml").write_text(settings.replace('nav = "made"', f"nav = {_toml(contents)}"))


def _pages(binary: Path) -> tuple[dict[str, str], dict[str, bytes]]:
    """The text of each page, and the pictures out of notebooks."""
    made: dict[str, str] = {}
    pictures: dict[str, bytes] = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        made[_place(path.relative_to(ROOT).as_posix()) or ""] = _fitted(path, path.read_text())
    for path in sorted((ROOT / "docs").rglob("*.ipynb")):
        text, inside = notebook.page(path)
        name = _place(path.relative_to(ROOT).as_posix()) or ""
        made[name] = _fitted(path, text)
        pictures |= {posixpath.join(posixpath.dirname(name), picture): data for picture, data in inside.items()}
    for name in PROJECT:
        if (ROOT / name).exists():
            made[f"project/{name}"] = _fitted(ROOT / name, (ROOT / name).read_text())
    commands = bench.pages() | daemon.pages(binary)
    for name, text in commands.items():
        made[f"reference/commands/{_file(name)}"] = text
    made["reference/commands/index.md"] = _index(commands)
    made["reference/python-api.md"] = api.page()
    return made, pictures


def _place(path: str) -> str | None:
    """Where a file of the repository is in the site; nothing where it is not in it."""
    if path in PROJECT:
        return f"project/{path}"
    if not path.startswith("docs/"):
        return None
    inside = path.removeprefix("docs/").replace(".ipynb", ".md")
    return posixpath.join(posixpath.dirname(inside), "index.md") if inside.endswith("README.md") else inside


def _fitted(path: Path, text: str) -> str:
    """A page whose links lead to pages of the site; a link to a file of the repository becomes that file's name."""
    source = path.relative_to(ROOT).as_posix()
    here = posixpath.dirname(_place(source) or "")

    def fitted(link: Link) -> str:
        anchor = f"#{link.anchor}" if link.anchor else ""
        if not link.path:
            return f"[{link.text}]({anchor})"
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link.path))
        if (ROOT / target).is_dir() and (ROOT / target / "README.md").exists() and target.startswith("docs"):
            target = f"{target}/README.md"
        place = _place(target)
        if link.path.startswith(notebook.PICTURE):
            return f"![{link.text}]({link.path})"
        if place is None:
            return link.text if target in link.text.replace("`", "") else f"{link.text} (`{target}`)"
        mark = "!" if link.is_image else ""
        return f"{mark}[{link.text}]({posixpath.relpath(place, here or '.')}{anchor})"

    return markdown.relink(text, fitted)


def _file(name: str) -> str:
    return f"{name.replace(' ', '-')}.md"


def _index(commands: dict[str, str]) -> str:
    lines = [f"- [`{name}`]({_file(name)}): {text.split(chr(10) * 2)[1]}" for name, text in commands.items()]
    return "# Commands\n\nEach page is made from the command's own `--help`.\n\n" + "\n".join(lines) + "\n"


def _contents(pages: dict[str, str]) -> list[dict[str, object]]:
    contents: list[dict[str, object]] = [{"Home": "index.md"}, {"By reader": list(READERS)}]
    for folder, title in FOLDERS.items():
        inside = sorted(name for name in pages if posixpath.dirname(name) == folder)
        if inside:
            contents.append({title: sorted(inside, key=lambda name: not name.endswith("index.md"))})
    return contents


def _toml(contents: str) -> str:
    """JSON of lists, strings and tables of one key as TOML."""
    return contents.replace('": ', '" = ')
