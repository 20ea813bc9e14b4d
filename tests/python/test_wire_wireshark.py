"""The dissectors of packaging/wireshark show the packets that Rust writes, in tshark."""

import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import rust_example

SCRIPTS = rust_example.REPOSITORY / "packaging" / "wireshark"
SLICE = 772

# The packets of crates/wire/examples/sdtp_capture.rs: each message natively, in IP and in UDP.
CARRIAGES = 3
DATA, WHOLE, REQUEST, OPEN_REQUEST, REPEAT, LATER, NEVER, NOTIFICATION, PARITY, CONGESTION = range(10)
MESSAGES = 10
CORRUPTED = CARRIAGES * MESSAGES
FRAMES = CORRUPTED + 4

COMMON = {
    "sdtp.data_offset": "11",
    "sdtp.checksum.status": "1",
    "sdtp.ecn": "2",
    "sdtp.reserved": "0x0000",
    "sdtp.src_edge": "192.0.2.1",
    "sdtp.dst_edge": "192.0.2.2",
    "sdtp.connection": "258",
    "sdtp.slice": str(SLICE),
    "sdtp.sequence": "3000000000",
}
HOST = {
    "sdtp.tcp.ack": "77",
    "sdtp.tcp.hdr_len": "32",
    "sdtp.tcp.flags": "0x0610",
    "sdtp.tcp.flags.eln": "1",
    "sdtp.tcp.flags.eln_loss": "1",
    "sdtp.tcp.window": "501",
    "sdtp.tcp.checksum": "0x0000",
    "sdtp.since_start": "1460",
    "sdtp.hop_limit": "63",
    "sdtp.traffic_class": "0xb8",
    "sdtp.identification": "0x0000",
    "sdtp.dont_fragment": "0",
    "sdtp.host": "5",
    "sdtp.flow_label": "0x00054321",
    "sdtp.tcp.options": "0101080a0000000100000002",
    "sdtp.payload": "6869",
}
EXPECTED = {"sdtp.start_seq": "1000", "sdtp.end_seq": "2460", "sdtp.start_num": "3", "sdtp.end_known": "1"}
SEAL = {
    "sdtp.sealed": "1",
    "sdtp.seal.node": "9",
    "sdtp.seal.counter": str(1 << 40),
    "sdtp.seal.tag": "ab" * 16,
}
TIMESTAMP = {"sdtp.timestamp": "4000000000"}
ROWS = {
    DATA: {"sdtp.type": "0", "sdtp.protocol": "6", "sdtp.length": "58", "sdtp.ipv6": "1", "sdtp.sealed": "0", **HOST},
    WHOLE: {"sdtp.type": "0", "sdtp.protocol": "4", "sdtp.length": "77", "sdtp.since_start": "9", "sdtp.payload": ""},
    REQUEST: {"sdtp.type": "1", "sdtp.protocol": "253", "sdtp.trigger": "2", **EXPECTED, **SEAL, **TIMESTAMP},
    OPEN_REQUEST: {"sdtp.type": "1", "sdtp.trigger": "1", "sdtp.end_known": "0", "sdtp.end_seq": "", **SEAL},
    REPEAT: {
        "sdtp.type": "2",
        "sdtp.protocol": "6",
        "sdtp.length": "106",
        "sdtp.start_num": "3",
        **TIMESTAMP,
        **HOST,
        **SEAL,
    },
    LATER: {"sdtp.type": "3", "sdtp.trigger": "0", "sdtp.add_l": "5", "sdtp.never": "0", **EXPECTED, **SEAL},
    NEVER: {"sdtp.type": "3", "sdtp.add_l": "", "sdtp.never": "1", **EXPECTED, **SEAL},
    PARITY: {
        "sdtp.type": "5",
        "sdtp.protocol": "6",
        "sdtp.ipv6": "1",
        "sdtp.trigger": "1",
        "sdtp.start_seq": "1000",
        "sdtp.end_seq": "2460",
        "sdtp.parity.count": "2",
        "sdtp.parity.lengths": "0x0020",
        "sdtp.parity.check": "0x0000abcd",
        "sdtp.parity.sum": "73756d",
        **TIMESTAMP,
        **SEAL,
    },
    NOTIFICATION: {"sdtp.type": "4", "sdtp.length": "72", "sdtp.trigger": "", "sdtp.until": "5000", **SEAL},
    CONGESTION: {
        "sdtp.type": "6",
        "sdtp.length": "72",
        "sdtp.trigger": "",
        "sdtp.congested": "6000",
        "sdtp.held": "2400",
        **SEAL,
    },
}


def tshark(capture: Path, *arguments: str) -> str:
    """What tshark with our dissectors prints of a capture."""
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("tshark is not installed: apt install tshark")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if " with Lua" not in " ".join(version.split()):
        pytest.skip("this tshark is built without Lua")
    scripts = [f"-Xlua_script:{SCRIPTS / name}" for name in ("sdtp.lua", "eln.lua")]
    command = [program, *scripts, "-r", str(capture), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


def table(capture: Path, fields: list[str], *arguments: str) -> list[dict[str, str]]:
    """The fields of each frame; empty where it has none."""
    wanted = [argument for field in fields for argument in ("-e", field)]
    lines = tshark(capture, *arguments, "-T", "fields", *wanted).splitlines()
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in lines]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("capture") / "sdtp.pcapng"
    path.write_bytes(rust_example.run("sdtp_capture"))
    return path


@pytest.mark.parametrize(
    "known", [f"-osdtp.ports:{SLICE}", f"-dudp.port=={SLICE},sdtp"], ids=["preference", "decode-as"]
)
def test_fields_of_each_message_in_each_carriage(capture: Path, known: str) -> None:
    fields = sorted({*COMMON, *(field for row in ROWS.values() for field in row)})
    rows = table(capture, fields, known)
    assert len(rows) == FRAMES
    for message, expected in ROWS.items():
        for row in rows[CARRIAGES * message : CARRIAGES * (message + 1)]:
            wanted = COMMON | expected
            assert {field: row[field] for field in wanted} == wanted, message
    assert not any(row["sdtp.type"] for row in rows[CORRUPTED + 1 :])


def test_a_whole_packet_is_dissected(capture: Path) -> None:
    fields = ["ip.src", "udp.dstport", "data.data"]
    rows = table(capture, fields, f"-osdtp.ports:{SLICE}")
    native, ip, udp = rows[CARRIAGES * WHOLE : CARRIAGES * (WHOLE + 1)]
    assert native == {"ip.src": "10.0.0.1", "udp.dstport": "6000", "data.data": b"whole".hex()}
    assert ip["ip.src"] == "192.0.2.1,10.0.0.1"
    assert udp["udp.dstport"] == f"{SLICE},6000"


def test_a_wrong_checksum_is_marked(capture: Path) -> None:
    rows = table(capture, ["sdtp.checksum.status", "_ws.expert.message"])
    assert rows[CORRUPTED] == {"sdtp.checksum.status": "0", "_ws.expert.message": "Bad checksum"}


def test_a_slice_in_udp_must_be_named(capture: Path) -> None:
    rows = table(capture, ["sdtp.type"])
    found = [bool(row["sdtp.type"]) for row in rows[:CORRUPTED]]
    assert found == [True, True, False] * MESSAGES


def test_acknowledgements_show_the_bits_of_eln(capture: Path) -> None:
    rows = table(capture, ["eln.flag", "eln.loss", "_ws.col.Info"])
    plain, loss, handoff = rows[-3:]
    assert (plain["eln.flag"], plain["eln.loss"]) == ("", "")
    assert (loss["eln.flag"], loss["eln.loss"]) == ("1", "1")
    assert (handoff["eln.flag"], handoff["eln.loss"]) == ("1", "0")
    assert loss["_ws.col.Info"].endswith("[ELN: loss]")
    assert handoff["_ws.col.Info"].endswith("[ELN: handoff]")


def test_the_column_says_what_it_is(capture: Path) -> None:
    rows = table(capture, ["_ws.col.Protocol", "_ws.col.Info"])
    native = [row["_ws.col.Info"] for row in rows[:CORRUPTED:CARRIAGES]]
    assert native[DATA] == "Data 258 in slice 772 Seq=3000000000 Len=2"
    assert native[REQUEST] == "RR 258 in slice 772 Seq=3000000000 StartSeq=1000 EndSeq=2460"
    assert native[LATER].endswith("EndSeq=2460 AddL=5")
    assert native[NEVER].endswith("EndSeq=2460 Never")
    assert native[NOTIFICATION].endswith("Until=5000")
    assert {row["_ws.col.Protocol"] for row in rows[CARRIAGES * REQUEST : CORRUPTED : CARRIAGES]} == {"SDTP"}


def frames_of(capture: Path, folder: Path) -> list[bytes]:
    """The frames of a capture, read by tshark's own converter."""
    tshark(capture, "-F", "pcap", "-w", str(folder / "all.pcap"))
    data, at, frames = (folder / "all.pcap").read_bytes(), 24, []
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        frames.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return frames


def write_pcap(path: Path, frames: list[tuple[bytes, int]]) -> None:
    """A capture of Ethernet frames: what is kept of each, and its length on the wire."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    records = (struct.pack("<IIII", 0, 0, len(kept), length) + kept for kept, length in frames)
    path.write_bytes(head + b"".join(records))


def test_damaged_and_cut_packets_are_survived(capture: Path, tmp_path: Path) -> None:
    draw, frames = random.Random(1), []
    for original in frames_of(capture, tmp_path)[:CORRUPTED] * 30:
        damaged = bytearray(original)
        for _ in range(draw.randrange(4)):
            damaged[draw.randrange(14, len(damaged))] = draw.randrange(256)
        kept = damaged[: draw.choice([len(damaged), draw.randrange(14, len(damaged))])]
        frames.append((bytes(kept), draw.choice([len(kept), len(damaged)])))
    write_pcap(tmp_path / "damaged.pcap", frames)
    text = tshark(tmp_path / "damaged.pcap", f"-osdtp.ports:{SLICE}", "-V")
    assert text.count("\nFrame ") + 1 >= len(frames)
    assert "Lua Error" not in text
