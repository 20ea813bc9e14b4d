//! SDTP for the tests: any packet that has a form on the wire.

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::sdtp::{
    Carriage, Congestion, Content, Data, Expected, Information, InnerIp, Message, Notification, Outcome,
    Parity, Repeat, Request, Sdtp, Seal, Trigger,
};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

fn carriage() -> impl Strategy<Value = Carriage> {
    prop_oneof![Just(Carriage::Native), Just(Carriage::Ip), Just(Carriage::Udp)]
}

fn trigger() -> impl Strategy<Value = Trigger> {
    prop_oneof![Just(Trigger::Count), Just(Trigger::Time), Just(Trigger::Timeout)]
}

fn seq() -> impl Strategy<Value = SeqNum> {
    any::<u32>().prop_map(SeqNum)
}

fn expected() -> impl Strategy<Value = Expected> {
    (seq(), of(seq()), any::<u16>()).prop_map(|(start, end, start_num)| Expected { start, end, start_num })
}

fn inner_ip() -> impl Strategy<Value = InnerIp> {
    (any::<(bool, u8, u8, u16, bool)>(), 0..=0xf_ffff_u32).prop_map(|(fields, flow_label)| {
        let (v6, hop_limit, traffic_class, identification, dont_fragment) = fields;
        InnerIp { v6, hop_limit, traffic_class, identification, dont_fragment, flow_label }
    })
}

fn content(segment: BoxedStrategy<Segment>, whole: BoxedStrategy<Packet>) -> impl Strategy<Value = Content> {
    prop_oneof![
        3 => segment.prop_map(Content::Segment),
        1 => whole.prop_map(|packet| Content::Packet(Box::new(packet))),
    ]
}

/// Data whose segment is without ports and urgent data, and whose fields say the version of its packet.
fn data(segment: BoxedStrategy<Segment>, whole: BoxedStrategy<Packet>) -> impl Strategy<Value = Data> {
    let numbers = (any::<u16>(), 0..=Data::HOSTS);
    (inner_ip(), numbers, content(segment, whole)).prop_map(|(mut ip, (since_start, host), mut content)| {
        match &mut content {
            Content::Segment(segment) => {
                (segment.src_port, segment.dst_port, segment.urgent) = (0, 0, 0);
                segment.flags = segment.flags.without(Flags::URG);
            }
            Content::Packet(packet) => ip.v6 = packet.src.is_ipv6(),
        }
        Data { ip, since_start, host, content }
    })
}

/// One that says what it likes of its packets.
fn parity() -> impl Strategy<Value = Parity> {
    let packets = (seq(), 1_u32..1 << 31, 1..=Parity::MOST as u16, any::<(u16, u32)>());
    let sum = vec(any::<u8>(), 0..80).prop_map(Bytes::from);
    (trigger(), any::<u32>(), packets, any::<bool>(), sum).prop_map(
        |(trigger, timestamp, (start, len, count, (lengths, check)), v6, sum)| {
            let end = start + len;
            Parity { trigger, timestamp, start, end, count, lengths, check, v6, sum }
        },
    )
}

fn message(data: BoxedStrategy<Data>) -> impl Strategy<Value = Message> {
    let outcome = prop_oneof![Just(Outcome::Never), any::<u16>().prop_map(|add_l| Outcome::Later { add_l })];
    let request = (trigger(), expected(), any::<u32>()).prop_map(|(trigger, expected, timestamp)| Request {
        trigger,
        expected,
        timestamp,
    });
    let repeat = (trigger(), seq(), any::<(u16, u32)>(), data.clone()).prop_map(
        |(trigger, start, (start_num, timestamp), data)| {
            Message::Repeat(Repeat { trigger, start, start_num, timestamp, data })
        },
    );
    let information = (trigger(), expected(), outcome).prop_map(|(trigger, expected, outcome)| Information {
        trigger,
        expected,
        outcome,
    });
    prop_oneof![
        data.prop_map(Message::Data),
        request.prop_map(Message::Request),
        repeat,
        information.prop_map(Message::Information),
        seq().prop_map(|until| Message::Notification(Notification { until })),
        (seq(), any::<u32>()).prop_map(|(until, held)| Message::Congestion(Congestion { until, held })),
        parity().prop_map(Message::Parity),
    ]
}

/// Any SDTP that carries such segments and such packets.
pub(crate) fn sdtp(
    segment: BoxedStrategy<Segment>,
    whole: BoxedStrategy<Packet>,
) -> impl Strategy<Value = Sdtp> {
    let seal = any::<(u32, u64, [u8; 16])>().prop_map(|(node, counter, tag)| Seal { node, counter, tag });
    let message = message(data(segment, whole).boxed());
    (carriage(), any::<(u16, u16)>(), seq(), message, of(seal)).prop_map(
        |(carriage, (slice, connection), sequence, mut message, seal)| {
            if let Message::Data(data) | Message::Repeat(Repeat { data, .. }) = &mut message
                && let Content::Segment(segment) = &mut data.content
            {
                segment.seq = sequence;
            }
            Sdtp { carriage, slice, connection, sequence, message, seal }
        },
    )
}

/// The packet with what SDTP in its carriage can say: without an IP header, IPv4 addresses and ECN.
pub(crate) fn carried(mut packet: Packet, sdtp: Sdtp) -> Packet {
    if sdtp.carriage == Carriage::Native {
        let v4 = |octet| [10, 0, 0, octet].into();
        if packet.src.is_ipv6() {
            (packet.src, packet.dst) = (v4(1), v4(2));
        }
        packet.traffic_class &= 3;
        (packet.hop_limit, packet.identification, packet.quick_start) = (64, 0, None);
        (packet.may_fragment, packet.flow_label) = (false, 0);
    }
    Packet { body: Body::Sdtp(Box::new(sdtp)), ..packet }
}
