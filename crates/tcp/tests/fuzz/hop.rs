//! One hop in bytes: what leaves is emitted and parsed, and a flipped bit is found by the receiving host.

use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Checksums, LinkType, Packet};

fn packet(segment: &Segment) -> Packet {
    let host = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
    Packet::tcp(host(1), host(2), segment.clone())
}

/// An endpoint sends nothing that its bytes cannot say.
pub fn check(segment: &Segment) {
    let before = packet(segment);
    let after = before.through_wire().unwrap_or_else(|e| panic!("{e}: {segment:?}"));
    let Body::Tcp(parsed) = &after.body else { panic!("not TCP: {segment:?}") };
    assert_eq!(parsed, segment, "its bytes say something else");
}

/// Whether the receiving host drops it: where a bit has flipped on the way, and only there.
pub fn is_refused(segment: &Segment, corrupted: bool) -> bool {
    if !corrupted {
        return false;
    }
    let mut frame = Vec::new();
    packet(segment).emit(&mut frame).unwrap_or_else(|e| panic!("{e}: {segment:?}"));
    // Any bit of the TCP header that is not one of the ports': they choose another connection.
    let bit = 8 * (20 + 4) + (segment.seq.0 as usize % (8 * 16));
    frame[bit / 8] ^= 1 << (bit % 8);
    let parsed = Packet::parse(LinkType::RawIp, &Bytes::from(frame), Checksums::Verify);
    assert!(parsed.is_err() || parsed.is_ok_and(|p| p.corrupted), "a flipped bit passes: {segment:?}");
    true
}
