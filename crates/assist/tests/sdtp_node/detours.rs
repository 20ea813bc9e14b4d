//! A link is down: the controller deploys a new path ([sdtp] §III-A step 3), and nodes send by the ports that it says.

use std::net::IpAddr;

use handfast_assist::sdtp::detours::{Detours, Placing};
use handfast_assist::sdtp::line::{Hop, Line};
use handfast_assist::sdtp::spec::PlacementWord;
use handfast_assist::sdtp::{
    Activation, Config, Controller, Instruction, Instructions, Node, Order, Planner, Report, Steering,
};
use handfast_assist::{Verdict, View};
use handfast_core::{Instant, SeqNum};
use handfast_net::{Forward, Outbox, Port};
use handfast_wire::sdtp::{Carriage, Message, Notification, Sdtp};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Packet};

use crate::script::{CLIENT, Flow, syn};
use crate::world::{host, ms, node};

const LONG: usize = 2;

/// From edge 0 to edge 3 there are two ways: by node 1, and by node 2, which is longer. Every switch caches.
fn controller() -> Controller {
    let placing = Placing::By(PlacementWord::EverySwitch, 1, ms(1));
    let mut detours = Detours::new(placing.clone());
    let hop = |delay| Hop { delay: ms(delay), loss: 0.0, loss_back: 0.0 };
    for (from, to, delay) in
        [((0, 0), (1, 0), 1), ((1, 1), (3, 0), 1), ((0, 1), (2, 0), 5), ((2, 1), (3, 1), 5)]
    {
        detours.connect([from, to].map(|(place, port)| (node(place), Port(port))), hop(delay));
    }
    let mut planner = Planner::default();
    let line = Line::new(vec![hop(1); 2]).unwrap();
    for places in [[0, 1, 3], [3, 1, 0]] {
        let nodes = places.map(node);
        planner.insert(nodes[0], nodes[2], placing.place(&line, &nodes));
    }
    let hosts = [(host(0, 1), node(0)), (host(1, 1), node(3))];
    Controller::new(planner.with_detours(detours), hosts.into_iter().collect())
}

fn tell(controller: &mut Controller, from: usize, report: Report) -> Instructions {
    let mut out = Instructions::new();
    controller.on_report(node(from), report, &mut out);
    out
}

fn begin(controller: &mut Controller) -> Instructions {
    tell(controller, 0, Report::Handshake(Flow::from_port(5_001).packet(0, syn(CLIENT))))
}

/// Which nodes send where, in order: the node, to which edge, by which port.
fn steered(out: &Instructions) -> Vec<(IpAddr, IpAddr, Option<Port>)> {
    let steered = out.iter().filter_map(|(to, instruction)| match instruction.order {
        Some(Order::Steer(Steering { to: edge, port, .. })) => Some((*to, edge, port)),
        _ => None,
    });
    steered.collect()
}

/// Which nodes keep copies from now on, and which no more, of what goes to edge 3.
fn caching(out: &Instructions) -> [Vec<IpAddr>; 2] {
    [true, false].map(|keeps| {
        let told = out.iter().filter_map(|(to, instruction)| match instruction.order {
            Some(Order::Activate(Activation { to: edge, caching, .. })) if edge == node(3) => {
                (caching == keeps).then_some(*to)
            }
            _ => None,
        });
        told.collect()
    })
}

/// By node 2, told from the destination back.
fn long_way() -> Vec<(IpAddr, IpAddr, Option<Port>)> {
    vec![
        (node(LONG), node(3), Some(Port(1))),
        (node(0), node(3), Some(Port(1))),
        (node(LONG), node(0), Some(Port(0))),
        (node(3), node(0), Some(Port(1))),
    ]
}

#[test]
fn a_connection_that_begins_gets_a_path_around_what_is_down() {
    let mut controller = controller();
    assert!(tell(&mut controller, 1, Report::PortStatus(Port(1), false)).is_empty(), "nobody has a path yet");
    let out = begin(&mut controller);
    assert_eq!(steered(&out), long_way());
    assert_eq!(caching(&out), [vec![node(0), node(LONG), node(3)], vec![]]);
    assert!(out.last().unwrap().1.packet.is_some(), "the SYN goes on");
}

#[test]
fn a_path_moves_when_a_link_goes_and_back_when_it_comes() {
    let mut controller = controller();
    assert!(steered(&begin(&mut controller)).is_empty(), "addresses lead the short way");
    let out = tell(&mut controller, 3, Report::PortStatus(Port(0), false));
    assert_eq!(steered(&out), long_way());
    assert_eq!(caching(&out), [vec![node(0), node(LONG), node(3)], vec![node(1)]]);
    // The node at the other end of the link says the same.
    assert!(tell(&mut controller, 1, Report::PortStatus(Port(1), false)).is_empty());
    let again = tell(&mut controller, LONG, Report::Started);
    assert_eq!(steered(&again).len(), 2, "one that begins anew is told again");

    let out = tell(&mut controller, 1, Report::PortStatus(Port(1), true));
    let mut back: Vec<_> = long_way().into_iter().map(|(at, to, _)| (at, to, None)).collect();
    let mut told = steered(&out);
    back.sort();
    told.sort();
    assert_eq!(told, back);
    assert_eq!(caching(&out), [vec![node(0), node(1), node(3)], vec![node(LONG)]]);
    assert_eq!(controller.counted().paths, 3);
}

#[test]
fn with_no_way_at_all_the_path_stays() {
    let mut controller = controller();
    begin(&mut controller);
    tell(&mut controller, 0, Report::PortStatus(Port(0), false));
    assert!(tell(&mut controller, 0, Report::PortStatus(Port(1), false)).iter().all(|(_, instruction)| {
        !matches!(instruction.order, Some(Order::Steer(Steering { port: Some(_), .. })))
    }));
    let out = tell(&mut controller, 0, Report::PortStatus(Port(1), true));
    assert_eq!(steered(&out), long_way(), "it is used when it comes");
}

#[test]
fn links_of_others_change_nothing() {
    let mut controller = controller();
    begin(&mut controller);
    for (place, port) in [(0, 7), (7, 0), (0, u32::MAX)] {
        assert!(tell(&mut controller, place, Report::PortStatus(Port(port), false)).is_empty());
    }
    assert!(tell(&mut controller, LONG, Report::PortStatus(Port(0), false)).is_empty(), "no path has it");
}

fn notification() -> Packet {
    let message = Message::Notification(Notification { until: SeqNum(1) });
    let (carriage, sequence) = (Carriage::Native, SeqNum(1));
    let sdtp = Sdtp { carriage, slice: 1, connection: 1, sequence, message, seal: None };
    Packet { body: Body::Sdtp(Box::new(sdtp)), ..Packet::tcp(node(0), node(3), Segment::EMPTY) }
}

/// Where a packet leaves that comes by a port; [`None`]: where its address leads.
fn leaves_by(at: &mut Node, port: Port, packet: Packet) -> Option<Port> {
    let (now, mut out) = (Instant::from_millis(1), Outbox::default());
    match at.look(now, port, &View::of(&packet), &mut out) {
        Verdict::Pass => return None,
        Verdict::Take => at.on_packet(now, port, packet, &mut out),
        Verdict::Drop => panic!("dropped"),
    }
    match out.drain().next() {
        Some(Forward::To(port, _)) => Some(port),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_node_sends_by_the_port_that_it_is_told() {
    let mut at = Node::new(node(LONG), [].into(), Config::default());
    let order = |at: &mut Node, port| {
        let steering = Steering { from: node(0), to: node(3), port };
        at.on_instruction(Instant::ZERO, Instruction::order(Order::Steer(steering)), &mut Outbox::default());
    };
    assert_eq!(leaves_by(&mut at, Port(0), notification()), None);
    order(&mut at, Some(Port(1)));
    assert_eq!(leaves_by(&mut at, Port(0), notification()), Some(Port(1)));
    assert_eq!(leaves_by(&mut at, Port(1), notification()), None, "none goes back where it came from");
    let other = Packet { dst: node(9), ..notification() };
    assert_eq!(leaves_by(&mut at, Port(0), other), None, "to another edge");
    order(&mut at, None);
    assert_eq!(leaves_by(&mut at, Port(0), notification()), None);
}

#[test]
fn a_node_tells_of_its_links() {
    let mut at = Node::new(node(LONG), [].into(), Config::default());
    at.on_link(Port(3), false);
    assert_eq!(at.reports().collect::<Vec<_>>(), [Report::PortStatus(Port(3), false)]);
}

/// Requests climb the caches that the data has passed, so both directions take one of two ways that are as long.
#[test]
fn both_directions_take_the_same_of_two_equal_ways() {
    let placing = Placing::By(PlacementWord::EverySwitch, 1, ms(1));
    let mut detours = Detours::new(placing.clone());
    let hop = Hop { delay: ms(1), loss: 0.0, loss_back: 0.0 };
    // 0 - 1 - 6 is the planned way; the others are 0 - 2 - 5 - 6 and 0 - 3 - 4 - 6.
    for (from, to) in [
        ((0, 0), (1, 0)),
        ((1, 1), (6, 0)),
        ((0, 1), (2, 0)),
        ((0, 2), (3, 0)),
        ((3, 1), (4, 0)),
        ((2, 1), (5, 0)),
        ((4, 1), (6, 1)),
        ((5, 1), (6, 2)),
    ] {
        detours.connect([from, to].map(|(place, port)| (node(place), Port(port))), hop);
    }
    let mut planner = Planner::default();
    let line = Line::new(vec![hop; 2]).unwrap();
    for nodes in [[0, 1, 6].map(node), [6, 1, 0].map(node)] {
        planner.insert(nodes[0], nodes[2], placing.place(&line, &nodes));
    }
    let hosts = [(host(0, 1), node(0)), (host(1, 1), node(6))];
    let mut controller = Controller::new(planner.with_detours(detours), hosts.into_iter().collect());
    tell(&mut controller, 1, Report::PortStatus(Port(1), false));
    let out = begin(&mut controller);
    let inner = |edge: usize| {
        let there = steered(&out).into_iter().filter(|&(_, to, _)| to == node(edge));
        let mut inner: Vec<_> =
            there.map(|(at, ..)| at).filter(|at| ![node(0), node(6)].contains(at)).collect();
        inner.sort();
        inner
    };
    assert_eq!(inner(6).len(), 2);
    assert_eq!(inner(0), inner(6));
}

/// From edge 0 to edge 3 by node 1, says the plan; and back by node 2.
fn two_planned_ways() -> Controller {
    let placing = Placing::By(PlacementWord::EverySwitch, 1, ms(1));
    let mut detours = Detours::new(placing.clone());
    let hop = Hop { delay: ms(1), loss: 0.0, loss_back: 0.0 };
    for (from, to) in [((0, 0), (1, 0)), ((1, 1), (3, 0)), ((0, 1), (2, 0)), ((2, 1), (3, 1))] {
        detours.connect([from, to].map(|(place, port)| (node(place), Port(port))), hop);
    }
    let mut planner = Planner::default();
    let line = Line::new(vec![hop; 2]).unwrap();
    for places in [[0, 1, 3], [3, LONG, 0]] {
        let nodes = places.map(node);
        planner.insert(nodes[0], nodes[2], placing.place(&line, &nodes));
    }
    let hosts = [(host(0, 1), node(0)), (host(1, 1), node(3))];
    Controller::new(planner.with_detours(detours), hosts.into_iter().collect())
}

#[test]
fn both_directions_take_the_same_of_two_equal_planned_ways() {
    let mut controller = two_planned_ways();
    let out = begin(&mut controller);
    // Addresses lead there; back they would lead by the other node.
    assert_eq!(steered(&out), [(node(1), node(0), Some(Port(0))), (node(3), node(0), Some(Port(0)))]);
    let told = |out: &Instructions| out.iter().any(|(to, _)| *to == node(LONG));
    assert!(!told(&out), "it has no function");
    let out = tell(&mut controller, 0, Report::PortStatus(Port(0), false));
    let by: Vec<_> = steered(&out).into_iter().filter(|(_, _, port)| port.is_some()).collect();
    let around = [(LONG, 3, 1), (0, 3, 1), (LONG, 0, 0), (3, 0, 1)];
    assert_eq!(by, around.map(|(at, to, port)| (node(at), node(to), Some(Port(port)))));
}
