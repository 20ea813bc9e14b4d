//! Whether a frame is what emitting its packet would write.

use std::net::IpAddr;

use crate::packet::{Body, Packet};
use crate::tcp::{self, Segment};
use crate::{ethernet, ipv4, ipv6};

impl Packet {
    /// Whether `frame`, of which this packet was parsed with [`crate::Checksums::Verify`], begins with what [`Packet::emit`] writes.
    /// `scratch` is used, for its memory. The payload of a segment is not looked at: it is the frame's own.
    pub fn is_as_emitted(&self, frame: &[u8], scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        match &self.body {
            Body::Tcp(segment) if !self.corrupted => {
                self.check().is_ok()
                    && frame.len() >= self.wire_len()
                    && self.has_headers(segment, frame, scratch)
            }
            _ => self.emit(scratch).is_ok() && frame.starts_with(scratch),
        }
    }

    /// Whether the headers are those that are emitted. The payload begins behind them then, and its checksum was right.
    fn has_headers(&self, segment: &Segment, frame: &[u8], scratch: &mut Vec<u8>) -> bool {
        let tcp_at = self.wire_len() - segment.header_len() - segment.payload.len();
        let len = tcp_at + segment.header_len();
        scratch.resize(len, 0);
        let (framing, network) = scratch.split_at_mut(self.ethernet_len());
        let ether_type = match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                ipv4::emit(&self.ip_header(), src, dst, self.ip_len(), network);
                ethernet::IPV4
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                ipv6::emit(&self.ip_header(), src, dst, self.ip_len(), network);
                ethernet::IPV6
            }
            // [`Packet::check`] has refused it.
            _ => return false,
        };
        if let Some(of) = self.ethernet {
            of.emit(ether_type, framing);
        }
        tcp::emit_header(segment, &mut scratch[tcp_at..]);
        let at = tcp_at + tcp::CHECKSUM_AT;
        let checksum = &frame[at..at + 2];
        scratch[at..at + 2].copy_from_slice(checksum);
        // A sum that is right is the one that is emitted, but for zero, which has two forms (RFC 1071 §1); this one is not.
        *checksum != [0xff; 2] && frame[..len] == scratch[..]
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use handfast_core::SeqNum;

    use super::*;
    use crate::tcp::{Flags, Timestamps};
    use crate::{Checksums, Datagram, Ethernet, LinkType, Payload, complete_checksum};

    const ETHERNET: Ethernet = Ethernet { dst: [2; 6], src: [4; 6], vlan: None };

    fn segment(payload: &'static [u8]) -> Segment {
        Segment {
            src_port: 4000,
            dst_port: 80,
            flags: Flags::ACK,
            seq: SeqNum(7),
            ack: SeqNum(9),
            timestamps: Some(Timestamps { val: 3, ecr: 4 }),
            payload: Payload::Bytes(Bytes::from_static(payload)),
            ..Segment::EMPTY
        }
    }

    fn frames() -> Vec<Vec<u8>> {
        let v4 = || [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let v6 = || [[0x20; 16], [0x21; 16]].map(IpAddr::from);
        let mut frames = Vec::new();
        for [src, dst] in [v4(), v6()] {
            for payload in [&b""[..], b"odd", b"some payload"] {
                let datagram = Datagram { src_port: 1, dst_port: 2, payload: segment(payload).payload };
                let tcp = Packet { ethernet: Some(ETHERNET), ..Packet::tcp(src, dst, segment(payload)) };
                for packet in [Packet { body: Body::Udp(datagram), ..tcp.clone() }, tcp] {
                    let mut frame = Vec::new();
                    packet.emit(&mut frame).unwrap();
                    frames.push(frame);
                }
            }
        }
        frames
    }

    /// Both ways to see it, where the frame is a packet at all.
    fn judge(frame: &[u8]) -> Option<bool> {
        let bytes = Bytes::copy_from_slice(frame);
        let packet = Packet::parse(LinkType::Ethernet, &bytes, Checksums::Verify).ok()?;
        let (mut scratch, mut emitted) = (vec![1, 2, 3], Vec::new());
        let is = packet.is_as_emitted(frame, &mut scratch);
        let is_so = packet.emit(&mut emitted).is_ok() && frame.starts_with(&emitted);
        assert_eq!(is, is_so, "{packet:?}: {frame:x?}");
        Some(is)
    }

    /// The sum of an IPv4 header made right.
    fn mend_ipv4(frame: &mut [u8]) {
        let Some(len) =
            frame.get(14).filter(|first| **first >> 4 == 4).map(|first| usize::from(first & 15) * 4)
        else {
            return;
        };
        if let Some(header) = frame.get_mut(14..14 + len).filter(|header| header.len() >= 20) {
            header[10..12].fill(0);
            let sum = crate::checksum::Sum::default().add(header).checksum();
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
    }

    #[test]
    fn it_says_what_emitting_would_show_whatever_stands_there() {
        let mut verdicts = [0; 2];
        for frame in frames() {
            assert_eq!(judge(&frame), Some(true));
            assert_eq!(judge(&[&frame[..], &[0; 9]].concat()), Some(true), "padding behind it");
            for at in 0..frame.len() {
                for value in 0..=u8::MAX {
                    let mut changed = frame.clone();
                    changed[at] = value;
                    // With wrong sums, and with right ones.
                    judge(&changed);
                    mend_ipv4(&mut changed);
                    complete_checksum(&mut changed);
                    if let Some(is) = judge(&changed) {
                        verdicts[usize::from(is)] += 1;
                    }
                }
            }
        }
        assert!(verdicts[0] > 1000 && verdicts[1] > 1000, "{verdicts:?}");
    }

    #[test]
    fn a_sum_of_zero_has_one_form_that_is_emitted() {
        // The acknowledgment makes the sum zero.
        let mut frame = frames().pop().unwrap();
        let at = frame.len() - segment(b"some payload").header_len() - 12;
        frame[at + 8..at + 12].fill(0);
        complete_checksum(&mut frame);
        let sum = [frame[at + 16], frame[at + 17]];
        frame[at + 8..at + 10].copy_from_slice(&sum);
        for (field, is) in [([0; 2], true), ([0xff; 2], false)] {
            frame[at + 16..at + 18].copy_from_slice(&field);
            let bytes = Bytes::copy_from_slice(&frame);
            let packet = Packet::parse(LinkType::Ethernet, &bytes, Checksums::Verify).unwrap();
            assert!(!packet.corrupted);
            assert_eq!(judge(&frame), Some(is), "{field:?}");
        }
    }
}
