"""The tutorial's notebook prints what it says it prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode, reads

from conftest import ROOT

NOTEBOOK = ROOT / "docs" / "tutorials" / "from-scenario-to-figure.ipynb"


def said(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """What the cells printed and showed; of pictures that they are there: fonts differ between machines."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error", output
            data = output.get("data", {})
            picture = "a picture" if "image/png" in data else ""
            text = data.get("text/html") or data.get("text/plain") or output.get("text")
            yield cell.source, picture or "".join(text)


# The kernel's own libraries warn, of sockets and of each other.
@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs_and_prints_what_is_committed(tmp_path: Path) -> None:
    committed, run = (reads(NOTEBOOK.read_text(), 4) for _ in range(2))  # type: ignore[no-untyped-call]
    for cell in run.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(run, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert list(said(run)) == list(said(committed))
    assert sum(text == "a picture" for _, text in said(run)) == 3
    assert (tmp_path / "cwnd.pdf").is_file()


def test_it_is_small() -> None:
    assert NOTEBOOK.stat().st_size < 300_000
