//! The two-way handshake ([sdtp] §III-A) and what can go wrong with it.

use handfast_assist::sdtp::{Admission, Config, Instruction, Limits, Name, Order};
use handfast_core::SeqNum;
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Packet, Payload};

use crate::script::{
    CLIENT, FIRST, FLAT, Flow, SERVER, ack, data, open, passes, segment, syn, syn_ack, talks,
};
use crate::world::{Line, host, host_v6, ms, node, sealed};

fn flow() -> Flow {
    Flow::between(host(0, 1), host(1, 1))
}

fn flags(packets: &std::collections::VecDeque<Packet>) -> Vec<Flags> {
    packets.iter().map(|packet| segment(packet).flags).collect()
}

#[test]
fn the_closing_ack_waits_for_the_controller_and_is_what_the_client_would_send() {
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    line.send(0, flow.packet(0, syn(CLIENT)));
    line.run(ms(20));
    line.got(1);
    line.send(1, flow.packet(1, syn_ack(SERVER, FIRST)));
    // To the edge 1 ms, to the controller 3.
    line.run(ms(4));
    assert_eq!(line.got(1), [], "§III-A step 5 comes after step 4");
    line.run(ms(4));
    let got = line.got(1);
    let closing = segment(&got[0]);
    assert_eq!((closing.seq, closing.ack, closing.flags), (FIRST, SERVER + 1, Flags::ACK));
    assert_eq!(flags(&line.got(0)), [Flags::SYN | Flags::ACK]);
    assert_eq!(line.crossed.len(), 0, "no packet of the handshake crosses the core");
}

#[test]
fn of_the_client_the_matching_pure_ack_alone_is_dropped() {
    // §III-A step 5. What says more goes on: a data segment, a FIN, and later ACKs, with whatever window.
    let fin = Segment { flags: Flags::FIN | Flags::ACK, ..ack(FIRST, SERVER + 1) };
    for first in [data(FIRST, SERVER + 1, 10), fin, Segment { window: 9, ..ack(FIRST, SERVER + 2) }] {
        let (mut line, flow) = (Line::scripted(sealed()), flow());
        line.send(0, flow.packet(0, syn(CLIENT)));
        line.run(ms(20));
        line.send(1, flow.packet(1, syn_ack(SERVER, FIRST)));
        line.run(ms(20));
        line.got(1);
        passes(&mut line, 0, &flow.packet(0, first), "data");
    }
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    open(&mut line, &flow);
    assert_eq!(line.counted().dropped_acks, 1);
    let update = Segment { window: 900, ..ack(FIRST, SERVER + 1) };
    passes(&mut line, 0, &flow.packet(0, update), "data");
}

#[test]
fn a_syn_that_comes_again_before_the_answer_reaches_the_server_again() {
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    for _ in 0..3 {
        line.send(0, flow.packet(0, syn(CLIENT)));
        line.run(ms(20));
        assert_eq!(flags(&line.got(1)), [Flags::SYN]);
    }
    assert_eq!((line.counted().connections, line.controller.counted().admitted), (1, 1));
    line.send(1, flow.packet(1, syn_ack(SERVER, FIRST)));
    line.run(ms(20));
    assert_eq!((flags(&line.got(0)), flags(&line.got(1))), (vec![Flags::SYN | Flags::ACK], vec![Flags::ACK]));
    talks(&mut line, &flow, "data");
}

/// RFC 7323 §5.3, R1: the server drops what is older than the SYN that it has seen last.
#[test]
fn the_closing_ack_has_the_timestamp_of_the_last_syn() {
    // The last one may also be one that came late.
    for sent in [[1, 1_025], [1_025, 1]] {
        let (mut line, flow) = (Line::scripted(sealed()), flow());
        for val in sent {
            let timestamps = Some(Timestamps { val, ecr: 0 });
            line.send(0, flow.packet(0, Segment { timestamps, ..syn(CLIENT) }));
            line.run(ms(20));
        }
        line.got(1);
        line.send(1, flow.packet(1, syn_ack(SERVER, FIRST)));
        line.run(ms(20));
        let got = line.got(1);
        let timestamps = segment(&got[0]).timestamps.unwrap();
        assert_eq!((timestamps.val, timestamps.ecr), (1_025, 1), "{sent:?}");
    }
}

#[test]
fn an_answer_that_was_lost_on_its_way_to_the_client_comes_with_its_next_syn() {
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    line.send(0, flow.packet(0, syn(CLIENT)));
    line.run(ms(20));
    // The packet-in of the SYN-ACK arrives, its packet-out does not.
    let mut left = [false, true].into_iter();
    line.loses_control = Box::new(move || left.next().unwrap_or(false));
    line.send(1, flow.packet(1, syn_ack(SERVER, FIRST)));
    line.run(ms(20));
    assert_eq!((line.got(0).len(), flags(&line.got(1))), (0, vec![Flags::SYN, Flags::ACK]));
    line.send(0, flow.packet(0, syn(CLIENT)));
    line.run(ms(20));
    assert_eq!(flags(&line.got(1)), [Flags::ACK], "no SYN: the server has left SYN-RECEIVED");
    assert_eq!(flags(&line.got(0)), [Flags::SYN | Flags::ACK]);
    talks(&mut line, &flow, "data");
}

#[test]
fn an_old_syn_that_comes_late_changes_nothing() {
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    open(&mut line, &flow);
    talks(&mut line, &flow, "data");
    line.send(0, flow.packet(0, syn(CLIENT)));
    line.run(ms(20));
    assert_eq!(flags(&line.got(1)), [Flags::SYN], "RFC 9293 §3.10.7.4: the server answers it itself");
    passes(&mut line, 0, &flow.packet(0, data(FIRST + 100, SERVER + 51, 100)), "data");
    passes(&mut line, 1, &flow.packet(1, data(SERVER + 51, FIRST + 200, 50)), "data");
}

#[test]
fn the_next_connection_of_the_same_ports_begins_anew() {
    let later = 100_000;
    // A server may begin with the same number again. The table is full, and has room for what takes the old one's place.
    for server in [SERVER, SERVER + later] {
        let (mut line, flow) = (Line::scripted(Config { connections: 1, ..sealed() }), flow());
        open(&mut line, &flow);
        talks(&mut line, &flow, "data");
        line.send(0, flow.packet(0, syn(CLIENT + later)));
        line.run(ms(20));
        line.send(1, flow.packet(1, syn_ack(server, FIRST + later)));
        line.run(ms(20));
        assert_eq!(flags(&line.got(0)), [Flags::SYN | Flags::ACK]);
        assert_eq!(flags(&line.got(1)), [Flags::SYN, Flags::ACK]);
        line.send(0, flow.packet(0, ack(FIRST + later, server + 1)));
        line.run(ms(20));
        assert_eq!((line.got(1).len(), line.counted().dropped_acks), (0, 2));
        passes(&mut line, 0, &flow.packet(0, data(FIRST + later, server + 1, 100)), "data");
        passes(&mut line, 1, &flow.packet(1, data(server + 1, FIRST + later + 100, 50)), "data");
    }
}

#[test]
fn a_server_that_refuses_is_heard() {
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    line.send(0, flow.packet(0, syn(CLIENT)));
    line.run(ms(20));
    line.got(1);
    // RFC 9293 §3.10.7.1.
    let refusal = Segment { flags: Flags::RST | Flags::ACK, ..ack(SeqNum(0), FIRST) };
    passes(&mut line, 1, &flow.packet(1, refusal), "plain");
    assert_eq!(line.nodes[2].kept().connections, 0);
    line.run(ms(10));
    open(&mut line, &flow);
    talks(&mut line, &flow, "data");
    assert_eq!(line.controller.counted().admitted, 2, "the number was free again");
}

#[test]
fn a_handshake_without_an_answer_is_forgotten_after_four_minutes() {
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    line.send(0, flow.packet(0, syn(CLIENT)));
    // RFC 5382 §5 REQ-5.
    line.run(ms(239_000));
    assert_eq!(line.nodes[2].kept().connections, 1);
    line.run(ms(3_000));
    assert_eq!(line.nodes[2].kept().connections, 0);
    let idle = Flow::from_port(6_000);
    line.got(1);
    open(&mut line, &idle);
    line.run(ms(7_300_000));
    assert_eq!([0, 2].map(|place| line.nodes[place].kept().connections), [1, 1], "it is open");
    line.run(ms(200_000));
    assert_eq!([0, 2].map(|place| line.nodes[place].kept().connections), [0, 0]);
}

#[test]
fn a_full_table_at_the_servers_edge_leaves_plain_tcp() {
    let (mut line, flow) = (Line::scripted(Config { connections: 1, ..sealed() }), flow());
    open(&mut line, &flow);
    let other = Flow::from_port(6_000);
    line.send(0, other.packet(0, syn(CLIENT)));
    line.run(ms(20));
    assert_eq!(flags(&line.got(1)), [Flags::SYN]);
    passes(&mut line, 1, &other.packet(1, Segment { mss: Some(1_300), ..syn_ack(SERVER, FIRST) }), "plain");
    passes(&mut line, 0, &other.packet(0, ack(FIRST, SERVER + 1)), "plain");
    talks(&mut line, &other, "plain");
    talks(&mut line, &flow, "data");
    assert_eq!(line.counted().connections_refused, 1);
}

#[test]
fn a_full_table_at_the_clients_edge_leaves_plain_tcp() {
    let (mut line, flow) = (Line::scripted(Config { connections: 1, ..sealed() }), flow());
    let name = Name { peer: node(9), slice: 77, connection: 1 };
    let other = Flow::between(host(0, 2), host(1, 2));
    let admission = Admission { name, client: other.client, server: other.server };
    let packet = Some(other.packet(1, syn_ack(SERVER, FIRST)));
    line.instruct(0, Instruction { order: Some(Order::Admit(admission)), packet });
    line.run(ms(20));
    line.got(0);
    line.send(0, flow.packet(0, syn(CLIENT)));
    line.run(ms(20));
    line.send(1, flow.packet(1, syn_ack(SERVER, FIRST)));
    line.run(ms(20));
    // The server's edge cannot know that its answer has come, and repeats it.
    assert_eq!(flags(&line.got(0)), [Flags::SYN | Flags::ACK; 2]);
    assert_eq!(flags(&line.got(1)), [Flags::SYN, Flags::ACK]);
    assert_eq!([0, 2].map(|place| line.nodes[place].kept().connections), [1, 0]);
    passes(&mut line, 0, &flow.packet(0, ack(FIRST, SERVER + 1)), "plain");
    talks(&mut line, &flow, "plain");
}

#[test]
fn a_flood_of_handshakes_leaves_plain_tcp() {
    let packet_ins = Limits { per_host: 1, total: 100 };
    let (mut line, flow) = (Line::scripted(Config { packet_ins, ..sealed() }), flow());
    open(&mut line, &flow);
    let other = Flow::from_port(6_000);
    passes(&mut line, 0, &other.packet(0, Segment { mss: Some(900), ..syn(CLIENT) }), "plain");
    passes(&mut line, 1, &other.packet(1, Segment { mss: Some(900), ..syn_ack(SERVER, FIRST) }), "plain");
    talks(&mut line, &other, "plain");
    assert_eq!((line.counted().packet_ins_refused, line.controller.counted().packet_ins), (1, 2));
}

#[test]
fn hosts_that_open_at_the_same_time_get_plain_tcp() {
    // RFC 9293 §3.5, Figure 7.
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    line.send(0, flow.packet(0, syn(CLIENT)));
    line.send(1, flow.packet(1, syn(SERVER)));
    line.run(ms(30));
    assert_eq!([0, 1].map(|end| flags(&line.got(end))), [vec![Flags::SYN], vec![Flags::SYN]]);
    passes(&mut line, 0, &flow.packet(0, Segment { mss: Some(900), ..syn_ack(CLIENT, SERVER + 1) }), "plain");
    passes(&mut line, 1, &flow.packet(1, Segment { mss: Some(900), ..syn_ack(SERVER, FIRST) }), "plain");
    talks(&mut line, &flow, "plain");
    assert_eq!([0, 2].map(|place| line.nodes[place].kept().connections), [0, 0]);
}

#[test]
fn data_in_a_syn_passes_and_what_follows_does_not_wait_for_it() {
    // RFC 7413 §3.1.
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    let payload = data(CLIENT, SERVER, 60).payload;
    line.send(0, flow.packet(0, Segment { payload, ..syn(CLIENT) }));
    line.run(ms(20));
    assert_eq!(segment(&line.got(1)[0]).payload.len(), 60);
    line.send(1, flow.packet(1, syn_ack(SERVER, FIRST + 60)));
    line.run(ms(20));
    let got = line.got(1);
    let closing = segment(&got[0]);
    assert_eq!((closing.seq, closing.payload.clone()), (FIRST + 60, Payload::EMPTY));
    passes(&mut line, 0, &flow.packet(0, data(FIRST + 60, SERVER + 1, 100)), "data");
}

#[test]
fn hosts_without_an_edge_behind_the_core_get_plain_tcp() {
    let mut line = Line::scripted(sealed());
    let abroad = Flow::between(host(0, 1), node(1));
    line.send(0, abroad.packet(0, syn(CLIENT)));
    line.run(ms(20));
    assert_eq!(line.controller.counted().plain, 1);
    assert_eq!(line.crossed.get("plain"), Some(&1));
}

#[test]
fn segment_sizes_are_lowered_so_that_an_rd_fits() {
    // UDP: 1500 - 40 - 32 for the headers of data, 20 for the field of RD and 28 for its seal.
    for (from, to, most) in [(host(0, 1), host(1, 1), 1_380), (host_v6(0, 1), host_v6(1, 1), 1_380)] {
        let (mut line, flow) = (Line::scripted(sealed()), Flow::between(from, to));
        let mss = |got: &std::collections::VecDeque<Packet>| segment(&got[0]).mss;
        line.send(0, flow.packet(0, syn(CLIENT)));
        line.run(ms(20));
        assert_eq!(mss(&line.got(1)), Some(most));
        line.send(1, flow.packet(1, Segment { mss: Some(536), ..syn_ack(SERVER, FIRST) }));
        line.run(ms(20));
        assert_eq!(mss(&line.got(0)), Some(536), "never raised");
    }
    let (mut line, flow) = (Line::scripted(sealed()), flow());
    line.send(0, flow.packet(0, Segment { mss: None, ..syn(CLIENT) }));
    line.run(ms(20));
    assert_eq!(segment(&line.got(1)[0]).mss, None);
    assert_eq!(FLAT.mss, None);
}
