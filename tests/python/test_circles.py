"""tools/check-circles: it finds import circles between sibling modules."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check-circles"
EXCEPTION = ("net", "link", "queue")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The tool, as a module."""
    loader = SourceFileLoader("check_circles", str(TOOL))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def crate(folder: Path, files: dict[str, str]) -> Path:
    """A crate of these files."""
    for name, text in files.items():
        path = folder / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    "back", ["use crate::link::Link;", "use super::link::Link;", "use crate::{Other, link::Link};"]
)
def test_a_circle_is_found(tool: ModuleType, tmp_path: Path, back: str) -> None:
    """However an import is written."""
    files = {"lib.rs": "mod link; mod queue;", "link.rs": "use crate::queue::Queue;", "queue/mod.rs": "mod red;"}
    assert tool.circles(crate(tmp_path, {**files, "queue/red.rs": "use super::Queue;"})) == []
    inner = back.replace("super::", "super::super::")
    assert tool.circles(crate(tmp_path, {**files, "queue/red.rs": inner})) == [("link", "queue")]


def test_comments_and_tests_do_not_count(tool: ModuleType, tmp_path: Path) -> None:
    """They bind nobody."""
    queue = "// use crate::link::Link;\n\n#[cfg(test)]\nmod tests {\n    use crate::link::Link;\n}\n"
    assert tool.circles(crate(tmp_path, {"link.rs": "use crate::queue::Queue;", "queue.rs": queue})) == []


def test_exceptions_are_few_and_needed(tool: ModuleType) -> None:
    """A circle needs an exception, and an exception a circle."""
    assert tool.judge([EXCEPTION], {EXCEPTION: "a reason"}) == []
    assert tool.judge([EXCEPTION], {}) == ["net: link and queue need each other"]
    assert tool.judge([], {EXCEPTION: "a reason"}) == ["net: link and queue: no circle any more"]
    many = [("net", "link", name) for name in ("a", "b", "c")]
    assert tool.judge(many, dict.fromkeys(many, "a reason")) == ["3 exceptions, 2 at most"]
