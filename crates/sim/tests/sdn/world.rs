//! One switch, two access points, one station, and whoever sends to it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_assist::sdn::{ApId, Config, Notice, Record, What};
use handfast_core::{Duration, Instant, SeqNum};
use handfast_net::SwitchSetup;
use handfast_sim::{ControlChannel, ControlPlane, Departure};
use handfast_wire::openflow::{EthAddr, PortNo};
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Body, Ethernet, Packet, Payload};

pub(crate) use crate::config::{AP, DATAPATH, STATION, WIRED, config, paced};

const SOURCE: EthAddr = [2, 0, 10, 0, 0, 1];
pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A packet that left the switch.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    pub(crate) at: Instant,
    pub(crate) departure: Departure,
    /// Whether the station was away, as the controller had heard: its old access point loses the packet.
    pub(crate) away: bool,
}

impl Left {
    pub(crate) fn packet(&self) -> &Packet {
        let (Departure::By(_, packet) | Departure::Normal(_, packet) | Departure::Dropped(packet)) =
            &self.departure;
        packet
    }

    pub(crate) fn by(&self) -> Option<PortNo> {
        let Departure::By(port, _) = self.departure else { return None };
        Some(port)
    }

    /// Which transmission it is.
    pub(crate) fn tag(&self) -> u16 {
        self.packet().identification
    }
}

pub(crate) struct World {
    pub(crate) plane: ControlPlane,
    pub(crate) now: Instant,
    pub(crate) sent: Vec<Packet>,
    pub(crate) sent_at: Vec<Instant>,
    pub(crate) left: Vec<Left>,
    pub(crate) records: Vec<(Instant, Record)>,
    pub(crate) next_seq: BTreeMap<u16, u32>,
    /// Whether segments bear timestamps.
    pub(crate) timed: bool,
    away: bool,
}

impl World {
    pub(crate) fn new(config: Config, delay: Duration) -> Self {
        Self::by(config, delay.into(), delay * 6 + ms(1))
    }

    /// With a channel that greetings pass in so much time.
    pub(crate) fn by(config: Config, channel: ControlChannel, greetings: Duration) -> Self {
        let setup = SwitchSetup::new(DATAPATH, [WIRED, AP[0], AP[1]]);
        let plane = ControlPlane::new(Instant::ZERO, config, [setup], channel);
        let (sent, sent_at, left, records) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (now, next_seq) = (Instant::ZERO, BTreeMap::new());
        let mut this = Self { plane, now, sent, sent_at, left, records, next_seq, timed: false, away: false };
        this.wait(greetings);
        this
    }

    /// With the station at the first access point.
    pub(crate) fn with_station(config: Config, delay: Duration) -> Self {
        let mut this = Self::new(config, delay);
        this.tell(0, 1, What::Associated);
        this.wait(delay * 2 + ms(1));
        this
    }

    pub(crate) fn tell(&mut self, ap: u32, epoch: u64, what: What) {
        let notice = Notice { station: STATION, ap: ApId(ap), epoch, what };
        self.plane.announce(self.now, notice);
        self.step();
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.plane.deadline().filter(|&due| due <= end) {
            self.now = due;
            self.step();
        }
        self.now = end;
        self.step();
    }

    /// Does what is due now, and checks that nothing due is left.
    pub(crate) fn step(&mut self) {
        self.plane.on_timer(self.now);
        assert!(self.plane.deadline().is_none_or(|due| due > self.now), "a deadline is in the future");
        self.collect();
    }

    fn collect(&mut self) {
        let (at, away) = (self.now, self.away);
        self.left.extend(self.plane.departures().map(|(_, departure)| Left { at, departure, away }));
        for (at, record) in self.plane.records() {
            match record {
                Record::Away { .. } => self.away = true,
                Record::Associated { .. } => self.away = false,
                _ => {}
            }
            self.records.push((at, record));
        }
    }

    /// A segment to the station arrives at the switch; its tag.
    pub(crate) fn segment(&mut self, port: u16, segment: Segment) -> u16 {
        let val = (self.now.as_nanos() / 1_000_000) as u32;
        let timestamps = segment.timestamps.or(self.timed.then_some(Timestamps { val, ecr: 0 }));
        self.packet(Body::Tcp(Segment { src_port: 80, dst_port: port, timestamps, ..segment }))
    }

    /// Any packet to the station.
    pub(crate) fn packet(&mut self, body: Body) -> u16 {
        self.packet_to(STATION, body)
    }

    /// Any packet to any station.
    pub(crate) fn packet_to(&mut self, station: EthAddr, body: Body) -> u16 {
        let [src, dst]: [IpAddr; 2] = ["10.0.0.1", "10.0.0.5"].map(|address| address.parse().unwrap());
        let tag = self.sent.len() as u16;
        let ethernet = Some(Ethernet { dst: station, src: SOURCE, vlan: None });
        let packet = Packet { ethernet, identification: tag, body, ..Packet::tcp(src, dst, Segment::EMPTY) };
        self.sent.push(packet.clone());
        self.sent_at.push(self.now);
        self.plane.on_packet(self.now, 0, WIRED, packet);
        self.step();
        tag
    }

    /// A datagram of so many bytes besides its header.
    pub(crate) fn datagram(&mut self, len: usize) -> u16 {
        let header = [53_u16, 5060, 8 + len as u16, 0].map(u16::to_be_bytes).concat();
        let payload = Payload::Bytes([header, vec![7; len]].concat().into());
        self.packet(Body::Other { protocol: 17, payload })
    }

    /// The next 1,000 bytes of a connection.
    pub(crate) fn data(&mut self, port: u16) -> u16 {
        let next = self.next_seq.entry(port).or_default();
        let seq = *next;
        *next += 1000;
        self.data_at(port, seq)
    }

    pub(crate) fn data_at(&mut self, port: u16, seq: u32) -> u16 {
        let payload = Payload::Bytes(vec![seq as u8; 1000].into());
        self.segment(port, Segment { seq: SeqNum(seq), flags: Flags::ACK, payload, ..Segment::EMPTY })
    }

    /// What left by a port and is TCP, or is not, by tag.
    pub(crate) fn tcp_by(&self, port: PortNo, tcp: bool) -> Vec<u16> {
        let left = self.left.iter().filter(|left| left.by() == Some(port));
        left.filter(|left| matches!(left.packet().body, Body::Tcp(_)) == tcp).map(Left::tag).collect()
    }

    /// What left by a port, by tag.
    pub(crate) fn tags_by(&self, port: PortNo) -> Vec<u16> {
        self.left.iter().filter(|left| left.by() == Some(port)).map(Left::tag).collect()
    }
}
