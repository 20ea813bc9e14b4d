//! Whoever knows the key of a slice and says anything, and bytes that are no message at all: nodes go on.

use handfast_assist::sdtp::Config;
use handfast_core::SeqNum;
use handfast_wire::sdtp::{
    Congestion as Met, Content, Data, Expected, Information, InnerIp, Message, Notification, Outcome, Parity,
    Repeat, Request, Trigger,
};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Packet};
use proptest::prelude::*;

use crate::attacks::{CONNECTION, SLICE, flow, kept, message, seal, talking};
use crate::script::{FIRST, Flow, data, open, talks};
use crate::world::{KEY, LEFT, RIGHT, ms, sealed};

#[derive(Clone, Debug)]
struct Said {
    message: Message,
    sequence: SeqNum,
    slice: u16,
    connection: u16,
    reversed: bool,
    is_sealed: bool,
}

fn numbers() -> impl Strategy<Value = SeqNum> + Clone {
    prop_oneof![any::<u32>().prop_map(SeqNum), (0u32..2_000).prop_map(|by| FIRST + by)]
}

fn messages() -> impl Strategy<Value = Message> {
    let expected = (numbers(), prop::option::of(numbers()), prop_oneof![0u16..4, any::<u16>()])
        .prop_map(|(start, end, start_num)| Expected { start, end, start_num });
    let trigger = prop::sample::select(vec![Trigger::Count, Trigger::Time, Trigger::Timeout]);
    let outcome = prop_oneof![Just(Outcome::Never), any::<u16>().prop_map(|add_l| Outcome::Later { add_l })];
    let payload = (0usize..200, numbers(), 0u16..0x200, any::<(u16, bool)>()).prop_map(
        |(len, ack, flags, (since_start, whole))| {
            let flags = handfast_wire::tcp::Flags(flags & !0x20);
            let segment = Segment { flags, ..data(FIRST, ack, len) };
            let content = if whole {
                Content::Packet(Box::new(flow().packet(0, segment)))
            } else {
                Content::Segment(Segment { src_port: 0, dst_port: 0, ..segment })
            };
            Data { ip: InnerIp { hop_limit: 9, ..InnerIp::default() }, since_start, host: 0, content }
        },
    );
    let repeat = (trigger.clone(), numbers(), any::<u16>(), any::<u32>(), payload.clone()).prop_map(
        |(trigger, start, start_num, timestamp, data)| {
            Message::Repeat(Repeat { trigger, start, start_num, timestamp, data })
        },
    );
    let sum = prop::collection::vec(any::<u8>(), 0..200);
    let parity = (trigger.clone(), numbers(), 1u32..3_000, 1u16..=16, any::<(u16, bool)>(), sum).prop_map(
        |(trigger, start, len, count, (lengths, v6), sum)| {
            let (end, sum) = (start + len, sum.into());
            Message::Parity(Parity { trigger, timestamp: 0, start, end, count, lengths, check: 0, v6, sum })
        },
    );
    prop_oneof![
        payload.prop_map(Message::Data),
        parity,
        repeat,
        (trigger.clone(), expected.clone(), any::<u32>()).prop_map(|(trigger, expected, timestamp)| {
            Message::Request(Request { trigger, expected, timestamp })
        }),
        (trigger, expected, outcome).prop_map(|(trigger, expected, outcome)| {
            Message::Information(Information { trigger, expected, outcome })
        }),
        numbers().prop_map(|until| Message::Notification(Notification { until })),
        (numbers(), any::<u32>()).prop_map(|(until, held)| Message::Congestion(Met { until, held })),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    let numbers = (
        numbers(),
        prop_oneof![9 => Just(SLICE), 1 => any::<u16>()],
        // Those of lanes lie above.
        prop_oneof![6 => Just(CONNECTION), 2 => 64_512u16..64_520, 1 => any::<u16>()],
    );
    (messages(), numbers, any::<bool>(), any::<bool>()).prop_map(
        |(message, (sequence, slice, connection), reversed, is_sealed)| Said {
            message,
            sequence,
            slice,
            connection,
            reversed,
            is_sealed,
        },
    )
}

fn packet_of(said: &Said, counter: u64) -> Packet {
    let mut packet = message(said.message.clone(), said.sequence);
    if said.reversed {
        std::mem::swap(&mut packet.src, &mut packet.dst);
    }
    let Body::Sdtp(sdtp) = &mut packet.body else { panic!("{packet:?}") };
    (sdtp.slice, sdtp.connection) = (said.slice, said.connection);
    if let Message::Data(data) | Message::Repeat(Repeat { data, .. }) = &mut sdtp.message
        && let Content::Segment(segment) = &mut data.content
    {
        segment.seq = said.sequence;
    }
    if said.is_sealed { seal(packet, &KEY.of_slice(said.slice), counter) } else { packet }
}

proptest! {
    /// Of what is said without a seal only data does anything; and whatever a node of the slice says, the answer is bounded.
    #[test]
    fn whatever_is_said_nodes_go_on(
        all in prop::collection::vec((said(), 0usize..3), 1..40), lanes in any::<bool>(), parity in any::<bool>(),
    ) {
        let mut config = Config { all: lanes, ..sealed() };
        config.caching.parity = parity;
        let mut line = talking(config);
        let before: u64 = line.crossed.values().sum();
        for (counter, (said, place)) in (1 << 50..).zip(&all) {
            line.inject(*place, if said.reversed { RIGHT } else { LEFT }, packet_of(said, counter));
            line.run(ms(1));
        }
        line.run(ms(20_000));
        let sent = line.crossed.values().sum::<u64>() - before;
        // A request may fetch all ten packets, each over two links; the rest is CNs, RRs and their repetitions.
        prop_assert!(sent < 2_000 + 100 * all.len() as u64, "{sent} packets after {}", all.len());
        let kept = kept(&line);
        prop_assert!(kept.iter().all(|kept| kept.waiting == 0), "{kept:?}");
        line.ends = Default::default();
        let next = Flow::from_port(6_000);
        open(&mut line, &next);
        talks(&mut line, &next, "data");
    }

    /// Bits that turn on the way, and bytes that are no packet at all.
    #[test]
    fn random_bytes_are_survived(
        said in said(), flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..6), place in 0usize..3,
    ) {
        let mut line = talking(sealed());
        let mut bytes = Vec::new();
        packet_of(&said, 1 << 50).emit(&mut bytes).unwrap();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        for checksums in [handfast_wire::Checksums::Verify, handfast_wire::Checksums::Trust] {
            let parsed = Packet::parse(handfast_wire::LinkType::RawIp, &bytes.clone().into(), checksums);
            let Ok(packet) = parsed else { continue };
            let packet = packet.to_sdtp(checksums).unwrap_or(packet);
            if packet.emit(&mut Vec::new()).is_ok() {
                line.inject(place, LEFT, packet.clone());
                line.inject(place, RIGHT, packet);
                line.run(ms(50));
            }
        }
        line.run(ms(1_000));
    }
}
