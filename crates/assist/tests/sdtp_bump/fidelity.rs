//! What a host sends is what the other one gets.

use handfast_assist::sdtp::bump::{Mode, Side};
use handfast_core::SeqNum;
use handfast_wire::sdtp::Carriage;
use handfast_wire::tcp::{Flags, RareOptions, SackBlock, SackBlocks, Segment};
use handfast_wire::{Body, Packet, Vlan};

use crate::world::{CLIENT, Sent, World, edge, sent};

/// What a sender varies.
type Change = fn(&mut Packet);

const DATA: Flags = Flags(Flags::ACK.0 | Flags::PSH.0);

#[test]
fn what_senders_vary_comes_back_byte_for_byte() {
    let plain: Change = |_| ();
    let cases: [(bool, Change); 6] = [
        (false, plain),
        (true, plain),
        (true, |packet| packet.flow_label = 0xf_4321),
        (false, |packet| packet.may_fragment = true),
        (false, |packet| (packet.hop_limit, packet.traffic_class, packet.identification) = (7, 0xba, 0x1234)),
        (false, |packet| {
            let vlan = Some(Vlan { priority: 5, drop_eligible: true, id: 77 });
            packet.ethernet.as_mut().unwrap().vlan = vlan;
        }),
    ];
    for carriage in [Carriage::Udp, Carriage::Ip, Carriage::Native] {
        for (v6, change) in cases {
            let mut world = World::new(Mode::Act, carriage);
            world.open(v6, change);
            let with = |sent: Sent| Sent { v6, change, ..sent };
            let there = [(101, &b"hello"[..]), (106, b" wor"), (110, b"ld")]
                .map(|(seq, bytes)| world.send(&with(sent(false, DATA, seq, 501, bytes))));
            let mut answer = with(sent(true, Flags::ACK, 501, 106, b""));
            answer.segment.sack = SackBlocks::NONE;
            assert!(answer.segment.sack.push(SackBlock { start: SeqNum(110), end: SeqNum(112) }));
            let back = world.send(&answer);
            assert_eq!(world.came, [vec![back], there.to_vec()]);
            for packet in world.packets(1, Side::Inside) {
                assert!(matches!(&packet.body, Body::Sdtp(sdtp) if sdtp.carriage == carriage), "{packet:?}");
                let ethernet = packet.ethernet.unwrap();
                assert_eq!((packet.src, packet.dst), (edge(0), edge(2)));
                assert_eq!((ethernet.src, ethernet.dst), (CLIENT.src, CLIENT.dst), "the frame of the host");
            }
        }
    }
}

/// The bytes of the client's data segment, changed; a header checksum is mended.
fn changed(change: fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut frame = sent(false, DATA, 101, 501, b"hello").frame();
    change(&mut frame);
    frame
}

/// The header's checksum is right again.
pub(crate) fn mend(frame: &mut [u8]) {
    let len = usize::from(frame[14] & 15) * 4;
    frame[24..26].fill(0);
    let words = frame[14..14 + len].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[test]
fn what_conversion_would_change_goes_as_it_came() {
    let cases: [fn(&mut Vec<u8>); 4] = [
        // An IPv4 option: router alert.
        |frame| {
            frame.splice(34..34, [148, 4, 0, 0]);
            frame[14] += 1;
            frame[17] += 4;
            mend(frame);
        },
        // The reserved flag of IPv4.
        |frame| {
            frame[20] |= 0x80;
            mend(frame);
        },
        // Timestamps before their NOPs.
        |frame| frame[54..66].rotate_left(2),
        // A wrong TCP checksum.
        |frame| frame[50] ^= 1,
    ];
    for (number, change) in cases.into_iter().enumerate() {
        let mut world = World::new(Mode::Act, Carriage::Udp);
        world.open(false, |_| ());
        let frame = changed(change);
        world.inject(false, frame.clone());
        assert_eq!(world.came[1], std::slice::from_ref(&frame), "{number}");
        assert_eq!(world.crossed[0].2, frame, "{number}: it is not converted");
    }
}

#[test]
fn a_syn_with_ip_options_begins_a_plain_connection() {
    let mut world = World::new(Mode::Act, Carriage::Udp);
    let mut syn = sent(false, Flags::SYN, 100, 0, b"").frame();
    // Router alert.
    syn.splice(34..34, [148, 4, 0, 0]);
    syn[14] += 1;
    syn[17] += 4;
    mend(&mut syn);
    world.inject(false, syn.clone());
    let answer = world.send(&sent(true, Flags::SYN | Flags::ACK, 500, 101, b""));
    let data = world.send(&sent(false, DATA, 101, 501, b"hello"));
    assert_eq!(world.came[1], [syn, data]);
    assert_eq!(world.came[0].len(), 1);
    assert_ne!(world.came[0][0], answer, "its segment size is lowered all the same");
    assert_eq!(world.node_counter(0, "packet_ins"), 0);
}

#[test]
fn a_signed_connection_goes_as_it_came() {
    for kind in [19, 29] {
        let signed = |sent: Sent| {
            let rare = RareOptions { unknown: [kind, 6, 1, 2, 3, 4].into(), ..RareOptions::default() };
            Sent { segment: Segment { rare: Some(Box::new(rare)), ..sent.segment }, ..sent }
        };
        let mut world = World::new(Mode::Act, Carriage::Udp);
        let syn = world.send(&signed(sent(false, Flags::SYN, 100, 0, b"")));
        let answer = world.send(&signed(sent(true, Flags::SYN | Flags::ACK, 500, 101, b"")));
        let data = world.send(&signed(sent(false, DATA, 101, 501, b"hello")));
        assert_eq!(world.came, [vec![answer], vec![syn, data]], "{kind}");
        assert_eq!(world.node_counter(0, "packet_ins"), 0);
    }
}

#[test]
fn what_is_no_tcp_goes_as_it_came() {
    let mut arp = vec![0xff; 6];
    arp.extend([2, 0, 0, 0, 0, 1, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
    arp.extend([0; 20]);
    let frames = [
        arp,
        // A fragment.
        changed(|frame| {
            frame[20] = 0x20;
            mend(frame);
        }),
        // Two tags.
        changed(|frame| {
            frame.splice(12..12, [0x88, 0xa8, 0, 5, 0x81, 0, 0, 6]);
        }),
        // UDP.
        changed(|frame| {
            frame[23] = 17;
            mend(frame);
        }),
        // Cut, and nothing.
        changed(|frame| frame.truncate(40)),
        vec![1, 2, 3],
        vec![],
        // With padding.
        changed(|frame| frame.extend([0xee; 9])),
    ];
    let mut world = World::new(Mode::Act, Carriage::Udp);
    for frame in &frames {
        world.inject(false, frame.clone());
        world.inject(true, frame.clone());
    }
    assert_eq!(world.came, [frames.to_vec(), frames.to_vec()]);
}

#[test]
fn an_observer_changes_nothing_and_counts_what_it_would() {
    let mut world = World::new(Mode::Observe, Carriage::Udp);
    let frames = [
        world.send(&sent(false, Flags::SYN, 100, 0, b"")),
        world.send(&sent(false, DATA, 101, 501, b"hello")),
        world.send(&sent(false, DATA, 106, 501, b"again")),
    ];
    assert_eq!(world.came[1], frames);
    let counters = world.bumps[0].counters().0;
    assert_eq!((counters.would_report, counters.would_convert, counters.passed), (1, 2, 3));
    assert_eq!(world.node_counter(0, "packet_ins"), 0);
}
