//! The controller by itself: what it answers to reports ([sdtp] §III-A steps 3 to 5).

use std::net::{IpAddr, SocketAddr};

use handfast_assist::sdtp::{
    Activation, Admission, Controller, Instruction, Instructions, Name, Order, Placed, Planner, Report,
};
use handfast_core::Duration;

use crate::script::{CLIENT, FIRST, Flow, SERVER, syn, syn_ack};
use crate::world::{host, ms, node};

fn placed(place: usize, caching: bool, retransmission: bool) -> Placed {
    Placed { address: node(place), caching, retransmission, round_trip: ms(place as u64) }
}

/// Edges 0 and 2 with a path, and edge 5 without one.
fn controller() -> Controller {
    let mut planner = Planner::default();
    planner.insert(
        node(0),
        node(2),
        vec![placed(0, true, false), placed(1, false, false), placed(2, true, true)],
    );
    planner.insert(
        node(2),
        node(0),
        vec![placed(2, true, false), placed(1, true, true), placed(0, true, true)],
    );
    let hosts = [(host(0, 1), node(0)), (host(0, 2), node(0)), (host(1, 1), node(2)), (host(1, 2), node(5))];
    Controller::new(planner, hosts.into_iter().collect())
}

fn tell(controller: &mut Controller, from: usize, report: Report) -> Instructions {
    let mut out = Instructions::new();
    controller.on_report(node(from), report, &mut out);
    out
}

fn flow(port: u16) -> Flow {
    Flow::from_port(port)
}

fn syn_of(flow: &Flow) -> Report {
    Report::Handshake(flow.packet(0, syn(CLIENT)))
}

fn answer_of(flow: &Flow) -> Report {
    Report::Handshake(flow.packet(1, syn_ack(SERVER, FIRST)))
}

const fn name(peer: IpAddr, connection: u16) -> Name {
    Name { peer, slice: 1, connection }
}

fn admit(peer: usize, connection: u16, flow: &Flow) -> Order {
    let &Flow { client, server } = flow;
    Order::Admit(Admission { name: name(node(peer), connection), client, server })
}

fn forget(to: usize, peer: usize, connection: u16) -> (IpAddr, Instruction) {
    (node(to), Instruction::order(Order::Forget(name(node(peer), connection))))
}

/// The connection's number that the last instruction admits.
fn admitted(out: &Instructions) -> Option<u16> {
    match &out.last()?.1.order {
        Some(Order::Admit(Admission { name, .. })) => Some(name.connection),
        _ => None,
    }
}

#[test]
fn the_first_connection_of_two_edges_sets_both_directions_up() {
    let (mut controller, flow) = (controller(), flow(5_001));
    let out = tell(&mut controller, 0, syn_of(&flow));
    let told = |to: usize, from: usize, place: usize, caching: bool, retransmission: bool| {
        let (from, to, round_trip) = (node(from), node(to), Duration::from_millis(place as u64));
        let activation = Activation { from, to, slice: 1, caching, retransmission, round_trip };
        (node(place), Instruction::order(Order::Activate(activation)))
    };
    let syn = Instruction { order: Some(admit(0, 1, &flow)), packet: Some(flow.packet(0, syn(CLIENT))) };
    let expected = [
        told(2, 0, 0, true, false),
        // One without a function as well: it remembers what its queues drop.
        told(2, 0, 1, false, false),
        told(2, 0, 2, true, true),
        told(0, 2, 2, true, false),
        told(0, 2, 1, true, true),
        told(0, 2, 0, true, true),
        (node(2), syn),
    ];
    assert_eq!(out, expected);
    let out = tell(&mut controller, 2, answer_of(&flow));
    let answer =
        Instruction { order: Some(admit(2, 1, &flow)), packet: Some(flow.packet(1, syn_ack(SERVER, FIRST))) };
    let approve = Instruction::order(Order::Approve(name(node(0), 1)));
    assert_eq!(out, [(node(0), answer), (node(2), approve)]);
    assert_eq!(tell(&mut controller, 0, syn_of(&Flow::from_port(6_000))).len(), 1, "the path is there");
    let counted = controller.counted();
    assert_eq!((counted.packet_ins, counted.packet_outs, counted.orders), (3, 3, 7));
    assert_eq!((counted.admitted, counted.paths, counted.plain), (2, 1, 0));
}

#[test]
fn without_a_path_or_an_edge_the_syn_goes_back_to_where_it_came_from() {
    let client = host(0, 1);
    for server in [host(1, 2), host(1, 9), host(0, 2)] {
        let (mut controller, flow) = (controller(), Flow::between(client, server));
        let packet = Some(flow.packet(0, syn(CLIENT)));
        let out = tell(&mut controller, 0, syn_of(&flow));
        assert_eq!(out, [(node(0), Instruction { order: None, packet })], "{server}");
        assert_eq!((controller.counted().plain, controller.counted().paths), (1, 0));
    }
}

#[test]
fn an_answer_counts_from_the_servers_edge_only_and_to_a_syn_only() {
    let (mut controller, flow) = (controller(), flow(5_001));
    assert_eq!(tell(&mut controller, 2, answer_of(&flow)), []);
    tell(&mut controller, 0, syn_of(&flow));
    for from in [0, 1, 5] {
        assert_eq!(tell(&mut controller, from, answer_of(&flow)), []);
    }
    assert_eq!(tell(&mut controller, 2, answer_of(&flow)).len(), 2);
}

#[test]
fn numbers_are_given_anew_after_all_others_and_when_none_is_left_connections_are_plain() {
    let mut controller = controller();
    let server = SocketAddr::new(host(1, 1), 80);
    let mut ask = |number: u32| {
        let client = SocketAddr::new(host(0, 1 + (number >> 15) as u8 % 2), (number & 0x7fff) as u16);
        let server = SocketAddr::new(server.ip(), 80 + (number >> 16) as u16);
        admitted(&tell(&mut controller, 0, syn_of(&Flow { client, server })))
    };
    // The 1,024 numbers beyond are those of lanes.
    assert!((1..=64_511).all(|number| ask(number) == Some(number as u16)));
    assert_eq!((ask(70_000), ask(5)), (None, Some(5)), "a known one comes again");
    let closed = |peer, connection| Report::Closed(name(node(peer), connection));
    for wrong in
        [(0, closed(5, 9)), (5, closed(0, 9)), (0, Report::Closed(Name { slice: 2, ..name(node(2), 9) }))]
    {
        assert_eq!(tell(&mut controller, wrong.0, wrong.1), []);
    }
    assert_eq!(tell(&mut controller, 2, closed(0, 9)), [forget(0, 2, 9)]);
    assert_eq!(tell(&mut controller, 0, closed(2, 9)), [], "of both edges the first one counts");
    let flow = Flow::from_port(40_000);
    assert_eq!(admitted(&tell(&mut controller, 0, syn_of(&flow))), Some(9));
}

#[test]
fn a_node_that_begins_anew_gets_its_functions_and_loses_its_connections() {
    let (mut controller, one, two) = (controller(), flow(5_001), flow(5_002));
    for flow in [&one, &two] {
        tell(&mut controller, 0, syn_of(flow));
    }
    let out = tell(&mut controller, 2, Report::Started);
    let forget = |to: usize, edge: usize| (node(to), Instruction::order(Order::ForgetEdge(node(edge))));
    // Also what a controller before this one has admitted.
    assert_eq!(out[2..], [forget(2, 0), forget(0, 2)]);
    let is_active = |(to, instruction): &(IpAddr, Instruction)| {
        *to == node(2) && matches!(instruction.order, Some(Order::Activate(_)))
    };
    assert!(out[..2].iter().all(is_active), "{out:?}");
    assert_eq!(tell(&mut controller, 1, Report::Started).len(), 2, "it is no edge");
    assert_eq!(tell(&mut controller, 5, Report::Started), [], "it has no path");
    assert_eq!(tell(&mut controller, 2, answer_of(&one)), [], "it is unknown");
    assert_eq!(admitted(&tell(&mut controller, 0, syn_of(&one))), Some(3));
}

#[test]
fn a_syn_against_a_known_connection_ends_it() {
    // RFC 9293 §3.5: simultaneous open.
    let (mut controller, flow) = (controller(), flow(5_001));
    tell(&mut controller, 0, syn_of(&flow));
    let packet = flow.packet(1, syn(SERVER));
    let out = tell(&mut controller, 2, Report::Handshake(packet.clone()));
    let plain = (node(2), Instruction { order: None, packet: Some(packet) });
    assert_eq!(out, [forget(0, 2, 1), forget(2, 0, 1), plain]);
}

#[test]
fn a_host_that_has_moved_to_another_edge_is_admitted_anew() {
    let (mut controller, flow) = (controller(), flow(5_001));
    tell(&mut controller, 0, syn_of(&flow));
    let out = tell(&mut controller, 5, syn_of(&flow));
    // From there no path is known.
    let packet = Some(flow.packet(0, syn(CLIENT)));
    assert_eq!(out, [forget(0, 2, 1), forget(2, 0, 1), (node(5), Instruction { order: None, packet })]);
    assert_eq!(tell(&mut controller, 2, answer_of(&flow)), []);
}
