//! Route establishment on exactly the switches of the path ([sdn] §3.4): the paper's network, two correspondents.

use std::collections::BTreeMap;

use handfast_assist::sdn::{AccessPoint, ApId, Config, Fabric, Notice, Policy, What};
use handfast_core::{Duration, Instant, SeqNum};
use handfast_net::SwitchSetup;
use handfast_sim::{ControlPlane, Departure};
use handfast_wire::openflow::{EthAddr, PortNo};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Ethernet, Packet, Payload};

use crate::world::{STATION, ms, paced};

/// Switches s1, s2, s3 at the access points, s4 and s5 at the correspondents.
const SWITCHES: [u64; 5] = [1, 2, 3, 4, 5];
/// At an access point's switch: its port; the others lead to s4 and s5. At those: to their host, s1, s2, s3.
const AIR: PortNo = PortNo(3);

fn host(number: u8) -> EthAddr {
    [2, 0, 0, 0, 9, number]
}

fn fabric() -> Fabric {
    let access_points = [1, 2, 3]
        .map(|datapath_id| AccessPoint { datapath_id, port: AIR, rate: None, vlan: None, uplink: None })
        .to_vec();
    let (mut routes, mut next) = (BTreeMap::new(), BTreeMap::new());
    for ap in 0..3 {
        for edge in [4, 5] {
            routes.insert((edge, ApId(ap)), PortNo(ap + 2));
            next.insert((edge, ApId(ap)), u64::from(ap) + 1);
        }
        for switch in [1, 2, 3].into_iter().filter(|&switch| switch != u64::from(ap) + 1) {
            routes.insert((switch, ApId(ap)), PortNo(1));
            next.insert((switch, ApId(ap)), 4);
        }
    }
    Fabric { access_points, routes, next, hosts: BTreeMap::from([(host(1), 4), (host(2), 5)]) }
}

struct Net {
    plane: ControlPlane,
    now: Instant,
}

impl Net {
    fn new(fabric: Fabric, policy: Policy) -> Self {
        let setups = SWITCHES.map(|id| SwitchSetup::new(id, (1..5).map(PortNo)));
        let plane = ControlPlane::new(Instant::ZERO, Config::new(policy, paced(), fabric), setups, ms(1));
        let mut this = Self { plane, now: Instant::ZERO };
        this.wait(ms(20));
        this
    }

    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.plane.deadline().filter(|&due| due <= end) {
            self.now = due;
            self.plane.on_timer(due);
        }
        self.now = end;
    }

    fn tell(&mut self, ap: u32, epoch: u64, what: What) {
        self.plane.announce(self.now, Notice { station: STATION, ap: ApId(ap), epoch, what });
        self.wait(ms(20));
    }

    /// A segment from a host arrives at a switch, and goes on as far as the switches' entries say.
    fn segment(&mut self, from: u8, at: u64, flags: Flags, seq: u32) {
        let [src, dst] = [format!("10.0.0.{from}"), "10.0.0.9".to_owned()].map(|text| text.parse().unwrap());
        let payload = if flags.contains(Flags::SYN) { Vec::new() } else { vec![0; 100] };
        let segment = Segment {
            src_port: 80,
            dst_port: 4000,
            seq: SeqNum(seq),
            flags,
            payload: Payload::Bytes(payload.into()),
            ..Segment::EMPTY
        };
        let ethernet = Some(Ethernet { dst: STATION, src: host(from), vlan: None });
        let packet = Packet { ethernet, body: Body::Tcp(segment), ..Packet::tcp(src, dst, Segment::EMPTY) };
        let index = SWITCHES.iter().position(|&id| id == at).unwrap();
        self.plane.on_packet(self.now, index, PortNo(1), packet);
        self.wait(ms(20));
    }

    /// The switches that have entries of the controller's.
    fn installed(&self) -> Vec<u64> {
        // Each has one of its own: as without the controller.
        (0..5)
            .filter(|&index| self.plane.switch(index).flow_count() > 1)
            .map(|index| SWITCHES[index])
            .collect()
    }

    fn left(&mut self) -> Vec<(u64, PortNo)> {
        let by = |(switch, departure): (usize, Departure)| match departure {
            Departure::By(port, _) => Some((SWITCHES[switch], port)),
            _ => None,
        };
        self.plane.departures().filter_map(by).collect()
    }
}

#[test]
fn rules_are_made_on_the_switches_of_the_path_and_follow_the_station() {
    for policy in [Policy::Bare, Policy::Spurious, Policy::ZeroWindow] {
        let mut net = Net::new(fabric(), policy);
        net.tell(0, 1, What::Associated);
        assert_eq!(net.installed(), [1], "where all ways end");
        if policy == Policy::Bare {
            continue; // It watches no handshakes, and hears of nobody.
        }
        // The first packet is forwarded without entries, up to the switch at the access point.
        net.segment(1, 1, Flags::SYN, 0);
        assert_eq!(net.installed(), [1, 4]);
        net.segment(1, 4, Flags::ACK, 1);
        assert_eq!(net.left(), [(1, AIR), (4, PortNo(2))], "the second is led from the start");

        net.tell(0, 1, What::Disassociated);
        assert_eq!(net.installed(), [1, 4]);
        net.tell(1, 2, What::Associated);
        assert_eq!(net.installed(), [2, 4], "{policy:?}");
        net.segment(1, 4, Flags::ACK, 101);
        assert_eq!(net.left(), [(4, PortNo(3))]);
    }
}

#[test]
fn a_second_correspondent_gets_a_path_of_its_own() {
    let mut net = Net::new(fabric(), Policy::Spurious);
    net.tell(2, 1, What::Associated);
    net.segment(1, 3, Flags::SYN, 0);
    net.segment(2, 3, Flags::SYN, 0);
    assert_eq!(net.installed(), [3, 4, 5]);
}

#[test]
fn whoever_speaks_up_while_the_station_is_away_is_held_at_his_own_switch() {
    let mut net = Net::new(fabric(), Policy::Spurious);
    net.tell(0, 1, What::Associated);
    net.tell(0, 1, What::Disassociated);
    net.segment(2, 1, Flags::SYN, 0);
    assert_eq!(net.installed(), [1, 5]);
    net.segment(2, 5, Flags::SYN, 0);
    let counters = net.plane.controller().counters();
    assert_eq!((counters.held, counters.duplicates), (1, 1));
    assert_eq!(net.left(), []);
    net.tell(1, 2, What::Associated);
    assert_eq!(net.left(), [(2, AIR)], "it is released where the station is");
    assert_eq!(net.installed(), [2, 5]);
}

#[test]
fn of_a_host_that_nobody_told_of_rules_are_everywhere() {
    let mut net = Net::new(fabric(), Policy::Spurious);
    net.tell(0, 1, What::Associated);
    net.segment(7, 1, Flags::SYN, 0);
    assert_eq!(net.installed(), SWITCHES);
    net.tell(0, 1, What::Disassociated);
    net.wait(ms(11_000));
    assert!(net.installed().is_empty(), "it has expired");
}

#[test]
fn a_station_first_heard_of_as_gone_may_be_sought_anywhere() {
    let mut net = Net::new(fabric(), Policy::Spurious);
    net.tell(0, 1, What::Disassociated);
    assert_eq!(net.installed(), SWITCHES);
}

#[test]
fn without_hosts_rules_are_everywhere() {
    let mut net = Net::new(Fabric { hosts: BTreeMap::new(), ..fabric() }, Policy::Spurious);
    net.tell(0, 1, What::Associated);
    assert_eq!(net.installed(), SWITCHES);
}

#[test]
fn a_switch_that_connects_anew_gets_its_part_and_no_more() {
    let mut net = Net::new(fabric(), Policy::Spurious);
    net.tell(0, 1, What::Associated);
    net.segment(1, 1, Flags::SYN, 0);
    for switch in 0..5 {
        net.plane.connect(net.now, switch);
    }
    net.wait(ms(50));
    assert_eq!(net.installed(), [1, 4]);
}
