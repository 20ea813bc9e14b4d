"""Channels between switches, nodes and controllers that are authenticated, between real programs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import certificates
from conftest import commanded, real
from handfast.lab import controller
from harm_scene import LISTEN, Scene
from sdtp_scene import Core, run

pytestmark = [
    real,
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A folder with an authority."""
    certificates.authority(tmp_path)
    return tmp_path


@commanded
def test_open_vswitch_connects_by_tls(scene: Scene, network: Path) -> None:
    for name in ("controller", "switch"):
        certificates.certificate(network, name)
    daemon = scene.daemon(more=f"top.tls = {certificates.table(network, 'controller')}")
    scene.connect(f"tcp:{LISTEN}")
    (refused,) = daemon.wait("connection lost")
    assert "TLS: " in refused["why"], "plain TCP hears nothing"
    scene.configure("set-ssl", *(str(network / name) for name in ("switch.key", "switch.pem", certificates.AUTHORITY)))
    scene.connect(f"ssl:{LISTEN}")
    daemon.ready()


@commanded
def test_a_switch_of_another_network_hears_nothing(scene: Scene, network: Path) -> None:
    other = network / "other"
    other.mkdir()
    certificates.authority(other)
    certificates.certificate(network, "controller")
    certificates.certificate(other, "switch")
    # The stranger believes the controller; the controller does not believe the stranger.
    daemon = scene.daemon(more=f"top.tls = {certificates.table(network, 'controller')}")
    believed = network / certificates.AUTHORITY
    scene.configure("set-ssl", str(other / "switch.key"), str(other / "switch.pem"), str(believed))
    scene.connect(f"ssl:{LISTEN}")
    (refused, *_) = daemon.wait("connection lost")
    assert "TLS: invalid peer certificate" in refused["why"]


def test_nodes_of_sdtp_prove_who_they_are(network: Path) -> None:
    ran = run(changes={"duration": "2s"}, core=Core(certificates=network))
    assert ran.controller["controller_admitted"] == 1
    assert ran.total("converted") > 30
