//! `[sdtp]` §III-A steps 3 and 4: what the controller does with a SYN and its answer.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use handfast_assist::sdtp::{
    Activation, Controller, Instruction, Instructions, Order, Placed, Planner, Report,
};
use handfast_core::Duration;
use handfast_wire::Packet;
use handfast_wire::tcp::{Flags, Segment};

fn host(number: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, number).into()
}

fn switch(number: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, number).into()
}

/// Hosts 1 and 2 behind switch 1, host 3 behind switch 3; a switch with a cache between.
fn controller() -> Controller {
    let placed = |number, caching, retransmission| {
        let round_trip = Duration::from_millis(10);
        Placed { address: switch(number), caching, retransmission, round_trip }
    };
    let mut planner = Planner::default();
    planner.insert(
        switch(1),
        switch(3),
        vec![placed(1, true, false), placed(2, false, false), placed(3, true, true)],
    );
    planner.insert(
        switch(3),
        switch(1),
        vec![placed(3, true, false), placed(2, true, false), placed(1, true, true)],
    );
    let edges = [(1, 1), (2, 1), (3, 3), (4, 4)];
    Controller::new(planner, edges.map(|(at, edge)| (host(at), switch(edge))).into_iter().collect())
}

fn syn(from: u8, to: u8, port: u16) -> Packet {
    let segment = Segment { src_port: port, dst_port: 80, flags: Flags::SYN, ..Segment::EMPTY };
    Packet::tcp(host(from), host(to), segment)
}

fn syn_ack(from: u8, to: u8, port: u16) -> Packet {
    let flags = Flags::SYN | Flags::ACK;
    Packet::tcp(host(from), host(to), Segment { src_port: 80, dst_port: port, flags, ..Segment::EMPTY })
}

fn says(controller: &mut Controller, from: IpAddr, packet: &Packet) -> Instructions {
    let mut out = Instructions::new();
    controller.on_report(from, Report::Handshake(packet.clone()), &mut out);
    out
}

fn activations(instructions: &Instructions) -> BTreeMap<(IpAddr, IpAddr), (bool, bool)> {
    let orders = instructions.iter().filter_map(|(to, instruction)| match &instruction.order {
        Some(Order::Activate(Activation { from, caching, retransmission, .. })) => {
            Some(((*from, *to), (*caching, *retransmission)))
        }
        _ => None,
    });
    orders.collect()
}

#[test]
fn with_the_first_connection_a_path_is_set_up_both_ways_and_only_then() {
    let mut controller = controller();
    let first = says(&mut controller, switch(1), &syn(1, 3, 5));
    let set_up = activations(&first);
    assert_eq!(set_up.len(), 6);
    // It remembers what its queues drop.
    assert_eq!(set_up[&(switch(1), switch(2))], (false, false));
    assert_eq!(set_up[&(switch(3), switch(2))], (true, false));
    assert_eq!(set_up[&(switch(1), switch(3))], (true, true));
    let second = says(&mut controller, switch(1), &syn(2, 3, 5));
    assert_eq!((activations(&second).len(), controller.counted().paths), (0, 1));
}

#[test]
fn the_functions_are_ordered_before_the_syn_goes_on() {
    let mut controller = controller();
    let out = says(&mut controller, switch(1), &syn(1, 3, 5));
    let Some((to, Instruction { order: Some(Order::Admit(admission)), packet: Some(packet) })) = out.last()
    else {
        panic!("{out:?}");
    };
    assert_eq!((*to, packet), (switch(3), &syn(1, 3, 5)));
    assert_eq!((admission.client.ip(), admission.server.ip()), (host(1), host(3)));
}

#[test]
fn the_answer_goes_to_the_client_and_the_approval_to_the_server() {
    let mut controller = controller();
    says(&mut controller, switch(1), &syn(1, 3, 5));
    let out = says(&mut controller, switch(3), &syn_ack(3, 1, 5));
    let orders: Vec<_> = out.iter().map(|(to, instruction)| (*to, instruction.order.clone())).collect();
    let [(client, Some(Order::Admit(_))), (server, Some(Order::Approve(_)))] = &orders[..] else {
        panic!("{out:?}")
    };
    assert_eq!((*client, *server), (switch(1), switch(3)));
    assert_eq!(out[0].1.packet, Some(syn_ack(3, 1, 5)));
}

#[test]
fn an_answer_to_nothing_ends_here() {
    let mut controller = controller();
    assert_eq!(says(&mut controller, switch(3), &syn_ack(3, 1, 5)), []);
    says(&mut controller, switch(1), &syn(1, 3, 5));
    assert_eq!(
        says(&mut controller, switch(1), &syn_ack(3, 1, 5)),
        [],
        "from another edge than the server's"
    );
}

#[test]
fn without_a_path_the_connection_is_plain_tcp() {
    let mut controller = controller();
    // Nobody knows host 9; host 2 is behind the same edge; to switch 4 there is no path.
    for to in [9, 2, 4] {
        let out = says(&mut controller, switch(1), &syn(1, to, 5));
        assert_eq!(out, [(switch(1), Instruction { order: None, packet: Some(syn(1, to, 5)) })]);
    }
    assert_eq!((controller.counted().plain, controller.counted().admitted), (3, 0));
}
