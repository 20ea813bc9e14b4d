"""packetdrill's scripts: what decides that one is not run, and one of ours against the tool if it is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from packetdrill import features, getting, namespaces, verdicts

COMMAND = [sys.executable, str(ROOT / "tools" / "packetdrill")]
LIBRARY = ROOT / "target" / "debug" / "libhandfast_packetdrill.so"
TOOL = shutil.which(os.environ.get("PACKETDRILL", "packetdrill"))


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3", []),
        ("// unlike epoll_wait(4, ...), this does not\n+0 poll([...], 1, 0) = 0", []),
        ("+0 sendto(3, ..., 500, MSG_FASTOPEN, ..., ...) = -1", ["fast open"]),
        ("+0 sendmsg(4, {...}, MSG_ZEROCOPY) = 60", []),
        ("+0 epoll_create(1) = 5\n+0 pipe([6, 7]) = 0", ["epoll"]),
        ("/* tcp_md5 */ +0 > S. 0:0(0) ack 1 <md5 0,mss 1460>", ["MD5 and authentication"]),
        ("`sysctl -q net.ipv4.tcp_ecn=3`\n+0 > .5 1:1(0) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>", []),
    ],
)
def test_what_a_script_needs_shows_in_its_text(text: str, missing: list[str]) -> None:
    assert features.missing(text) == missing


def test_the_end_of_a_name_says_for_which_version_of_ip_it_is() -> None:
    assert [version for version in namespaces.VERSIONS if namespaces.fits(Path("a-v6.pkt"), version)] == ["ipv6"]
    both = [version for version in namespaces.VERSIONS if namespaces.fits(Path("a-v4.pkt"), version)]
    assert both == ["ipv4", "ipv4-mapped-ipv6"]


def test_the_stack_is_told_what_the_tool_keeps_to_itself(tmp_path: Path) -> None:
    joined, plain = tmp_path / "a.pkt", tmp_path / "b.pkt"
    joined.write_text("// joined\n--mss=1000\n0 `true`\n")
    plain.write_text("0 `echo --mss=1000`\n")

    def flags(script: Path, version: str) -> list[str]:
        shell = namespaces.command(Path("tool"), Path("stack"), script, version)[-1]
        return [word for word in shell.split() if word.startswith("--so_flags")]

    assert flags(joined, "ipv6") == ["--so_flags=mtu=1520,mss=1000"]
    assert flags(joined, "ipv4") == ["--so_flags=mss=1000"]
    assert flags(plain, "ipv4") == []


def test_what_the_kernel_refuses_is_set_in_a_copy() -> None:
    shell = namespaces.command(Path("tool"), Path("stack"), Path(__file__), "ipv4")[-1]
    for name in ["tcp_congestion_control", "tcp_ecn", "tcp_ecn_option"]:
        assert f"mount --bind $t /proc/sys/net/ipv4/{name};" in shell


def test_what_the_tool_said_is_a_line() -> None:
    said = ["warning", "a.pkt:3: error handling packet: x", "script packet:  0.1 .", "actual packet:  0.2 ."]
    assert verdicts.shortened(said, "a.pkt") == " | ".join(said[1:])
    refused = ["handfast: `tc qdisc`: why", "a.pkt: error executing init command: non-zero status 1"]
    assert verdicts.shortened(["warning", *refused], "a.pkt") == " | ".join(refused)
    assert verdicts.shortened(["something else"], "a.pkt") == "something else"
    assert verdicts.shortened([], "a.pkt") == ""


def test_a_missing_tool_says_how_to_get_it(tmp_path: Path) -> None:
    run = subprocess.run(
        [*COMMAND, str(tmp_path), "--tool", str(tmp_path / "no")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "git clone" in run.stderr


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A repository laid out as packetdrill's, whose tool is a file."""
    work = tmp_path / "source" / getting.BELOW
    work.mkdir(parents=True)
    (work / "configure").write_text("#!/bin/sh\necho configured\n")
    (work / "configure").chmod(0o755)
    (work / "Makefile").write_text("packetdrill:\n\techo built > packetdrill\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "-m", "all"]):
        subprocess.run(["/usr/bin/env", "git", *command], cwd=tmp_path / "source", check=True)
    return tmp_path / "source"


@pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("git", "make", "gcc", "bison", "flex")),
    reason="no compiler of the tool",
)
def test_the_tool_is_cloned_and_built_once(source: Path, tmp_path: Path) -> None:
    tool = getting.get(tmp_path / "tool", str(source), "HEAD")
    assert tool.read_text() == "built\n"
    shutil.rmtree(source)
    assert getting.get(tmp_path / "tool", str(source), "HEAD") == tool
    with pytest.raises(getting.Failed, match="git clone"):
        getting.get(tmp_path / "other", str(source))


@pytest.mark.lab
@pytest.mark.skipif(TOOL is None or not LIBRARY.exists(), reason="packetdrill is not here: make packetdrill says more")
@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
def test_our_scripts_pass() -> None:
    run = subprocess.run(
        [*COMMAND, str(ROOT / "tests" / "packetdrill"), "--tool", str(TOOL), "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    found = json.loads(run.stdout)
    assert found["summary"]["pass"] >= 1, run.stdout
    assert run.returncode == 0, run.stdout
