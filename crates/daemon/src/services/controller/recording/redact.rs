//! What of a message may be written to disk: everything but what packets carry.

use bytes::Bytes;
use handfast_wire::openflow::{Body, Message, MultipartReply, TableFeatures};
use handfast_wire::{
    Announcement, Body as Layer, Checksums, Glance, LinkType, Packet, ParseError, Solicitation,
};

/// Of an Ethernet frame that cannot be read: addresses, a VLAN tag and what it carries.
const ETHERNET: usize = 18;
/// And of a fragment its IPv4 header, without which it would not be one.
const FRAGMENT: usize = ETHERNET + 20;
/// Of an ARP message for IPv4, all.
const ARP: usize = ETHERNET + 28;
/// Of what follows an IP header that is not TCP: ports, or an ICMP type.
const PORTS: usize = 4;
/// Of a message that failed, as an error quotes it: its header.
const QUOTED: usize = 8;

/// The message's bytes, with zeros for what packets in it carry. Its length stays, but for what a switch says of its tables:
/// hundreds of them, all alike, of which the first is of interest.
pub(super) fn redacted(bytes: &Bytes, message: &Message) -> Vec<u8> {
    if let Some(first) = first_table(&message.body) {
        let mut bytes = Vec::new();
        // It has a form on the wire: it came from there.
        let _ = Message { xid: message.xid, body: Body::MultipartReply(first) }.emit(&mut bytes);
        return bytes;
    }
    // All of them are the message's end.
    let (tail, kept) = match &message.body {
        Body::PacketIn(packet) => (packet.data.len(), headers(&packet.data)),
        Body::PacketOut(packet) => (packet.data.len(), headers(&packet.data)),
        Body::Error(error) => (error.data.len(), QUOTED),
        Body::Unknown { body, .. } => (body.len(), 0),
        _ => (0, 0),
    };
    let mut bytes = bytes.to_vec();
    let zeros = bytes.len() - tail + kept.min(tail);
    bytes[zeros..].fill(0);
    bytes
}

/// What is told of the first table, where tables are told of.
fn first_table(body: &Body) -> Option<MultipartReply> {
    match body {
        Body::MultipartReply(MultipartReply::Table { more, tables }) => {
            let tables = tables.iter().filter(|table| table.table_id == 0).copied().collect();
            Some(MultipartReply::Table { more: *more, tables })
        }
        Body::MultipartReply(MultipartReply::TableFeatures { more, tables }) => {
            let bare = |table: &TableFeatures| TableFeatures { properties: Bytes::new(), ..table.clone() };
            let tables = tables.iter().filter(|table| table.table_id == 0).map(bare).collect();
            Some(MultipartReply::TableFeatures { more: *more, tables })
        }
        _ => None,
    }
}

/// How many bytes at the beginning of a frame are headers, or the question where a station is, or the answer: addresses,
/// and the controller's doing depends on them.
fn headers(frame: &Bytes) -> usize {
    if Solicitation::parse(frame).is_some() || Announcement::parse(frame).is_some() {
        // IPv6's checksum covers the whole message; ARP's may be followed by anything.
        return Glance::at(frame).map_or(ARP, |glance| glance.end);
    }
    let carried = match Packet::parse(LinkType::Ethernet, frame, Checksums::Trust) {
        Ok(Packet { body: Layer::Tcp(segment), .. }) => segment.payload.len(),
        // The length and the checksum go too, as of a datagram without a checksum.
        Ok(Packet { body: Layer::Udp(datagram), .. }) => datagram.payload.len() + PORTS,
        Ok(Packet { body: Layer::Sdtp(sdtp), .. }) => sdtp.len() - PORTS,
        Ok(Packet { body: Layer::Other { payload, .. }, .. }) => payload.len().saturating_sub(PORTS),
        Err(ParseError::Fragment { .. }) => return FRAGMENT,
        Err(_) => return ETHERNET,
    };
    Glance::at(frame).map_or(ETHERNET, |glance| glance.end - carried)
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_wire::openflow::{Match, NO_BUFFER, PacketIn, PacketInReason, TableStats};
    use handfast_wire::tcp::Segment;
    use handfast_wire::{Ethernet, Payload};
    use proptest::prelude::*;

    fn packet_in(frame: Vec<u8>) -> (Bytes, Message) {
        let packet = PacketIn {
            buffer_id: NO_BUFFER,
            total_len: frame.len() as u16,
            reason: PacketInReason::Action,
            table_id: 0,
            cookie: 1,
            matches: Match::default(),
            data: frame.into(),
        };
        let message = Message { xid: 7, body: Body::PacketIn(packet) };
        let mut bytes = Vec::new();
        message.emit(&mut bytes).unwrap();
        (bytes.into(), message)
    }

    fn frame_of(v6: bool, body: Layer) -> Vec<u8> {
        let addresses = if v6 { ["2001:db8::1", "2001:db8::2"] } else { ["192.0.2.1", "192.0.2.2"] };
        let [src, dst] = addresses.map(|address| address.parse().unwrap());
        let packet =
            Packet { body, ethernet: Some(Ethernet::default()), ..Packet::tcp(src, dst, Segment::EMPTY) };
        let mut frame = Vec::new();
        packet.emit(&mut frame).unwrap();
        frame
    }

    fn redact(frame: Vec<u8>) -> Bytes {
        let (bytes, message) = packet_in(frame);
        let redacted = Bytes::from(super::redacted(&bytes, &message));
        let Body::PacketIn(packet) = Message::parse(&redacted).unwrap().body else { panic!() };
        packet.data
    }

    #[test]
    fn what_tcp_carries_is_gone_and_its_headers_are_not() {
        for v6 in [false, true] {
            let payload = Payload::Bytes(Bytes::from_static(b"secret"));
            let frame = frame_of(v6, Layer::Tcp(Segment { payload, ..Segment::EMPTY }));
            let mut padded = frame.clone();
            padded.extend_from_slice(b"left in a buffer");
            let (len, kept) = (frame.len(), frame.len() - 6);
            let redacted = redact(padded.clone());
            assert_eq!(redacted[..kept], frame[..kept]);
            assert_eq!((redacted.len(), redacted[kept..].iter().max()), (len + 16, Some(&0)));
        }
    }

    #[test]
    fn of_other_protocols_the_ports_stay() {
        let payload = Payload::Bytes(Bytes::from_static(&[0, 53, 1, 187, 9, 9, 9, 9, 9]));
        let redacted = redact(frame_of(false, Layer::Other { protocol: 17, payload }));
        assert_eq!(redacted[34..], [0, 53, 1, 187, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn who_asks_where_a_station_is_stays_readable() {
        for [asker, target] in [["192.0.2.1", "192.0.2.2"], ["2001:db8::1", "2001:db8::2"]] {
            let [asker, target] = [asker, target].map(|address| address.parse().unwrap());
            let asked = Solicitation { asker, asker_mac: [2; 6], target };
            for frame in [asked.ask(), asked.answer([4; 6])] {
                let padded = [&frame[..], &[7; 30]].concat();
                let redacted = redact(padded);
                assert_eq!(redacted[..frame.len()], frame);
                assert_eq!(redacted[frame.len() + 4..].iter().max(), Some(&0));
            }
        }
    }

    #[test]
    fn of_tables_the_first_stays() {
        let table = |table_id| TableFeatures {
            table_id,
            name: [0; 32],
            metadata_match: 1,
            metadata_write: 2,
            config: 0,
            max_entries: 77,
            properties: vec![9; 800].into(),
        };
        let stats = |table_id| TableStats { table_id, active_count: 5, lookup_count: 6, matched_count: 7 };
        let features = |tables| MultipartReply::TableFeatures { more: true, tables };
        let full = |tables| MultipartReply::Table { more: false, tables };
        let bare = TableFeatures { properties: Bytes::new(), ..table(0) };
        for (whole, first) in [
            (features((0..=9).map(table).collect()), features(vec![bare])),
            (full((0..=9).map(stats).collect()), full(vec![stats(0)])),
        ] {
            let [message, first] =
                [whole, first].map(|reply| Message { xid: 7, body: Body::MultipartReply(reply) });
            let mut bytes = Vec::new();
            message.emit(&mut bytes).unwrap();
            let redacted = super::redacted(&bytes.into(), &message);
            assert_eq!(Message::parse(&redacted.into()).unwrap(), first);
        }
    }

    #[test]
    fn an_error_quotes_only_a_header() {
        let data = Bytes::from(vec![5; 64]);
        let message =
            Message { xid: 1, body: Body::Error(handfast_wire::openflow::Error { kind: 1, code: 2, data }) };
        let mut bytes = Vec::new();
        message.emit(&mut bytes).unwrap();
        let redacted = super::redacted(&bytes.into(), &message);
        assert_eq!(redacted.iter().map(|&byte| u32::from(byte == 5)).sum::<u32>(), 8);
    }

    proptest! {
        #[test]
        fn whatever_the_frame_it_reads_as_before(mut frame in proptest::collection::vec(any::<u8>(), 0..120), kind in 0..4_usize) {
            // Mostly what looks like IP.
            if frame.len() > 24 && kind < 3 {
                frame[12..15].copy_from_slice(&[[8, 0, 0x45], [0x86, 0xdd, 0x60], [8, 6, 0]][kind]);
            }
            let redacted = redact(frame.clone());
            prop_assert_eq!(redacted.len(), frame.len());
            prop_assert_eq!(&redact(redacted.to_vec()), &redacted);
            let read = |frame: &Bytes| Packet::parse(LinkType::Ethernet, frame, Checksums::Trust);
            match (read(&frame.into()), read(&redacted)) {
                (Ok(Packet { body: Layer::Tcp(mut was), .. }), Ok(Packet { body: Layer::Tcp(is), .. })) => {
                    prop_assert_eq!(was.payload.len(), is.payload.len());
                    was.payload = is.payload.clone();
                    prop_assert_eq!(was, is);
                }
                (Ok(was), Ok(is)) => prop_assert_eq!((was.src, was.dst), (is.src, is.dst)),
                (Err(ParseError::Fragment { .. }), Err(ParseError::Fragment { .. })) => {}
                (Err(ParseError::EtherType(was)), Err(ParseError::EtherType(is))) => prop_assert_eq!(was, is),
                (was, is) => prop_assert!(was.is_err() && is.is_err(), "{:?} {:?}", was, is),
            }
        }
    }
}
