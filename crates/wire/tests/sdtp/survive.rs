//! What holds for any bytes, shared by the property tests and the fuzz target.

use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use handfast_wire::sdtp::{Carriage, Sdtp, covered};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Checksums, Datagram, LinkType, Packet, Payload};

/// Reads `data` as SDTP; its first byte says in what it travels.
pub(crate) fn survive_input(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let carriage = [Carriage::Native, Carriage::Ip, Carriage::Udp][usize::from(how % 3)];
    survive(carriage, &Bytes::copy_from_slice(bytes));
}

/// A parse returns whatever the bytes; what it returns has a form on the wire, which parses back to it.
pub(crate) fn survive(carriage: Carriage, bytes: &Bytes) {
    let Some(packet) = received(carriage, bytes) else { return };
    let Body::Sdtp(sdtp) = &packet.body else { return };
    assert_eq!(sdtp.carriage, carriage);
    assert_eq!(packet.through_wire().as_ref(), Ok(&packet));
    let mut ours = Vec::new();
    packet.emit(&mut ours).expect("what was parsed can be emitted");
    assert_eq!(ours.len(), packet.wire_len());
    survive_seal(&packet, sdtp, &ours);
}

/// The packet that the bytes are, as a node receives them.
fn received(carriage: Carriage, bytes: &Bytes) -> Option<Packet> {
    if carriage == Carriage::Native {
        return Packet::parse(LinkType::RawIp, bytes, Checksums::Trust).ok();
    }
    let payload = Payload::Bytes(bytes.clone());
    let body = match carriage {
        Carriage::Udp => {
            Body::Udp(Datagram { src_port: half(bytes, 16), dst_port: half(bytes, 18), payload })
        }
        _ => Body::Other { protocol: 253, payload },
    };
    let around = Packet { body, ..Packet::tcp(edge(bytes, 8), edge(bytes, 12), Segment::EMPTY) };
    if carriage == Carriage::Udp {
        return around.to_sdtp(Checksums::Trust).ok();
    }
    // What parses as SDTP cannot be emitted as anything else: that takes the IP header of another protocol.
    let other =
        Packet { body: Body::Other { protocol: 50, payload: around.body.payload().clone() }, ..around };
    let mut frame = Vec::new();
    other.emit(&mut frame).ok()?;
    frame[9] = 253;
    Packet::parse(LinkType::RawIp, &frame.into(), Checksums::Trust).ok()
}

/// The tag covers what it covers, whoever has the bytes: those of the packet as we would emit it.
fn survive_seal(packet: &Packet, sdtp: &Sdtp, emitted: &[u8]) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let sealed = packet.sealed_bytes(&mut ours).is_ok();
    assert_eq!(sealed, sdtp.seal.is_some());
    assert_eq!(covered(&emitted[emitted.len() - sdtp.len()..], &mut theirs), sealed);
    assert_eq!(ours, theirs);
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |half| u16::from_be_bytes([half[0], half[1]]))
}

fn edge(bytes: &[u8], at: usize) -> IpAddr {
    let [high, low] = [half(bytes, at), half(bytes, at + 2)];
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into()
}
