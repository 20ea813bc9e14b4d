"""Captures that Rust writes open in other people's tools."""

import shutil
import subprocess
from pathlib import Path

import pytest

import rust_example

pytest.importorskip("scapy", reason="scapy is not installed: pip install -e .[dev]")

from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import rdpcap

# The frames of crates/wire/examples/capture.rs: four packets, each on a radio and on Ethernet.
WHOLE_LENGTHS = [60, 78, 385, 403, 84, 102, 405, 423]
SNAP_LENGTH = 96


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("capture") / "capture.pcapng"
    path.write_bytes(rust_example.run("capture"))
    return path


def test_scapy_reads_it(capture: Path) -> None:
    frames = rdpcap(str(capture))
    assert [type(frame) for frame in frames] == [IP, Ether, IP, Ether, IPv6, Ether, IPv6, Ether]
    assert [frame.wirelen for frame in frames] == WHOLE_LENGTHS
    kept = [len(frame.original) for frame in frames]
    assert kept == [length if n % 2 == 0 else min(length, SNAP_LENGTH) for n, length in enumerate(WHOLE_LENGTHS)]
    assert [int(frame.time * 1_000_000_000) for frame in frames[::2]] == [n * 1_500_000_001 for n in range(4)]
    assert frames[3][Dot1Q].vlan == 42
    assert [option for option, _ in frames[0][TCP].options] == ["MSS", "SAckOK", "Timestamp", "NOP", "WScale"]


def test_wireshark_reads_it(capture: Path) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed")
    fields = ["frame.interface_name", "frame.time_epoch", "frame.len", "tcp.checksum.status"]
    command = [tshark, "-r", str(capture), "-o", "tcp.check_checksum:TRUE", "-T", "fields"]
    command += [argument for field in fields for argument in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["mn-wlan0", "s1-eth1"] * 4
    assert [int(row[2]) for row in rows] == WHOLE_LENGTHS
    assert [row[1] for row in rows[::2]] == ["0.000000000", "1.500000001", "3.000000002", "4.500000003"]
    # 1 is right, 0 is wrong: the last packet is marked as corrupted.
    assert [row[3] for row in rows[::2]] == ["1", "1", "1", "0"]
