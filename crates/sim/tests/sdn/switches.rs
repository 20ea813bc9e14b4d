//! Roams from one switch to another: where what is held goes in.

use handfast_assist::sdn::{AccessPoint, ApId, Config, Fabric, Notice, Policy, Release, Steering, What};
use handfast_core::{BitRate, Bytes, Duration, Instant, SeqNum};
use handfast_net::SwitchSetup;
use handfast_sim::{ControlPlane, Departure};
use handfast_wire::openflow::{EthAddr, PortNo};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Ethernet, Packet};

use crate::world::{STATION, ms};

const SERVER: EthAddr = [2, 0, 10, 0, 0, 1];
const OTHER: EthAddr = [2, 0, 10, 0, 0, 2];
/// Ports of both switches: that of the access point, and the one that leads on.
const AP: PortNo = PortNo(2);
const UP: PortNo = PortNo(9);

/// Two switches, each with an access point.
struct Net {
    plane: ControlPlane,
    now: Instant,
    /// Switch, port and tag of what went on by a switch's own rules.
    went: Vec<(usize, PortNo, u16)>,
}

impl Net {
    /// `ports`: the second switch's besides that of its access point.
    fn new(ports: &[PortNo], uplink: Option<PortNo>) -> Self {
        Self::with_room(ports, uplink, 1 << 16)
    }

    /// `room`: entries that the second switch takes.
    fn with_room(ports: &[PortNo], uplink: Option<PortNo>, room: usize) -> Self {
        let at = |datapath_id, uplink| AccessPoint { datapath_id, port: AP, rate: None, vlan: None, uplink };
        let fabric = Fabric { access_points: vec![at(1, None), at(2, uplink)], ..Fabric::default() };
        let release = Release::Paced { rate: BitRate::from_bps(100_000_000), burst: Bytes(0) };
        let config = Config { steering: Steering::Overlay, ..Config::new(Policy::Spurious, release, fabric) };
        let setups = [
            SwitchSetup::new(1, [PortNo(1), AP, UP]),
            SwitchSetup { max_entries: room, ..SwitchSetup::new(2, ports.iter().copied().chain([AP])) },
        ];
        let plane = ControlPlane::new(Instant::ZERO, config, setups, ms(1));
        let mut this = Self { plane, now: Instant::ZERO, went: Vec::new() };
        this.wait(ms(50));
        this.tell(0, 1, What::Associated);
        this.tell(0, 1, What::Disassociated);
        this
    }

    fn tell(&mut self, ap: u32, epoch: u64, what: What) {
        self.plane.announce(self.now, Notice { station: STATION, ap: ApId(ap), epoch, what });
        self.wait(ms(5));
    }

    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.plane.deadline().filter(|&due| due <= end) {
            self.now = due;
            self.plane.on_timer(due);
        }
        self.now = end;
        self.plane.on_timer(end);
        for (switch, departure) in self.plane.departures() {
            if let Departure::Normal(in_port, packet) = departure {
                self.went.push((switch, in_port, packet.identification));
            }
        }
    }

    fn frame(&mut self, switch: usize, in_port: PortNo, (src, dst): (EthAddr, EthAddr), tag: u16) {
        let addresses = ["10.0.0.1", "10.0.0.5"].map(|address| address.parse().unwrap());
        let segment = Segment { seq: SeqNum(1000 * u32::from(tag)), flags: Flags::ACK, ..Segment::EMPTY };
        let payload = handfast_wire::Payload::Bytes(vec![tag as u8; 1000].into());
        let segment = Segment { src_port: 80, dst_port: u16::from(src[5]), payload, ..segment };
        let ethernet = Some(Ethernet { dst, src, vlan: None });
        let packet =
            Packet { ethernet, identification: tag, ..Packet::tcp(addresses[0], addresses[1], segment) };
        self.plane.on_packet(self.now, switch, in_port, packet);
        self.wait(ms(5));
    }

    /// The station's announcement comes by the first switch.
    fn announced(&mut self, in_port: PortNo) {
        self.frame(0, in_port, (STATION, [0xff; 6]), 999);
        self.went.retain(|&(.., tag)| tag != 999);
    }
}

#[test]
fn what_came_from_where_the_station_is_now_goes_in_there() {
    let mut net = Net::new(&[UP], None);
    net.frame(0, UP, (SERVER, STATION), 1);
    net.frame(0, PortNo(1), (OTHER, STATION), 2);
    net.tell(1, 2, What::Associated);
    assert_eq!(net.went, [], "it is not known yet on which side of the first switch it is");
    net.announced(UP);
    net.wait(ms(20));
    assert_eq!(net.went, [(1, UP, 1), (0, PortNo(1), 2)], "and the rest where it came in");
}

#[test]
fn what_did_not_come_from_there_goes_on_where_it_came_in() {
    let mut net = Net::new(&[UP], None);
    net.frame(0, UP, (SERVER, STATION), 1);
    net.tell(1, 2, What::Associated);
    // The second switch is behind the first one.
    net.announced(PortNo(1));
    net.wait(ms(20));
    assert_eq!(net.went, [(0, UP, 1)]);
}

#[test]
fn old_words_of_the_station_say_nothing_of_where_it_is() {
    let mut net = Net::new(&[UP], None);
    net.frame(0, UP, (SERVER, STATION), 1);
    net.tell(1, 2, What::Associated);
    net.announced(AP);
    assert_eq!(net.went, []);
    net.announced(UP);
    net.wait(ms(20));
    assert_eq!(net.went, [(1, UP, 1)]);
}

#[test]
fn an_announcement_that_never_comes_by_is_waited_for_a_tenth_of_a_second() {
    let mut net = Net::new(&[UP], None);
    net.frame(0, UP, (SERVER, STATION), 1);
    net.tell(1, 2, What::Associated);
    net.wait(ms(80));
    assert_eq!(net.went, []);
    net.wait(ms(30));
    assert_eq!(net.went, [(1, UP, 1)]);
}

#[test]
fn of_several_ports_it_is_the_senders_or_the_configured_one() {
    let ports = [PortNo(7), UP];
    // Nothing says which: it waits until the sender is heard there.
    let mut net = Net::new(&ports, None);
    net.frame(0, UP, (SERVER, STATION), 1);
    net.tell(1, 2, What::Associated);
    net.announced(UP);
    net.wait(ms(600));
    assert_eq!(net.went, []);
    net.frame(1, PortNo(7), (SERVER, STATION), 3);
    net.wait(ms(20));
    assert_eq!(net.went, [(1, PortNo(7), 1), (1, PortNo(7), 3)]);
    // Or not at all: after a second it goes on where it came in, for whatever that is good for.
    let mut net = Net::new(&ports, None);
    net.frame(0, UP, (SERVER, STATION), 1);
    net.tell(1, 2, What::Associated);
    net.announced(UP);
    net.wait(ms(1_010));
    assert_eq!(net.went, [(0, UP, 1)]);
    let mut net = Net::new(&ports, Some(PortNo(7)));
    net.frame(0, UP, (SERVER, STATION), 1);
    net.tell(1, 2, What::Associated);
    net.announced(UP);
    net.wait(ms(20));
    assert_eq!(net.went, [(1, PortNo(7), 1)]);
}

#[test]
fn the_old_switch_listens_until_the_release_is_over() {
    let mut net = Net::new(&[UP], None);
    net.frame(0, UP, (SERVER, STATION), 1);
    let entries = |net: &Net| [0, 1].map(|switch| net.plane.switch(switch).flow_count() - 1);
    assert_eq!(entries(&net), [4, 0]);
    net.tell(1, 2, What::Associated);
    assert_eq!(entries(&net), [4, 3], "the new one does not");
    net.announced(UP);
    net.wait(ms(300));
    assert_eq!(entries(&net), [0, 0]);
}

#[test]
fn a_new_switch_without_room_gets_no_entry_and_what_is_held_goes_on() {
    // One is the operator's, and room for four more is asked for.
    for (room, helped) in [(5, true), (4, false)] {
        let mut net = Net::with_room(&[UP], None, room);
        net.frame(0, PortNo(1), (SERVER, STATION), 1);
        net.tell(1, 2, What::Associated);
        let entries = [0, 1].map(|switch| net.plane.switch(switch).flow_count() - 1);
        assert_eq!(entries, if helped { [4, 3] } else { [0, 0] });
        net.announced(UP);
        net.wait(ms(200));
        assert_eq!(net.went, [(0, PortNo(1), 1)]);
        assert_eq!(net.plane.controller().counters().unhelped, u64::from(!helped));
    }
}
