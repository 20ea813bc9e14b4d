"""The operator's package: what is in it, installed into a root of its own, and the daemon that comes out of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

BINARY = next((path for kind in ("debug", "release") if (path := ROOT / "target" / kind / "handfastd").exists()), None)
LACKING = [tool for tool in ("dpkg", "dpkg-deb", "readelf", "strip") if shutil.which(tool) is None]

pytestmark = [
    pytest.mark.skipif(bool(LACKING), reason=f"not a Debian: {LACKING} missing"),
    pytest.mark.skipif(BINARY is None, reason="handfastd is not built: make build, or cargo test"),
]

CONFIG = "etc/handfastd/handfastd.toml"
UNITS = (
    "handfastd.service",
    "handfastd-sdtp.service",
    "handfastd-sdtp-controller.service",
    "handfastd-session.service",
)


def run(*words: str | Path) -> str:
    """A command that has to succeed; what it printed."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as `make package` makes it."""
    out = tmp_path_factory.mktemp("package")
    run(ROOT / "tools" / "make-package", out, BINARY or "")
    return next(out.glob("*.deb"))


@pytest.fixture(scope="module")
def installed(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A root into which dpkg has installed it."""
    root = tmp_path_factory.mktemp("root")
    for folder in ("updates", "info"):
        (root / "var" / "lib" / "dpkg" / folder).mkdir(parents=True)
    (root / "var" / "lib" / "dpkg" / "status").touch()
    # The libraries are this system's own; a script that may not change its root runs in this one.
    run("dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--force-script-chrootless", "-i", package)
    assert (root / "run" / "handfastd").is_dir()
    yield root
    run("dpkg", f"--root={root}", "--force-not-root", "--force-script-chrootless", "--purge", "handfastd")
    assert not (root / CONFIG).exists()
    assert not (root / "run" / "handfastd").exists()


def test_it_says_what_it_needs(package: Path) -> None:
    said = run("dpkg-deb", "--info", package)
    assert re.search(r"^ Package: handfastd$", said, re.MULTILINE)
    needed = run("readelf", "--version-info", "--wide", BINARY or "")
    newest = max((tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", needed)), default=None)
    wanted = "" if newest is None else f"libc6 (>= {'.'.join(map(str, newest))})"
    assert wanted in said
    assert run("dpkg-deb", "--info", package, "conffiles") == f"/{CONFIG}\n"


def test_tarball_and_package_hold_the_same_files(package: Path, tmp_path: Path) -> None:
    run("dpkg-deb", "--extract", package, tmp_path)
    with tarfile.open(package.with_suffix(".tar.gz")) as archive:
        names = {"/".join(one.name.split("/")[1:]) for one in archive if one.isfile()}
    assert names == {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {CONFIG, "usr/bin/handfastd", *(f"lib/systemd/system/{unit}" for unit in UNITS)} <= names


def test_the_unit_starts_what_the_package_brings(installed: Path) -> None:
    unit = (installed / "lib" / "systemd" / "system" / "handfastd.service").read_text()
    for line in re.findall(r"^ExecStart(?:Pre)?=(.*)$", unit, re.MULTILINE):
        binary, command, option, config, *_ = line.split()
        assert (command, option) == ("controller", "--config")
        assert (installed / binary.lstrip("/")).is_file()
        assert (installed / config.lstrip("/")).is_file()
    configured = tomllib.loads((installed / CONFIG).read_text())
    (directory,) = re.findall(r"^RuntimeDirectory=(.*)$", unit, re.MULTILINE)
    assert Path(configured["association_socket"]).parent == Path("/run") / directory


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_the_unit_and_finds_it_confined(installed: Path, name: str) -> None:
    unit = installed / "lib" / "systemd" / "system" / name
    words = [shutil.which("systemd-analyze") or "", "verify", "--root", str(installed), unit.name]
    verified = subprocess.run(words, capture_output=True, text=True, check=False)
    assert [line for line in verified.stderr.splitlines() if "handfastd" in line and "not found" not in line] == []
    judged = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
    exposure = float(re.findall(r"Overall exposure level.*?: ([\d.]+)", judged)[0])
    assert exposure < 2.5


def test_it_begins_in_observe_mode_and_ends_when_it_is_told(installed: Path, tmp_path: Path) -> None:
    text = (installed / CONFIG).read_text()
    assert tomllib.loads(text).get("mode", "observe") == "observe"
    socket = tmp_path / "news.sock"
    config = tmp_path / "handfastd.toml"
    # A socket and a port that are free here.
    ours = f'association_socket = "{socket}"\nlisten = "127.0.0.1:0"'
    own, count = re.subn(r'(?m)^association_socket = ".*"$', ours, text)
    assert count == 1
    config.write_text(own)
    daemon = installed / "usr" / "bin" / "handfastd"
    assert run(daemon, "controller", "--config", config, "--check").startswith("observe")
    assert run(daemon, "--version").startswith("handfastd ")
    with subprocess.Popen(
        [daemon, "controller", "--config", config], stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as running:
        assert running.stderr is not None
        begun = running.stderr.readline()
        running.send_signal(signal.SIGTERM)
        rest = running.stderr.read()
        assert running.wait(10) == 0, rest
    said = json.loads(begun)
    assert (said["message"], said["mode"]) == ("started", "observe")
    assert not socket.exists()


def test_scripts_are_shell_that_parses() -> None:
    for script in ("postinst", "prerm", "postrm"):
        run("sh", "-n", ROOT / "packaging" / script)
