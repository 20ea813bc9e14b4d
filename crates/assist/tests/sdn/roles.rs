//! Who commands a switch, as it says (§6.3.6 and §7.3.9 of the `OpenFlow` specification), and what it has.

use bytes::Bytes;
use handfast_assist::sdn::{Claim, Config, ConnId, Controller, Outbox, Output, Policy, Record, Steering};
use handfast_core::Instant;
use handfast_wire::openflow::{
    Body, Error, FeaturesReply, Hello, Message, MultipartReply, MultipartRequest, Port, PortNo, PortReason,
    PortStatus, Role, RoleMessage, VERSION,
};

use crate::config::{AP, DATAPATH, config, paced};

const CONN: ConnId = ConnId(1);
/// A generation of ours: "hf", and when the controller began.
const OURS: u64 = 0x6866 << 48;
const STALE: (u16, u16) = (11, 0);
const IS_SLAVE: (u16, u16) = (1, 10);

/// A controller that began at 5, and one switch that a test speaks for.
struct Talk {
    controller: Controller,
    out: Outbox,
    records: Vec<Record>,
}

impl Talk {
    fn new(shares: bool) -> Self {
        let claim = Some(Claim { began: 0, shares });
        let config = Config { steering: Steering::Overlay, claim, ..config(Policy::Spurious, paced()) };
        let mut this =
            Self { controller: Controller::new(config), out: Outbox::default(), records: Vec::new() };
        this.controller.began(5);
        this.controller.connected(Instant::ZERO, CONN, &mut this.out);
        this.says(1, Body::Hello(Hello { version: VERSION, bitmaps: vec![1 << VERSION] }));
        let features = FeaturesReply {
            datapath_id: DATAPATH,
            n_buffers: 0,
            n_tables: 1,
            auxiliary_id: 0,
            capabilities: 0,
        };
        let asked = this.says(2, Body::FeaturesReply(features));
        let question = RoleMessage { role: Role::NoChange, generation_id: 0 };
        assert_eq!(bodies(&asked), [Body::RoleRequest(question)], "nothing before it is known who commands");
        this
    }

    /// The switch says something; what it is told thereupon.
    fn says(&mut self, xid: u32, body: Body) -> Vec<Message> {
        let message = Message { xid, body };
        self.controller.on_message(Instant::ZERO, CONN, message, &mut self.out);
        let told: Vec<Message> = self
            .out
            .drain()
            .filter_map(|output| match output {
                Output::Send(_, message) => Some(message),
                Output::Close(_) => None,
            })
            .collect();
        self.records.extend(self.out.records());
        told
    }

    fn role(&mut self, role: Role, generation_id: u64) -> Vec<Message> {
        self.says(3, Body::RoleReply(RoleMessage { role, generation_id }))
    }

    fn error(&mut self, xid: u32, (kind, code): (u16, u16)) -> Vec<Message> {
        self.says(xid, Body::Error(Error { kind, code, data: Bytes::new() }))
    }

    /// It says that it has these ports, and is through with all that it was told.
    fn has(&mut self, told: &[Message], ports: &[PortNo]) {
        let ports = ports.iter().map(|&port| Port::plain(port, [2, 0, 0, 0, 0, 9])).collect();
        self.says(4, Body::MultipartReply(MultipartReply::PortDescription { more: false, ports }));
        let barrier = told.iter().find(|message| message.body == Body::BarrierRequest).unwrap();
        self.says(barrier.xid, Body::BarrierReply);
    }

    fn left_alone(&self) -> bool {
        self.records.iter().any(|record| matches!(record, Record::SwitchNotOurs { .. }))
    }

    fn commands(&self) -> bool {
        self.controller.switches() == [DATAPATH] && self.controller.is_ready(CONN)
    }
}

fn bodies(messages: &[Message]) -> Vec<Body> {
    messages.iter().map(|message| message.body.clone()).collect()
}

/// It is asked what it has: then it is commanded.
fn examined(messages: &[Message]) -> bool {
    bodies(messages).contains(&Body::MultipartRequest(MultipartRequest::PortDescription))
}

#[test]
fn a_switch_without_a_master_or_with_an_older_one_of_ours_is_claimed() {
    for generation in [u64::MAX, OURS | 4] {
        let mut talk = Talk::new(false);
        let claim = RoleMessage { role: Role::Master, generation_id: OURS | 5 };
        assert_eq!(bodies(&talk.role(Role::Equal, generation)), [Body::RoleRequest(claim)]);
        assert_eq!(talk.role(Role::Slave, OURS | 5), [], "it was not made the master");
        let told = talk.role(Role::Master, OURS | 5);
        assert!(examined(&told) && !talk.commands());
        talk.has(&told, &AP);
        assert!(talk.commands() && !talk.left_alone());
        assert!(!talk.records.iter().any(|record| matches!(record, Record::NoPort { .. })));
    }
}

#[test]
fn a_switch_with_another_master_is_left_alone_unless_it_is_to_be_shared() {
    for generation in [0, 7, 0x6867 << 48] {
        let mut talk = Talk::new(false);
        assert_eq!(talk.role(Role::Equal, generation), []);
        assert!(talk.left_alone() && !talk.commands());
        let mut talk = Talk::new(true);
        assert!(examined(&talk.role(Role::Equal, generation)) && !talk.left_alone());
    }
}

#[test]
fn of_two_of_ours_the_later_one_commands() {
    let mut talk = Talk::new(false);
    talk.role(Role::Equal, OURS | 9);
    assert_eq!(talk.error(3, STALE), []);
    assert!(talk.left_alone() && !talk.commands());
}

#[test]
fn a_switch_that_knows_no_roles_is_commanded() {
    let mut talk = Talk::new(false);
    assert!(examined(&talk.error(3, (1, 1))) && !talk.left_alone());
}

#[test]
fn who_is_a_slave_all_at_once_stops() {
    let mut talk = Talk::new(false);
    talk.role(Role::Equal, u64::MAX);
    let told = talk.role(Role::Master, OURS | 5);
    talk.has(&told, &AP);
    assert!(talk.commands());
    talk.error(99, IS_SLAVE);
    assert!(talk.left_alone() && !talk.commands());
}

#[test]
fn ports_that_come_and_go_are_followed() {
    let mut talk = Talk::new(false);
    talk.role(Role::Equal, u64::MAX);
    let told = talk.role(Role::Master, OURS | 5);
    talk.has(&told, &AP[..1]);
    let missing =
        |talk: &Talk| talk.records.iter().filter(|record| matches!(record, Record::NoPort { .. })).count();
    assert_eq!(missing(&talk), 1);
    let mut change = |reason, port| {
        let port = Port::plain(port, [2, 0, 0, 0, 0, 9]);
        talk.says(5, Body::PortStatus(PortStatus { reason, port }));
    };
    change(PortReason::Delete, AP[0]);
    change(PortReason::Add, AP[1]);
    let leaves = |talk: &mut Talk, ap: u32| {
        let notice = |epoch, what| handfast_assist::sdn::Notice {
            station: [2, 0, 10, 0, 0, 5 + ap as u8],
            ap: handfast_assist::sdn::ApId(ap),
            epoch,
            what,
        };
        let end = notice(1, handfast_assist::sdn::What::Disassociated);
        talk.controller.on_notice(Instant::ZERO, end, &mut talk.out);
        talk.records.extend(talk.out.records());
        talk.out.drain().count()
    };
    assert_eq!(leaves(&mut talk, 0), 0, "its port is gone");
    assert_eq!(leaves(&mut talk, 1), 4, "its port has come");
}
