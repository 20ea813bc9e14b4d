//! Nodes that begin anew, with nothing of what they knew.

use std::collections::BTreeSet;

use handfast_assist::sdtp::Config;
use handfast_wire::tcp::Flags;

use crate::script::{CLIENT, FIRST, Flow, SERVER, ack, data, open, passes, segment, syn, syn_ack, talks};
use crate::world::{HOP, Line, host, ms, sealed};

fn flow() -> Flow {
    Flow::between(host(0, 1), host(1, 1))
}

#[test]
fn behind_an_edge_that_begins_anew_connections_are_plain_tcp() {
    for place in [0, 2] {
        let (mut line, flow) = (Line::scripted(sealed()), flow());
        open(&mut line, &flow);
        talks(&mut line, &flow, "data");
        line.restart(place);
        line.run(ms(10));
        talks(&mut line, &flow, "plain");
        assert_eq!([0, 2].map(|place| line.nodes[place].kept().connections), [0, 0]);
        let next = Flow::from_port(6_000);
        open(&mut line, &next);
        talks(&mut line, &next, "data");
    }
}

#[test]
fn a_node_in_the_core_that_begins_anew_passes_packets_and_gets_its_functions_again() {
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    open(&mut line, &flow);
    line.restart(1);
    // Before the controller has answered.
    talks(&mut line, &flow, "data");
    line.run(ms(10));
    let first = FIRST + 100;
    // The last link loses a packet: the caches before it have it.
    let mut is_lost = true;
    line.fate = Box::new(move |crossing| match crossing.sdtp() {
        Some(sdtp) if crossing.to == 2 && sdtp.sequence == first && is_lost => {
            is_lost = false;
            vec![]
        }
        _ => vec![HOP],
    });
    for at in 0..2 {
        line.send(0, flow.packet(0, data(first + 100 * at, SERVER + 51, 100)));
        line.run(ms(5));
    }
    line.run(ms(30));
    let got: BTreeSet<_> = line.got(1).iter().map(|packet| segment(packet).seq.0).collect();
    // The node asks for what it has missed of the connection's beginning, too.
    assert!(got.is_superset(&BTreeSet::from([first.0, (first + 100).0])), "{got:?}");
    assert!(line.nodes[1].counters().repeats > 0);
}

#[test]
fn an_answer_that_a_restart_of_the_clients_edge_has_lost_comes_all_the_same() {
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    line.send(0, flow.packet(0, syn(CLIENT)));
    line.run(ms(20));
    line.got(1);
    line.send(1, flow.packet(1, syn_ack(SERVER, FIRST)));
    // The controller has sent it on, and approved it.
    line.run(ms(6));
    line.restart(0);
    line.run(ms(30));
    assert_eq!(segment(&line.got(1)[0]).flags, Flags::ACK, "the server will not send it again");
    assert_eq!(segment(&line.got(0)[0]).flags, Flags::SYN | Flags::ACK);
    talks(&mut line, &flow, "plain");
}

#[test]
fn packets_in_lanes_pass_behind_an_edge_that_begins_anew_twice_in_a_second() {
    // Both lives number their lanes alike: what the second one sends has numbers that have come.
    let mut line = Line::scripted(Config { all: true, ..sealed() });
    let flow = flow();
    for _ in 0..2 {
        // The edge asks where the server is; meanwhile packets pass as they are.
        line.send(0, flow.packet(0, ack(FIRST, SERVER)));
        line.run(ms(20));
        line.ends = Default::default();
        for at in 0..3 {
            passes(&mut line, 0, &flow.packet(0, data(FIRST + 100 * at, SERVER + 1, 100)), "data");
        }
        line.restart(0);
        line.run(ms(10));
    }
}
