"""What an operator does while it runs: a new configuration, off and on, a check.

With a real Open vSwitch.
"""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from conftest import commanded, edited, real
from handfast.lab import controller
from harm_scene import BURST, STATION, Scene, acting, tcp

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]


def test_14_a_hangup_reads_the_configuration_and_loses_no_hold(scene: Scene) -> None:
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    text = daemon.config.read_text()
    daemon.config.write_text(edited(text, "54Mbit/s", "54Mbps"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait("configuration refused: the old one stays")
    daemon.config.write_text(edited(text, "54Mbit/s", "24Mbit/s"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait("configuration applied")
    assert [line["change"] for line in daemon.wait("configuration", 2)] == [
        "- spurious: holds, and releases at 54Mbit/s with bursts of 3kB",
        "+ spurious: holds, and releases at 24Mbit/s with bursts of 3kB",
    ]
    assert daemon.socket.exists()
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert len(scene.came(3)) == BURST
    daemon.config.write_text(edited(text, 'mode = "act"', 'mode = "observe"'))
    daemon.associated("ap2", 2)
    daemon.disassociated("ap2", 2)
    scene.diverts()
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait("configuration applied", 2)
    time.sleep(0.2)
    assert scene.ours() == [], "who observes has nothing there"


def test_off_takes_all_entries_out_and_stays_off(scene: Scene) -> None:
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    began = time.monotonic()
    assert "its flow entries are gone" in _handfastd("off", "--config", str(daemon.config))
    while scene.ours():
        assert time.monotonic() - began < 1
    assert daemon.stop() == 0
    again = scene.start(daemon.config, daemon.log, daemon.socket)
    again.ready()
    assert again.status()["mode"] == "observe"
    again.disassociated("ap1", 1)
    time.sleep(0.2)
    assert scene.ours() == []
    assert 'mode = "act"' in _handfastd("on", "--config", str(daemon.config))
    daemon.wait("switch ready", 3)
    assert again.status()["mode"] == "act"


def test_check_says_what_a_hangup_would_change(scene: Scene) -> None:
    daemon = acting(scene)
    check = ("controller", "--config", str(daemon.config), "--check")
    assert "a controller runs with this configuration" in _handfastd(*check)
    text = daemon.config.read_text()
    daemon.config.write_text(edited(text, 'mode = "act"', 'hold_expiry = "5s"\nmode = "act"'))
    said = _handfastd(*check).splitlines()
    (gone,) = [line for line in said if line.startswith("- ")]
    (come,) = [line for line in said if line.startswith("+ ")]
    assert gone.endswith("for at most 10s")
    assert come.endswith("for at most 5s")
    daemon.associated("ap1", 7)
    assert _handfastd("forget", "--config", str(daemon.config), STATION.hex(":")) == ""
    daemon.associated("ap1", 1)
    daemon.wait("station associated", 2)
    assert daemon.said("event ignored") == []


def _handfastd(*words: str) -> str:
    done = subprocess.run([controller.daemon(), *words], check=True, capture_output=True, text=True, timeout=20)
    return done.stdout
