//! What holds for any bytes, shared by the property tests and the fuzz target.

use bytes::Bytes;
use handfast_wire::{Checksums, LinkType, Packet};

/// Parses `data`, whose first byte says how to read the rest.
pub(crate) fn survive_input(data: &[u8]) {
    let Some((how, frame)) = data.split_first() else { return };
    let link = if how & 1 == 0 { LinkType::Ethernet } else { LinkType::RawIp };
    // Mostly trusted: a fuzzer does not find right checksums by chance.
    let checksums = if how & 6 == 6 { Checksums::Verify } else { Checksums::Trust };
    survive(link, &Bytes::copy_from_slice(frame), checksums);
}

/// A parse returns whatever the bytes; what it returns has a form on the wire, which parses back to it.
pub(crate) fn survive(link: LinkType, frame: &Bytes, checksums: Checksums) {
    let Ok(packet) = Packet::parse(link, frame, checksums) else { return };
    let mut emitted = Vec::new();
    packet.emit(&mut emitted).expect("what was parsed can be emitted");
    assert_eq!(emitted.len(), packet.wire_len());
    let emitted = Bytes::from(emitted);
    let again = Packet::parse(link, &emitted, Checksums::Verify);
    assert_eq!(again.as_ref(), Ok(&packet));
    let mut once_more = vec![0xaa; emitted.len()];
    assert_eq!(packet.emit_into(&mut once_more), Ok(emitted.len()));
    assert_eq!(once_more, emitted);
    assert_eq!(packet.through_wire(), Ok(packet));
}
