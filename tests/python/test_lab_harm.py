"""`handfastd` does no harm: what broke when it was run as an operator and as an attacker would.

Each with a real Open vSwitch.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from conftest import commanded, edited, real
from handfast.lab import controller
from harm_scene import (
    BRIDGE,
    CORRESPONDENT,
    DATAPATH,
    OTHER,
    STATION,
    TCP,
    UDP,
    Daemon,
    How,
    Scene,
    bridge,
    tcp,
    udp,
    until,
)

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]

N = 20


@pytest.fixture
def scene() -> Iterator[Scene]:
    with bridge() as made:
        yield made


def acting(scene: Scene, *, ap1: str = "", ap2: str = "", more: str = "") -> Daemon:
    """A daemon that commands the switch."""
    daemon = scene.daemon(ap1=ap1, ap2=ap2, more=more)
    scene.connect()
    daemon.ready()
    scene.learn()
    return daemon


def test_01_vlan_isolation_holds(scene: Scene) -> None:
    """Access ports: another VLAN's host reaches the station neither while it is there, nor held, nor released."""
    for port, vlan in ((1, 10), (2, 10), (3, 10), (4, 20)):
        scene.port(port, f"tag={vlan}")
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    scene.send(4, *(udp(STATION, n, source=OTHER) for n in range(N)))
    assert scene.came(2) == []
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(4, *(tcp(STATION, 100 * n, source=OTHER) for n in range(N)))
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert len(scene.came(3)) == N, "what its own VLAN sent"
    assert scene.came(2) == []


def test_01_a_clone_in_another_vlan_is_another_station(scene: Scene) -> None:
    """It neither moves the station nor ends it, and gets nothing that is held for it."""
    for port in (1, 2, 3):
        scene.port(port, "trunks=10,20", "vlan_mode=trunk")
    daemon = acting(scene, ap1="vlan = 10", ap2="vlan = 20")
    scene.learn({1: 10, 2: 10})
    daemon.associated("ap1", 1)
    daemon.associated("ap2", 7)
    daemon.disassociated("ap2", 7)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n, vlan=10) for n in range(N)))
    assert [frame.vlan for frame in scene.came(2)] == [10] * N
    daemon.disassociated("ap1", 2)
    daemon.wait("station away", 2)
    scene.send(1, *(tcp(STATION, 5000 + 100 * n, vlan=10) for n in range(N)))
    daemon.associated("ap2", 8)
    daemon.wait("released")
    assert scene.came(3) == [], "held in VLAN 10"
    daemon.associated("ap1", 3)
    daemon.wait("released", 2)
    assert [frame.vlan for frame in scene.came(2)] == [10] * N


def test_02_a_trunk_keeps_its_tags(scene: Scene) -> None:
    """Access points on trunks, the correspondent on an access port."""
    scene.port(1, "tag=10")
    for port in (2, 3):
        scene.port(port, "trunks=10,20", "vlan_mode=trunk")
    daemon = acting(scene, ap1="vlan = 10", ap2="vlan = 10")
    scene.learn({2: 10})
    daemon.associated("ap1", 1)
    scene.send(1, *(udp(STATION, n) for n in range(N)))
    assert [frame.vlan for frame in scene.came(2)] == [10] * N
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert [frame.vlan for frame in scene.came(3)] == [10] * N
    scene.send(1, *(udp(STATION, n) for n in range(N)))
    assert [frame.vlan for frame in scene.came(3)] == [10] * N, "and where it is now"


def test_02_a_native_vlan_stays_untagged(scene: Scene) -> None:
    scene.port(1, "tag=10")
    for port in (2, 3):
        scene.port(port, "tag=10", "trunks=10,20", "vlan_mode=native-untagged")
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert [frame.vlan for frame in scene.came(3)] == [None] * N


def test_02_an_access_list_of_another_controller_holds(scene: Scene) -> None:
    """Entries below ours in the same table, and a second table behind them."""
    acl = "cookie=0x77,table=0,priority=100,ip,nw_src=10.0.0.4,actions=drop"
    daemon = scene.daemon()
    scene.connect()
    for entry in (acl, "cookie=0x77,table=0,priority=10,actions=goto_table:1", "cookie=0x77,table=1,actions=NORMAL"):
        scene.enter(entry)
    daemon.ready()
    scene.learn()
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(4, *(tcp(STATION, 100 * n, source=OTHER) for n in range(N)))
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert {frame.source for frame in scene.came(3)} == {bytes.fromhex("02000a000001")}
    scene.send(4, *(tcp(STATION, 9000 + n, source=OTHER) for n in range(N)))
    assert scene.came(3) == []
    assert len([entry for entry in scene.entries() if "cookie=0x77" in entry]) == 3


def test_a_present_station_has_no_entry_and_one_that_is_away_four(scene: Scene) -> None:
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    assert scene.ours() == []
    daemon.disassociated("ap1", 1)
    time.sleep(2.5)
    assert len(scene.ours()) == 4, "renewed"
    assert all("hard_timeout=2" in entry for entry in scene.ours())
    daemon.process.kill()
    time.sleep(2.6)
    assert scene.ours() == [], "traffic is normal two seconds after any death"


def test_datagrams_that_are_to_be_held_leave_in_order_and_only_those_of_the_last_second(scene: Scene) -> None:
    daemon = acting(scene, more='[not_tcp]\nudp = "hold"')
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, udp(STATION, 999))
    time.sleep(1.2)
    scene.send(1, *(udp(STATION, n) for n in range(N)))
    late = [frame.rest[30:43] for frame in scene.came(2, within_s=0.2)]
    assert late == [b"number %06d" % 999], "what was held for a second goes on as without the daemon"
    daemon.associated("ap2", 2)
    daemon.wait("released")
    scene.send(1, udp(STATION, N))
    assert [frame.rest[30:43] for frame in scene.came(3)] == [b"number %06d" % n for n in range(N + 1)]
    (released,) = daemon.said("released")
    assert (released["datagrams"], released["datagrams_expired"], released["datagrams_evicted"]) == (N, 1, 0)


@pytest.mark.parametrize("closed", [False, True])
def test_03_a_log_that_cannot_be_written_ends_nothing(scene: Scene, closed: bool) -> None:
    """Standard error is a full disk, or its reader has closed it."""
    if closed:
        reader, target = os.pipe()
        os.close(reader)
    else:
        target = os.open("/dev/full", os.O_WRONLY)
    daemon = scene.daemon(how=How(target))
    scene.connect()
    daemon.ready()
    os.close(target)
    for epoch in range(1, 50):
        daemon.associated("ap1", epoch)
        daemon.disassociated("ap1", epoch)
    assert daemon.process.poll() is None
    assert daemon.stop() == 0


def test_04_a_log_that_nobody_reads_stops_nothing(scene: Scene) -> None:
    """Standard error is a FIFO that is full: the switch stays, events are answered, and it ends when it is told to."""
    reader, target = os.pipe()
    daemon = scene.daemon(how=How(target))
    scene.connect()
    daemon.ready()
    for epoch in range(1, 3001):
        daemon.associated("ap1", epoch)
        daemon.disassociated("ap1", epoch)
    status = daemon.status()
    assert status["switches"] == [DATAPATH]
    assert status["log_lines_dropped"] > 0
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 3
    os.close(reader)
    os.close(target)


def test_05_no_number_locks_a_station_out(scene: Scene) -> None:
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.associated("ap2", 2**64 - 1)
    (ignored,) = daemon.said("event ignored")
    assert ignored["why"] == "its epoch lies too far ahead"
    other = bytes.fromhex("02000a000006")
    daemon.associated("ap2", 2**64 - 1, station=other)
    assert len(daemon.said("event ignored")) == 2, "nor of one that is heard of for the first time"
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert len(scene.came(3)) == N
    # What is nevertheless wrong is forgotten on request, and nobody needs to number anything.
    assert daemon.tell(event="forget", station=STATION.hex(":")) == {"ok": True}
    assert daemon.associated("ap1", 1) == {"ok": True, "epoch": 1}
    unnumbered = daemon.tell(event="disassociated", station=STATION.hex(":"), ap="ap1")
    assert unnumbered == {"ok": True, "epoch": 1}
    assert daemon.tell(event="associated", station=STATION.hex(":"), ap="ap2") == {"ok": True, "epoch": 2}


def test_06_an_access_point_at_a_port_that_is_not_there_is_not_helped(scene: Scene) -> None:
    daemon = scene.daemon(ap2="", more=f'[access_points.ap9]\ndatapath_id = "{DATAPATH}"\nport = 9')
    scene.connect()
    daemon.ready()
    scene.learn()
    (said,) = daemon.said("the switch has no such port: its stations are not helped")
    assert (said["ap"], said["port"], said["level"]) == ("ap9", 9, "WARN")
    daemon.associated("ap9", 1)
    daemon.disassociated("ap9", 1)
    daemon.wait("station not helped")
    assert scene.ours() == []
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(80)))
    assert len(scene.came(2)) == 80, "to where the switch has learnt that it is"


def test_07_a_false_alarm_costs_datagrams_nothing_and_segments_little(scene: Scene) -> None:
    """The station is still there, sends a datagram every 100 ms, and answers what it gets."""
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    began, number = time.monotonic(), 0
    held: float | None = None
    while time.monotonic() - began < 3:
        scene.send(1, udp(STATION, number), tcp(STATION, 100 * number))
        number += 1
        frames = scene.came(2, within_s=0.1)
        assert [frame for frame in frames if frame.rest[11] == UDP], f"datagram {number} is lost"
        if held is None and [frame for frame in frames if frame.rest[11] == TCP]:
            held = time.monotonic() - began
        scene.send(2, udp(CORRESPONDENT, number, source=STATION))
    assert held is not None
    assert held < 1, "until it was heard"
    assert daemon.said("station heard: it is not away")
    assert scene.ours() == []


def test_07_nobody_cuts_off_a_gateway(scene: Scene) -> None:
    """One that is configured, and one that has shown what it is by what it sends."""
    gateway = "02:00:0a:00:00:fe"
    daemon = acting(scene, more=f'top.never_hold = ["{gateway}"]')
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, tcp(STATION, 0))
    daemon.associated("ap1", 2)
    daemon.wait("released")
    for address in (gateway, CORRESPONDENT.hex(":")):
        daemon.tell(event="disassociated", station=address, ap="ap1", epoch=1)
    assert {line["why"] for line in daemon.said("event ignored")} == {"never held: a gateway or a server"}
    assert scene.ours() == []


def test_08_ten_thousand_invented_stations_keep_nobody_out(scene: Scene) -> None:
    daemon = acting(scene)
    with daemon.talking() as say:
        for number in range(10_001):
            say(event="associated", station=f"02:aa:00:00:{number >> 8:02x}:{number & 255:02x}", ap="ap1", epoch=1)
        for number in range(2000):
            say(event="disassociated", station=f"02:aa:00:00:{number >> 8:02x}:{number & 255:02x}", ap="ap1", epoch=1)
    assert len(scene.ours()) <= 4 * 1000
    assert daemon.status()["counters"]["unhelped"] >= 999
    assert not [line for line in daemon.said("event ignored") if line["why"] == "too many stations"]
    daemon.associated("ap1", 1)
    assert not [line for line in daemon.said("event ignored") if line["station"] == STATION.hex(":")]
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 2
    time.sleep(max(0.0, 1 - (time.monotonic() - began)))
    assert scene.ours() == [], "all of them are gone a second after it was told to stop"


def test_09_connections_that_never_get_ready_lock_no_switch_out(scene: Scene) -> None:
    daemon = acting(scene)
    hello = bytes([4, 0, 0, 8, 0, 0, 0, 1])
    echo = bytes([4, 2, 0, 8, 0, 0, 0, 2])
    with scene.connections(64) as idle:
        for stream in idle:
            with suppress(OSError):
                stream.sendall(hello)
        scene.configure("del-controller", BRIDGE)
        daemon.wait("switch gone")
        for _ in range(3):
            for stream in idle:
                with suppress(OSError):
                    stream.sendall(echo)
            time.sleep(0.3)
        scene.connect()
        daemon.wait("switch ready", 2)
        time.sleep(5)
        alive = [stream for stream in idle if _lives(stream)]
    assert alive == [], "five seconds to get ready"
    assert daemon.status()["switches"] == [DATAPATH]


def test_10_a_second_connection_of_a_datapath_that_lives_gets_nothing(scene: Scene) -> None:
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    with scene.connections(1) as (impostor,):
        impostor.settimeout(5)
        impostor.sendall(bytes([4, 0, 0, 8, 0, 0, 0, 1]))
        got = _claim(impostor, int(DATAPATH, 16))
        daemon.associated("ap2", 2)
        daemon.wait("released")
        got += _rest(impostor)
    assert 13 not in got, "no packet-out"
    assert 14 not in got, "no flow entry"
    assert len(scene.came(3)) == N
    assert daemon.said("a second connection claims a switch whose first one lives: closed")
    assert len(daemon.said("switch ready")) == 1


def test_11_two_daemons_do_not_undo_one_another(scene: Scene) -> None:
    """The one that began later commands; what the first has made it leaves alone."""
    first = scene.daemon("first")
    first.wait("started")
    second = scene.daemon("second", listen="127.0.0.1:6654")
    scene.connect()
    first.ready()
    scene.learn()
    first.associated("ap1", 1)
    first.disassociated("ap1", 1)
    scene.diverts()
    assert len(scene.ours()) == 4
    scene.configure("set-controller", BRIDGE, "tcp:127.0.0.1:6653", "tcp:127.0.0.1:6654")
    second.ready()
    scene.enter("priority=0,actions=NORMAL")
    first.wait("switch left alone")
    assert first.status()["switches"] == []
    time.sleep(2.5)
    assert scene.ours() == [], "those of the first have ended by themselves"
    second.associated("ap1", 1)
    second.disassociated("ap1", 1)
    scene.diverts()
    assert first.stop() == 0
    assert len(scene.ours()) == 4, "and its end takes none of the second's"


def test_12_a_flood_of_connections_is_a_handful_of_lines(scene: Scene) -> None:
    daemon = acting(scene)
    count = 0
    began = time.monotonic()
    while time.monotonic() - began < 3:
        with scene.connections(20) as flood:
            for stream in flood:
                with suppress(OSError):
                    stream.sendall(b"GET / HTTP/1.1\r\n\r\n")
            count += len(flood)
    assert count > 300
    daemon.wait("lines left out")
    assert len(daemon.lines()) < 60
    assert sum(line["left_out"] for line in daemon.said("lines left out")) > count / 2
    assert daemon.status()["switches"] == [DATAPATH]


def test_13_descriptors_are_set_aside_and_their_limit_is_looked_at(scene: Scene) -> None:
    few = scene.daemon("few", how=How(subprocess.PIPE, lambda: _files(64)))
    _, said = few.process.communicate(timeout=10)
    assert few.process.returncode == 2
    assert b"64 files may be open" in said
    daemon = scene.daemon(how=How(subprocess.DEVNULL, lambda: _files(100)))
    scene.connect()
    daemon.ready()
    with scene.connections(2000, patience_s=0.05):
        assert daemon.status()["switches"] == [DATAPATH]
        daemon.associated("ap1", 1)


def test_14_a_hangup_reads_the_configuration_and_loses_no_hold(scene: Scene) -> None:
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    text = daemon.config.read_text()
    daemon.config.write_text(edited(text, "54Mbit/s", "54Mbps"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait("configuration refused: the old one stays")
    daemon.config.write_text(edited(text, "54Mbit/s", "24Mbit/s"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait("configuration applied")
    assert [line["change"] for line in daemon.said("configuration")] == [
        "- spurious: holds, and releases at 54Mbit/s with bursts of 3kB",
        "+ spurious: holds, and releases at 24Mbit/s with bursts of 3kB",
    ]
    assert daemon.socket.exists()
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert len(scene.came(3)) == N
    daemon.config.write_text(edited(text, 'mode = "act"', 'mode = "observe"'))
    daemon.associated("ap2", 2)
    daemon.disassociated("ap2", 2)
    scene.diverts()
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait("configuration applied", 2)
    time.sleep(0.2)
    assert scene.ours() == [], "who observes has nothing there"


def test_15_a_refused_entry_is_no_help_and_said_so(scene: Scene) -> None:
    daemon = acting(scene)
    scene.configure(
        "--",
        "--id=@t",
        "create",
        "flow_table",
        "flow_limit=3",
        "overflow_policy=refuse",
        "--",
        "set",
        "bridge",
        BRIDGE,
        "flow_tables:0=@t",
    )
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    daemon.wait("station not helped")
    (said,) = daemon.said("station not helped")
    assert said["why"].startswith("the switch refused an entry: error type 5")
    time.sleep(0.1)
    assert scene.ours() == [], "what was made before the refusal is gone too"
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    assert len(scene.came(2)) == N
    assert daemon.status()["counters"]["unhelped"] == 1


def test_15_a_table_that_is_nearly_full_gets_no_entry(scene: Scene) -> None:
    """Open vSwitch would drop an entry of somebody else's for it."""
    limit = ("--id=@t", "create", "flow_table", "flow_limit=200", "overflow_policy=evict")
    scene.configure("--", *limit, "--", "set", "bridge", BRIDGE, "flow_tables:0=@t")
    daemon = acting(scene)
    for n in range(186):
        scene.enter(f"cookie=0x77,priority=7,hard_timeout=900,ip,nw_src=192.0.2.{n},actions=drop")
    until(lambda: daemon.status()["tables"][DATAPATH] == {"entries": 187, "most": 200})
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    daemon.wait("station not helped")
    (said,) = daemon.said("station not helped")
    assert said["why"] == "the switch's table is as good as full"
    assert scene.ours() == []
    assert len([entry for entry in scene.entries() if "cookie=0x77" in entry]) == 186
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    assert len(scene.came(2)) == N


def test_05_after_a_hello_only_its_numbered_events_count(scene: Scene) -> None:
    daemon = acting(scene)
    station = STATION.hex(":")
    old = daemon.tell(event="hello", ap="ap1", stations=[station])["session"]
    session = daemon.tell(event="hello", ap="ap1", stations=[station])["session"]
    gone = {"event": "disassociated", "ap": "ap1", "station": station}
    assert "session is over" in daemon.tell(**gone, session=old, seq=1)["error"]
    assert "only numbered" in daemon.tell(**gone)["error"]
    assert "only numbered" in daemon.tell(**gone, epoch=99)["error"]
    assert "are missing" in daemon.tell(**gone, session=session, seq=2**63)["error"]
    assert scene.ours() == []
    assert daemon.tell(**gone, session=session, seq=1) == {"ok": True}
    scene.diverts()
    assert "was used" in daemon.tell(**gone, session=session, seq=1)["error"]
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    # The agent begins anew: the station is there.
    daemon.tell(event="hello", ap="ap1", stations=[station])
    daemon.wait("released")
    assert len(scene.came(2)) == N
    # And once more, without it.
    daemon.tell(event="hello", ap="ap1", stations=[])
    scene.diverts()


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
    assert daemon.said("event ignored") == []


def _handfastd(*words: str) -> str:
    done = subprocess.run([controller.daemon(), *words], check=True, capture_output=True, text=True, timeout=20)
    return done.stdout


def _files(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _lives(stream: socket.socket) -> bool:
    stream.settimeout(0.01)
    try:
        while data := stream.recv(4096):
            del data
    except TimeoutError:
        return True
    except OSError:
        pass
    return False


def _messages(data: bytes) -> list[tuple[int, bytes]]:
    """OpenFlow messages: type, and from the header's transaction on."""
    found = []
    while len(data) >= 8 and len(data) >= (length := int.from_bytes(data[2:4], "big")):
        found.append((data[1], data[4:length]))
        data = data[length:]
    return found


def _claim(stream: socket.socket, datapath_id: int) -> list[int]:
    """Answer the question for features with somebody else's datapath; the types of what came until then."""
    got: list[int] = []
    while True:
        for kind, rest in _messages(stream.recv(65536)):
            got.append(kind)
            if kind == 5:
                features = datapath_id.to_bytes(8, "big") + bytes([0, 0, 0, 0, 254, 0, 0, 0]) + bytes(8)
                stream.sendall(bytes([4, 6, 0, 32]) + rest[:4] + features)
                return got


def _rest(stream: socket.socket) -> list[int]:
    stream.settimeout(0.5)
    data = b""
    with suppress(OSError):
        while more := stream.recv(65536):
            data += more
    return [kind for kind, _ in _messages(data)]
