//! Neighbours who ask a station that is away whether it is still there.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_assist::sdn::{
    ApId, COOKIE, ConnId, Controller, Counters, Notice, Outbox, Output, Policy, What,
};
use handfast_core::{Instant, SeqNum};
use handfast_wire::openflow::{
    Body, EthAddr, FeaturesReply, Hello, Match, Message, NO_BUFFER, PacketIn, PacketInReason, PortNo, VERSION,
};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Announcement, Ethernet, Packet, Payload, Solicitation};

use crate::config::{DATAPATH, STATION, WIRED, config, paced};

const NEIGHBOUR: EthAddr = [2, 0, 10, 0, 0, 1];
const CONN: ConnId = ConnId(1);
/// The mark of the entry that diverts.
const DIVERTED: u64 = COOKIE | 4 << 40;

/// A controller with one switch, and what it asks of that.
struct Desk {
    controller: Controller,
    out: Outbox,
}

impl Desk {
    fn new() -> Self {
        let controller = Controller::new(config(Policy::Spurious, paced()));
        let mut this = Self { controller, out: Outbox::default() };
        this.controller.connected(Instant::ZERO, CONN, &mut this.out);
        this.hear(0, Body::Hello(Hello { version: VERSION, bitmaps: vec![1 << VERSION] }));
        let features = FeaturesReply {
            datapath_id: DATAPATH,
            n_buffers: 0,
            n_tables: 1,
            auxiliary_id: 0,
            capabilities: 0,
        };
        this.hear(0, Body::FeaturesReply(features));
        let asked = this.out.drain().last();
        let Some(Output::Send(_, Message { xid, body: Body::BarrierRequest })) = asked else {
            panic!("{asked:?}")
        };
        this.hear(xid, Body::BarrierReply);
        this.tell(1, What::Associated);
        this
    }

    fn hear(&mut self, xid: u32, body: Body) {
        self.controller.on_message(Instant::ZERO, CONN, Message { xid, body }, &mut self.out);
    }

    fn tell(&mut self, epoch: u64, what: What) {
        let notice = Notice { station: STATION, ap: ApId(0), epoch, what };
        self.controller.on_notice(Instant::ZERO, notice, &mut self.out);
    }

    /// A frame that the switch diverts; what the controller sends then.
    fn diverted(&mut self, frame: impl Into<Bytes>) -> Vec<Body> {
        self.out.drain().for_each(drop);
        let data: Bytes = frame.into();
        let matches = Match { in_port: Some(WIRED), ..Match::default() };
        self.hear(
            0,
            Body::PacketIn(PacketIn {
                buffer_id: NO_BUFFER,
                total_len: data.len() as u16,
                reason: PacketInReason::Action,
                table_id: 0,
                cookie: DIVERTED,
                matches,
                data,
            }),
        );
        let sent = |output| match output {
            Output::Send(_, message) => message.body,
            Output::Close(conn) => panic!("{conn:?}"),
        };
        self.out.drain().map(sent).collect()
    }

    fn counters(&self) -> &Counters {
        self.controller.counters()
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A segment of a connection to the station.
fn segment(from: &str, to: &str) -> Vec<u8> {
    let payload = Payload::Bytes(vec![1; 100].into());
    let segment = Segment { seq: SeqNum(1), flags: Flags::ACK, dst_port: 80, payload, ..Segment::EMPTY };
    let ethernet = Some(Ethernet { dst: STATION, src: NEIGHBOUR, vlan: None });
    let mut frame = Vec::new();
    Packet { ethernet, ..Packet::tcp(ip(from), ip(to), segment) }.emit(&mut frame).unwrap();
    frame
}

/// As a neighbour asks who knows the answer: the station alone.
fn poll(asker: &str, target: &str) -> Vec<u8> {
    let asked = Solicitation { asker: ip(asker), asker_mac: NEIGHBOUR, target: ip(target) };
    let mut frame = asked.ask();
    frame[..6].copy_from_slice(&STATION);
    frame
}

#[test]
fn a_neighbour_hears_that_an_absent_station_is_where_it_was() {
    for (neighbour, station) in [("10.0.0.1", "10.0.0.5"), ("fd00::1", "fd00::5")] {
        let mut desk = Desk::new();
        desk.tell(1, What::Disassociated);
        assert!(desk.diverted(segment(neighbour, station)).is_empty());
        let sent = desk.diverted(poll(neighbour, station));
        let [Body::PacketOut(answer)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!(answer.in_port, PortNo::CONTROLLER);
        assert!(format!("{:?}", answer.actions).contains(&format!("{WIRED:?}")), "{:?}", answer.actions);
        assert_eq!(answer.data[..12], [NEIGHBOUR, STATION].concat());
        let expected = Announcement { address: ip(station), mac: STATION };
        assert_eq!(Announcement::parse(&answer.data), Some(expected));
        assert_eq!((desk.counters().neighbours, desk.counters().dropped_other), (1, [0; 8]));
    }
}

#[test]
fn nobody_is_told_of_addresses_that_no_connection_leads_to() {
    let mut desk = Desk::new();
    desk.tell(1, What::Disassociated);
    desk.diverted(segment("10.0.0.1", "10.0.0.5"));
    for target in ["10.0.0.6", "10.0.0.1"] {
        assert!(desk.diverted(poll("10.0.0.1", target)).is_empty());
    }
    assert_eq!((desk.counters().neighbours, desk.counters().dropped_other[4]), (0, 2));
}

#[test]
fn a_station_that_is_there_answers_itself() {
    let mut desk = Desk::new();
    desk.tell(1, What::Disassociated);
    desk.diverted(segment("10.0.0.1", "10.0.0.5"));
    desk.tell(2, What::Associated);
    let sent = desk.diverted(poll("10.0.0.1", "10.0.0.5"));
    let [Body::PacketOut(passed)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(passed.data, poll("10.0.0.1", "10.0.0.5"));
    assert_eq!((desk.counters().neighbours, desk.counters().passed_other[4]), (0, 1));
}
