//! What holds for any bytes, shared by the property tests and the fuzz target.

use bytes::Bytes;
use handfast_wire::Checksums;
use handfast_wire::sctp::Packet;

/// A parse returns whatever the bytes; what it returns has a form on the wire, no longer than they, which parses back to it.
pub(crate) fn survive_input(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let _ = Packet::parse(&bytes, Checksums::Verify);
    let Ok(packet) = Packet::parse(&bytes, Checksums::Trust) else { return };
    let ours = packet.emit().expect("what was parsed can be emitted");
    assert_eq!(ours.len(), packet.wire_len());
    assert!(ours.len() <= bytes.len());
    assert_eq!(Packet::parse(&ours, Checksums::Verify).as_ref(), Ok(&packet));
}
