//! What holds for any bytes on the control channel, shared by the property tests and the fuzz target.

use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use handfast_assist::sdtp::{Config, Controller, Instruction, Instructions, Node, Planner, Report};
use handfast_core::Instant;
use handfast_net::Outbox;

/// Reads `data` as a report or as an instruction; its first byte says which, and whether the header is made right, since a fuzzer
/// does not find lengths by chance.
pub(crate) fn survive_input(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let mut bytes = bytes.to_vec();
    bytes.truncate(usize::from(u16::MAX));
    if how & 2 != 0 && bytes.len() >= 8 {
        let len = bytes.len() as u16;
        bytes[0] = 4;
        bytes[2..4].copy_from_slice(&len.to_be_bytes());
    }
    if how & 1 == 0 { survive_report(&bytes.into()) } else { survive_instruction(&bytes.into()) }
}

fn edge() -> IpAddr {
    Ipv4Addr::new(10, 0, 0, 1).into()
}

/// A parse returns whatever the bytes; what it returns has a form on the wire, which parses back to it; and the controller
/// answers it or not.
fn survive_report(bytes: &Bytes) {
    let Ok(report) = Report::parse(bytes) else { return };
    if let Some(ours) = report.emit() {
        assert_eq!(Report::parse(&ours).as_ref(), Ok(&report));
    }
    let mut controller = Controller::new(Planner::default(), [(edge(), edge())].into());
    controller.on_report(edge(), report, &mut Instructions::new());
}

fn survive_instruction(bytes: &Bytes) {
    let Ok(instruction) = Instruction::parse(bytes) else { return };
    if let Some(ours) = instruction.emit() {
        assert_eq!(Instruction::parse(&ours).as_ref(), Ok(&instruction));
    }
    let mut node = Node::new(edge(), [(edge(), handfast_net::Port(0))].into(), Config::default());
    let mut out = Outbox::default();
    node.on_instruction(Instant::ZERO, instruction, &mut out);
    if let Some(due) = node.deadline() {
        node.on_timer(due, &mut out);
    }
}
