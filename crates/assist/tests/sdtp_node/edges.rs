//! Conversion and reversion at the edges ([sdtp] §III-B), and how a connection ends.

use std::cell::RefCell;
use std::rc::Rc;

use handfast_core::SeqNum;
use handfast_wire::Packet;
use handfast_wire::tcp::{Flags, RareOptions, SackBlock, SackBlocks, Segment, Timestamps};

use crate::script::{FIRST, Flow, SERVER, ack, data, open, passes, talks};
use crate::world::{HOP, Line, Sink, host, host_v6, ms, sealed};

fn opened(flow: &Flow) -> Line<Sink> {
    let mut line = Line::scripted(sealed());
    open(&mut line, flow);
    line
}

fn flow() -> Flow {
    Flow::between(host(0, 1), host(1, 1))
}

fn connections(line: &Line<Sink>) -> [usize; 2] {
    [0, 2].map(|place| line.nodes[place].kept().connections)
}

#[test]
fn options_travel_unchanged_known_or_not() {
    let flow = flow();
    let mut line = opened(&flow);
    let mut sack = SackBlocks::NONE;
    sack.push(SackBlock { start: SeqNum(9), end: SeqNum(19) });
    let unknown = RareOptions { unknown: Box::new([253, 6, 1, 2, 3, 4]), ..RareOptions::default() };
    let timestamps = Some(Timestamps { val: 3, ecr: 4 });
    let segment = Segment { sack, timestamps, rare: Some(Box::new(unknown)), ..ack(FIRST, SERVER + 5) };
    passes(&mut line, 0, &flow.packet(0, segment), "data");
}

#[test]
fn the_traffic_class_the_hop_limit_and_reserved_bits_travel() {
    let flow = flow();
    let mut line = opened(&flow);
    let segment = Segment {
        flags: Flags(0xfff & !Flags::URG.0 & !Flags::SYN.0 & !Flags::RST.0),
        ..data(FIRST, SERVER, 9)
    };
    let packet = Packet { traffic_class: 0xb9, hop_limit: 3, identification: 77, ..flow.packet(0, segment) };
    passes(&mut line, 0, &packet, "data");
}

#[test]
fn data_says_which_host_of_its_edge_has_sent_it() {
    let mut line = Line::scripted(sealed());
    let said = Rc::new(RefCell::new(Vec::new()));
    let flows = [1, 2].map(|number| Flow::between(host(0, number), host(1, 1)));
    for flow in &flows {
        open(&mut line, flow);
    }
    let all = Rc::clone(&said);
    line.fate = Box::new(move |crossing| {
        let number = crossing.sdtp().and_then(|sdtp| sdtp.data()).map(|data| data.host);
        all.borrow_mut().extend(number.filter(|_| crossing.from == 0));
        vec![HOP]
    });
    for (flow, at) in [(&flows[0], 0), (&flows[1], 0), (&flows[0], 100)] {
        passes(&mut line, 0, &flow.packet(0, data(FIRST + at, SERVER + 1, 100)), "data");
    }
    let said = said.borrow();
    assert_eq!(said[0], said[2]);
    assert!(said[0] != said[1] && !said.contains(&0), "{said:?}");
}

#[test]
fn what_hosts_have_got_twice_counts_at_their_edge() {
    let flow = flow();
    let mut line = opened(&flow);
    let counted = |line: &Line<Sink>| [0, 2].map(|at| line.nodes[at].counters().duplicates_reported);
    passes(&mut line, 0, &flow.packet(0, data(FIRST, SERVER + 1, 100)), "data");
    let says = |start: u32, end: u32| {
        let mut sack = SackBlocks::NONE;
        sack.push(SackBlock { start: FIRST + start, end: FIRST + end });
        flow.packet(1, Segment { sack, ..ack(SERVER + 1, FIRST + 100) })
    };
    passes(&mut line, 1, &says(200, 300), "data");
    assert_eq!(counted(&line), [0, 0], "a hole is no duplicate");
    passes(&mut line, 1, &says(0, 100), "data");
    assert_eq!(counted(&line), [0, 1], "RFC 2883 §4.1");
}

#[test]
fn urgent_data_goes_unconverted() {
    let flow = flow();
    let mut line = opened(&flow);
    let urgent = Segment { flags: Flags::ACK | Flags::URG, urgent: 3, ..data(FIRST, SERVER + 1, 30) };
    passes(&mut line, 0, &flow.packet(0, urgent), "plain");
    assert_eq!(line.counted().unconverted, 1);
}

#[test]
fn hosts_may_speak_ipv6_over_edges_that_speak_ipv4() {
    let flow = Flow::between(host_v6(0, 1), host_v6(1, 1));
    let mut line = opened(&flow);
    talks(&mut line, &flow, "data");
}

#[test]
fn one_end_may_close_while_the_other_goes_on() {
    // RFC 9293 §3.6, half-close.
    let flow = flow();
    let mut line = opened(&flow);
    let fin = Segment { flags: Flags::FIN | Flags::ACK, ..ack(FIRST, SERVER + 1) };
    passes(&mut line, 0, &flow.packet(0, fin), "data");
    line.run(ms(600_000));
    passes(&mut line, 1, &flow.packet(1, data(SERVER + 1, FIRST + 1, 40)), "data");
    passes(&mut line, 0, &flow.packet(0, ack(FIRST + 1, SERVER + 41)), "data");
    let fin = Segment { flags: Flags::FIN | Flags::ACK, ..ack(SERVER + 41, FIRST + 1) };
    passes(&mut line, 1, &flow.packet(1, fin), "data");
    passes(&mut line, 0, &flow.packet(0, ack(FIRST + 1, SERVER + 42)), "data");
    line.run(ms(59_000));
    assert_eq!(connections(&line), [1, 1], "repeated segments still come");
    line.run(ms(2_000));
    assert_eq!(connections(&line), [0, 0]);
}

#[test]
fn a_reset_overtakes_what_waits_and_ends_the_connection() {
    let flow = flow();
    let mut line = opened(&flow);
    // The first segment is lost for good: the second one waits for it at the receiving edge.
    line.fate = Box::new(|crossing| if crossing.from == 0 { vec![] } else { vec![HOP] });
    line.send(0, flow.packet(0, data(FIRST, SERVER + 1, 100)));
    line.run(ms(10));
    line.fate = Box::new(|crossing| match crossing.sdtp() {
        Some(sdtp) if sdtp.sequence == FIRST => vec![],
        _ => vec![HOP],
    });
    line.send(0, flow.packet(0, data(FIRST + 100, SERVER + 1, 100)));
    line.run(ms(10));
    assert_eq!(line.got(1), []);
    let reset = flow.packet(0, Segment { flags: Flags::RST, ..ack(FIRST + 200, SERVER) });
    passes(&mut line, 0, &reset, "data");
    line.run(ms(61_000));
    assert_eq!(connections(&line), [0, 0]);
}

#[test]
fn what_one_edge_forgets_the_other_forgets_with_it() {
    let flow = flow();
    let mut line = opened(&flow);
    talks(&mut line, &flow, "data");
    // From now on the client's packets reach nobody: its edge hears of the connection, the server's edge does not.
    line.fate = Box::new(|_| vec![]);
    line.run(ms(7_000_000));
    line.send(0, flow.packet(0, data(FIRST + 100, SERVER + 51, 10)));
    line.run(ms(450_000));
    assert_eq!(connections(&line), [0, 0]);
    line.fate = Box::new(|_| vec![HOP]);
    talks(&mut line, &flow, "plain");
}

#[test]
fn a_hole_that_nobody_fills_delays_by_the_persistence_and_no_more() {
    let flow = flow();
    let mut line = opened(&flow);
    line.fate = Box::new(|crossing| match crossing.sdtp() {
        Some(sdtp) if sdtp.sequence == FIRST => vec![],
        _ => vec![HOP],
    });
    line.send(0, flow.packet(0, data(FIRST, SERVER + 1, 100)));
    line.send(0, flow.packet(0, data(FIRST + 100, SERVER + 1, 100)));
    line.run(ms(100));
    assert_eq!(line.got(1), []);
    // RFC 3366 §4.1: 200 ms.
    line.run(ms(120));
    assert_eq!(line.got(1), [flow.packet(0, data(FIRST + 100, SERVER + 1, 100))]);
}

/// RRs because later packets have come.
fn requests_by_count(line: &Line<Sink>) -> u64 {
    line.nodes.iter().map(|node| node.counters().requests_count).sum()
}

#[test]
fn of_what_a_host_has_lost_before_its_edge_the_path_is_told() {
    let flow = flow();
    let mut line = opened(&flow);
    let at = |place: u32| flow.packet(0, data(FIRST + place * 100, SERVER + 1, 100));
    passes(&mut line, 0, &at(0), "data");
    // The second is lost on its way from the host. Those behind it wait nowhere, and nobody asks for it.
    passes(&mut line, 0, &at(2), "data");
    passes(&mut line, 0, &at(3), "data");
    passes(&mut line, 0, &at(1), "data");
    passes(&mut line, 0, &at(4), "data");
    assert_eq!((requests_by_count(&line), line.crossed.get("RD")), (0, None));
}

#[test]
fn what_is_missing_at_the_start_is_told_too_and_a_reset_tells_nothing() {
    let flow = flow();
    let mut line = opened(&flow);
    passes(&mut line, 0, &flow.packet(0, data(FIRST + 100, SERVER + 1, 100)), "data");
    assert_eq!(requests_by_count(&line), 0);
    let told = line.crossed.get("RI").copied();
    let reset = Segment { flags: Flags::RST, ..ack(FIRST + 900, SERVER + 1) };
    line.send(0, flow.packet(0, reset));
    line.run(HOP * 2);
    assert_eq!(line.crossed.get("RI").copied(), told);
}
