//! Any bytes on the control channel are survived: random ones, messages with bytes overwritten and cut, and what the fuzzer has
//! kept.

use std::fs;
use std::path::Path;

use handfast_assist::sdtp::{Activation, Admission, Instruction, Name, Order, Report};
use handfast_wire::Packet;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::script::{CLIENT, Flow, SERVER, syn, syn_ack};
use crate::survive::survive_input;
use crate::world::{host, host_v6, ms, node};

/// Each kind of message, behind the byte that says how to read it.
fn inputs() -> Vec<Vec<u8>> {
    let name = Name { peer: node(2), slice: 1, connection: 2 };
    let flow = Flow::between(host(0, 1), host(1, 1));
    let packet = flow.packet(0, syn(CLIENT));
    let v6 = Flow::between(host_v6(0, 1), host_v6(1, 1));
    let answer = v6.packet(1, syn_ack(SERVER, CLIENT + 1));
    let reports = [
        Report::Started,
        Report::Closed(name),
        Report::Handshake(packet.clone()),
        Report::Handshake(answer.clone()),
    ];
    let (from, to, round_trip) = (node(0), node(2), ms(7));
    let admission = Admission { name, client: flow.client, server: flow.server };
    let orders = [
        Order::Admit(admission),
        Order::Approve(name),
        Order::Forget(name),
        Order::Activate(Activation { from, to, slice: 1, caching: true, retransmission: true, round_trip }),
    ];
    let with = |packet: Option<Packet>| {
        orders.clone().map(|order| Instruction { order: Some(order), packet: packet.clone() })
    };
    let alone = Instruction { order: None, packet: Some(packet.clone()) };
    let instructions =
        with(None).into_iter().chain(with(Some(packet))).chain(with(Some(answer))).chain([alone]);
    let reports = reports.iter().map(|report| (0, report.emit().expect("a report")));
    let instructions = instructions.map(|instruction| (1, instruction.emit().expect("an instruction")));
    reports.chain(instructions).map(|(how, bytes)| [&[how | 2], &bytes[..]].concat()).collect()
}

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/sdtp_control")
}

#[test]
fn the_fuzzer_s_corpus_is_survived() {
    let inputs: Vec<_> =
        fs::read_dir(corpus()).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() > 15);
    for input in inputs {
        survive_input(&input);
    }
}

/// The fuzzer begins with these.
#[test]
#[ignore = "it writes the corpus"]
fn write_the_corpus() {
    fs::create_dir_all(corpus()).unwrap();
    for (number, input) in inputs().iter().enumerate() {
        fs::write(corpus().join(format!("message-{number}")), input).unwrap();
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200)) {
        survive_input(&bytes);
    }

    #[test]
    fn damaged_messages_are_survived(
        which in any::<Index>(),
        damage in vec((any::<Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<Index>()),
    ) {
        let mut input = which.get(&inputs()).clone();
        for (at, byte) in damage {
            let at = at.index(input.len());
            input[at] = byte;
        }
        if let Some(cut) = cut {
            input.truncate(cut.index(input.len()));
        }
        survive_input(&input);
    }
}
