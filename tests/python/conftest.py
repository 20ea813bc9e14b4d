"""What the tests share: the shipped scenario, made short, and the command line in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

import several_flows
from handfast import lab, results
from handfast.cli import app
from handfast.lab import controller, names, openvswitch

if TYPE_CHECKING:
    from harm_scene import Scene

ROOT = Path(__file__).parents[2]
OUTAGE = ROOT / "scenarios" / "wifi-outage.toml"
ROAM = ROOT / "scenarios" / "wifi-roam.toml"
SCHEMES = ["tahoe", "reno", "newreno", "sack", "cubic"]

Command = Callable[..., Result]

LACKING = lab.missing()
NO_SWITCH = [lacks for lacks in (openvswitch.missing(), controller.missing()) if lacks]

real = pytest.mark.lab
"""For tests on this machine's kernel. They wait for real time, and CI runs them beside the others."""
commanded = pytest.mark.switch
"""For tests with Open vSwitch and handfastd."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine lacks the means for, and say what it lacks."""
    lacking = {
        "lab": f"the lab cannot run here: {[need.name for need in LACKING]}" if LACKING else None,
        "switch": f"no switch to command: {'; '.join(NO_SWITCH)}" if NO_SWITCH else None,
    }
    for item in items:
        for mark, reason in lacking.items():
            if reason is not None and item.get_closest_marker(mark) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def mine() -> list[str]:
    """Namespaces that this process and its children made."""
    return [space.name for space in names.existing() if space.pid == os.getpid()]


def orphans() -> set[names.Namespace]:
    """Namespaces, or their files, of processes that are gone: a killed run of another day may have left some."""
    return {space for space in names.existing() if space.is_orphan}


def skip_if_late(result: results.Result) -> None:
    """Of a run in which the lab itself was late, figures with a time in them say nothing."""
    if late := [problem for problem in result.problems if "late" in problem]:
        pytest.skip(f"this machine was too busy: {late}")


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    """Neither namespaces of this process nor files of what ran in them, and no orphan that was not there before."""
    before = orphans()
    yield
    assert mine() == []
    assert orphans() - before == set()


@pytest.fixture
def scene() -> Iterator[Scene]:
    """A switch whose ports the test holds, without a daemon."""
    # Its libraries are needed where there is a switch only.
    from harm_scene import bridge

    with bridge() as made:
        yield made


@pytest.fixture
def handfast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command line in a directory of its own and returns exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def invoke(*arguments: str | Path) -> Result:
        return runner.invoke(app, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `compare` leaves of the shipped scenario; tests copy it before they change anything."""
    out = tmp_path_factory.mktemp("compared") / "made"
    assert CliRunner().invoke(app, ["compare", str(OUTAGE), "--out", str(out)]).exit_code == 0
    return out


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of a scenario with flows of several kinds, over three seeds."""
    place = tmp_path_factory.mktemp("several")
    (place / "several.toml").write_text(several_flows.SCENARIO)
    command = ["compare", str(place / "several.toml"), "--seeds", "1..3", "--out", str(place / "made")]
    assert CliRunner().invoke(app, command).exit_code == 0
    return place / "made"


def edited(text: str, old: str, new: str) -> str:
    """The text with `new` for each `old`, where a scenario's overrides cannot say it; `old` has to be there."""
    assert old in text, f"the text lacks {old!r}"
    return text.replace(old, new)


def files(directory: Path) -> dict[str, bytes]:
    """Every file below `directory`, by its path there."""
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}
