//! SDTP packets without a form on the wire that parses back to them.

use handfast_core::SeqNum;
use handfast_wire::sdtp::{Carriage, Content, Data, Message, Sdtp, Unfit};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{
    Body, EmitError, Ethernet, Packet, Payload, QuickStart, QuickStartNonce, QuickStartRate,
};

use crate::samples::{between_edges, data, emit, notification, packet, repeat, sdtp, segment, whole};

fn refused(packet: &Packet) -> EmitError {
    let mut out = vec![7];
    let error = packet.emit(&mut out).unwrap_err();
    assert_eq!(out, [7]);
    assert_eq!(packet.emit_into(&mut [0; 2000]), Err(error));
    error
}

fn unfit(packet: &Packet) -> Unfit {
    match refused(packet) {
        EmitError::Sdtp(unfit) => unfit,
        other => panic!("{other}"),
    }
}

fn with_segment(segment: Segment) -> Packet {
    packet(Message::Data(Data { content: Content::Segment(segment), ..data() }))
}

fn with_whole(change: impl FnOnce(&mut Packet)) -> Packet {
    let mut data = whole();
    let Content::Packet(inner) = &mut data.content else { unreachable!() };
    change(inner);
    packet(Message::Data(data))
}

#[test]
fn a_segment_says_no_more_than_its_fields_hold() {
    let cases = [
        (Segment { src_port: 1, ..segment() }, Unfit::Ports),
        (Segment { dst_port: 1, ..segment() }, Unfit::Ports),
        (Segment { seq: SeqNum(1), ..segment() }, Unfit::Sequence),
        (Segment { flags: Flags::ACK | Flags::URG, ..segment() }, Unfit::Urgent),
        (Segment { urgent: 1, ..segment() }, Unfit::Urgent),
    ];
    for (segment, why) in cases {
        assert_eq!(unfit(&with_segment(segment)), why);
    }
    let flags = Segment { flags: Flags(0x1000), ..segment() };
    assert_eq!(refused(&with_segment(flags)), EmitError::Flags(0x1000));
    let Message::Repeat(mut again) = repeat() else { unreachable!() };
    again.data.content = Content::Segment(Segment { src_port: 1, ..segment() });
    assert_eq!(unfit(&packet(Message::Repeat(again))), Unfit::Ports);
}

#[test]
fn a_flow_label_has_20_bits() {
    let mut data = data();
    data.ip.flow_label = 0x10_0000;
    assert_eq!(unfit(&packet(Message::Data(data.clone()))), Unfit::FlowLabel(0x10_0000));
    data.ip.flow_label -= 1;
    emit(&packet(Message::Data(data)));
}

#[test]
fn a_whole_packet_has_no_frame_and_is_no_sdtp() {
    let framed = with_whole(|inner| inner.ethernet = Some(Ethernet::default()));
    assert_eq!(unfit(&framed), Unfit::Framed);
    let nested = with_whole(|inner| *inner = packet(notification()));
    assert_eq!(unfit(&nested), Unfit::Nested);
    let mut data = whole();
    data.ip.v6 = true;
    assert_eq!(unfit(&packet(Message::Data(data))), Unfit::Version);
    // What makes any packet unfit.
    let tcp = with_whole(|inner| {
        inner.body = Body::Other { protocol: 6, payload: Payload::EMPTY };
    });
    assert_eq!(refused(&tcp), EmitError::Protocol(6));
}

#[test]
fn native_packets_have_what_their_header_holds() {
    let [src, dst] = ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().unwrap());
    assert_eq!(unfit(&Packet::sdtp(src, dst, sdtp(notification()))), Unfit::NativeAddress);
    let report = QuickStart::Report { rate: QuickStartRate::NONE, nonce: QuickStartNonce::default() };
    let plain = packet(notification());
    let with_ip = |carriage| between_edges(Sdtp { carriage, ..sdtp(notification()) });
    for change in [
        |packet: &mut Packet, _| packet.hop_limit = 63,
        |packet: &mut Packet, _| packet.traffic_class = 4,
        |packet: &mut Packet, _| packet.identification = 1,
        |packet: &mut Packet, _| packet.may_fragment = true,
        |packet: &mut Packet, report| packet.quick_start = Some(report),
    ] {
        let mut native = plain.clone();
        change(&mut native, report);
        assert_eq!(unfit(&native), Unfit::NativeHeader);
        for carriage in [Carriage::Ip, Carriage::Udp] {
            let mut packet = with_ip(carriage);
            change(&mut packet, report);
            assert_eq!(packet.through_wire(), Ok(packet));
        }
    }
    let mixed = Packet { dst, ..plain };
    assert_eq!(refused(&mixed), EmitError::AddressFamilies);
}

#[test]
fn the_longest_packet_is_what_the_length_fields_can_state() {
    let of = |carriage, len| {
        let payload = Payload::Synthetic { stream: 0, offset: 0, len };
        let content = Content::Segment(Segment { payload, timestamps: None, ..segment() });
        between_edges(Sdtp { carriage, ..sdtp(Message::Data(Data { content, ..data() })) })
    };
    for (carriage, headers) in [(Carriage::Native, 44), (Carriage::Ip, 64), (Carriage::Udp, 72)] {
        let longest = of(carriage, 65_535 - headers);
        assert_eq!(longest.through_wire(), Ok(longest));
        assert_eq!(refused(&of(carriage, 65_536 - headers)), EmitError::PacketLength(65_536));
    }
}

#[test]
fn errors_say_what_was_expected() {
    let texts = [
        (Unfit::FlowLabel(0x10_0000), "SDTP: flow label 0x100000: expected at most 20 bits"),
        (Unfit::Host(2048), "SDTP: number of the host 2048: expected at most 2047"),
        (Unfit::Ports, "SDTP: TCP segment: expected ports of 0, both edges know them"),
        (Unfit::Sequence, "SDTP: TCP segment: expected the sequence number of its SDTP packet"),
        (Unfit::Urgent, "SDTP: TCP segment: expected one without urgent data"),
        (Unfit::Version, "SDTP: whole IP packet: expected the version that the packet's fields say"),
        (Unfit::Framed, "SDTP: whole IP packet: expected none with an Ethernet header"),
        (Unfit::Nested, "SDTP: whole IP packet: expected none that is SDTP itself"),
        (Unfit::NativeAddress, "SDTP: edges: expected IPv4 addresses, native SDTP has no room for others"),
        (
            Unfit::NativeHeader,
            "SDTP: IP header: expected a hop limit of 64 and of the rest only ECN, native SDTP has no fields for more",
        ),
        (Unfit::Unsealed, "SDTP: packet: expected one with a seal"),
    ];
    for (unfit, text) in texts {
        assert_eq!(EmitError::from(unfit).to_string(), text);
    }
}
