//! A capture read back block by block, as draft-ietf-opsawg-pcapng lays it out.

use bytes::Bytes;
use handfast_core::Instant;
use handfast_wire::pcapng::{PcapngError, PcapngWriter};
use handfast_wire::tcp::Segment;
use handfast_wire::{Checksums, EmitError, Ethernet, LinkType, Packet, Payload};

fn packet(len: u32) -> Packet {
    let payload = Payload::Synthetic { stream: 1, offset: 0, len };
    Packet::tcp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Segment { payload, ..Segment::EMPTY })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Type and body of each block; checks that the two lengths of a block agree.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let len = u32_at(file, 4) as usize;
        assert_eq!(len % 4, 0);
        assert_eq!(u32_at(file, len - 4) as usize, len);
        blocks.push((u32_at(file, 0), file[8..len - 4].to_vec()));
        file = &file[len..];
    }
    blocks
}

#[test]
fn a_capture_has_a_section_header_interfaces_and_packets() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let raw = writer.add_interface("cn", LinkType::RawIp, None).unwrap();
    let at = Instant::from_nanos(0x0123_4567_89ab_cdef);
    writer.record(raw, at, &packet(7)).unwrap();
    let ethernet = writer.add_interface("ap1-wlan", LinkType::Ethernet, Some(60)).unwrap();
    let framed = Packet { ethernet: Some(Ethernet::default()), ..packet(1000) };
    writer.record(ethernet, Instant::ZERO, &framed).unwrap();
    let blocks = blocks(&writer.finish().unwrap());

    assert_eq!(blocks.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [0x0a0d_0d0a, 1, 6, 1, 6]);
    let section = &blocks[0].1;
    assert_eq!(section[..16], [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    assert_eq!(section[16..], *b"\x04\0\x08\0handfast\0\0\0\0");
    assert_eq!(blocks[1].1, b"\x65\0\0\0\0\0\0\0\x02\0\x02\0cn\0\0\x09\0\x01\0\x09\0\0\0\0\0\0\0");
    assert_eq!(blocks[3].1, b"\x01\0\0\0\x3c\0\0\0\x02\0\x08\0ap1-wlan\x09\0\x01\0\x09\0\0\0\0\0\0\0");

    let first = &blocks[2].1;
    assert_eq!([0, 4, 8, 12, 16].map(|at| u32_at(first, at)), [0, 0x0123_4567, 0x89ab_cdef, 47, 47]);
    let mut frame = Vec::new();
    packet(7).emit(&mut frame).unwrap();
    assert_eq!(first[20..67], frame);
    assert_eq!(first[67..], [0]);
    let second = &blocks[4].1;
    assert_eq!([0, 4, 8, 12, 16].map(|at| u32_at(second, at)), [1, 0, 0, 60, 1054]);
    assert_eq!(second.len(), 20 + 60);
}

#[test]
fn a_corrupted_packet_is_recorded_as_corrupted() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let raw = writer.add_interface("cn", LinkType::RawIp, None).unwrap();
    writer.record(raw, Instant::ZERO, &Packet { corrupted: true, ..packet(4) }).unwrap();
    let blocks = blocks(&writer.finish().unwrap());
    let frame = Bytes::copy_from_slice(&blocks[2].1[20..]);
    assert!(Packet::parse(LinkType::RawIp, &frame, Checksums::Verify).unwrap().corrupted);
}

#[test]
fn what_does_not_fit_leaves_no_trace() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let mut other = PcapngWriter::new(Vec::new()).unwrap();
    let ethernet = writer.add_interface("cn", LinkType::Ethernet, None).unwrap();
    other.add_interface("a", LinkType::RawIp, None).unwrap();
    let foreign = other.add_interface("b", LinkType::RawIp, None).unwrap();

    let error = writer.record(ethernet, Instant::ZERO, &packet(1)).unwrap_err();
    assert_eq!(error.to_string(), "frame of link type RawIp: expected Ethernet, as the interface was added");
    let error = writer.record(foreign, Instant::ZERO, &packet(1)).unwrap_err();
    assert!(matches!(error, PcapngError::Interface(interface) if interface == foreign));
    let unsendable =
        Packet { identification: 1, dst: "::1".parse().unwrap(), src: "::1".parse().unwrap(), ..packet(1) };
    let error = other.record(foreign, Instant::ZERO, &unsendable).unwrap_err();
    assert!(matches!(error, PcapngError::Emit(EmitError::Ipv6Identification(1))));

    assert_eq!(blocks(&writer.finish().unwrap()).len(), 2);
    assert_eq!(blocks(&other.finish().unwrap()).len(), 3);
}
