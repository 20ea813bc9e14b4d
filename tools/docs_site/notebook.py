"""A notebook as a page of the site: its text, its code, and what the code printed when it was run."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PICTURE = "notebook-"
"""How the names of pictures begin."""


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """The Markdown, and the pictures that it shows, by file name."""
    pictures: dict[str, bytes] = {}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell, path.stem, pictures)) + "\n", pictures


def _cell(cell: Mapping[str, Any], stem: str, pictures: dict[str, bytes]) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] != "code":
        yield text
        return
    yield f"```python\n{text}\n```"
    for output in cell["outputs"]:
        yield _output(output, stem, pictures)


def _output(output: Mapping[str, Any], stem: str, pictures: dict[str, bytes]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        name = f"{PICTURE}{stem}-{len(pictures) + 1}.png"
        pictures[name] = b64decode("".join(data["image/png"]))
        return f"![{''.join(data['text/plain']).strip('<>')}]({name})"
    if "text/html" in data:
        # A heading of the page's own kind would be one of its sections.
        return "".join(data["text/html"]).replace("<h2>", "<p><b>").replace("</h2>", "</b></p>")
    return f"```text\n{''.join(data.get('text/plain', output.get('text', ''))).rstrip()}\n```"
