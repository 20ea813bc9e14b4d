//! What holds for any bytes, shared by the property tests and the fuzz target.

use bytes::Bytes;
use handfast_wire::tcp::Segment;
use handfast_wire::{
    Advertisement, Announcement, Body, Checksums, Glance, LinkType, Notification, Packet, Solicitation, sdtp,
};

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
    if link == LinkType::Ethernet {
        survive_glance(frame);
        survive_question(frame);
    }
    survive_notification(frame);
    survive_covered(frame);
    let Ok(packet) = Packet::parse(link, frame, checksums) else { return };
    if let Some(advertisement) = Advertisement::parse(&packet) {
        assert_eq!(Advertisement::parse(&advertisement.packet()), Some(advertisement));
    }
    if let Ok(sdtp) = packet.to_sdtp(checksums) {
        assert_eq!(sdtp.through_wire(), Ok(sdtp));
    }
    survive_mptcp(&packet);
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

/// An option of Multipath TCP that was understood is written as it was understood.
fn survive_mptcp(packet: &Packet) {
    let Body::Tcp(segment) = &packet.body else { return };
    for option in segment.mptcp() {
        let mut alone = Segment::EMPTY;
        assert!(alone.push_mptcp(&option), "{option:?}");
        assert_eq!(alone.mptcp().collect::<Vec<_>>(), [option]);
    }
}

/// Whatever the bytes, no more of them are covered by a tag than there are.
fn survive_covered(frame: &Bytes) {
    let mut covered = Vec::new();
    if sdtp::covered(frame, &mut covered) {
        assert!(covered.len() + 16 <= frame.len());
    }
}

/// A glance stays within the frame, and sees what a parse of the frame as we would emit it sees.
fn survive_glance(frame: &Bytes) {
    if let Some(glance) = Glance::at(frame) {
        assert!(glance.ip_len <= glance.end && glance.end <= frame.len(), "{glance:?}");
    }
    let Ok(packet) = Packet::parse(LinkType::Ethernet, frame, Checksums::Trust) else { return };
    let mut emitted = Vec::new();
    packet.emit(&mut emitted).expect("what was parsed can be emitted");
    let glance = Glance::at(&emitted).expect("what was parsed is an IP packet");
    let has_tcp_payload = matches!(&packet.body, Body::Tcp(segment) if !segment.payload.is_empty());
    assert_eq!((glance.ip_len, glance.has_tcp_payload), (packet.ip_len(), has_tcp_payload));
}

/// Who is asked answers the question that was asked, in a frame that its asker understands.
fn survive_question(frame: &Bytes) {
    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 7];
    let _ = Announcement::parse(frame);
    let Some(question) = Solicitation::parse(frame) else { return };
    assert_eq!(Solicitation::parse(&question.ask().into()), Some(question));
    let answer = Announcement::parse(&question.answer(MAC).into());
    assert_eq!(answer, Some(Announcement { address: question.target, mac: MAC }));
}

/// A notification that was understood is written as it was read.
fn survive_notification(payload: &Bytes) {
    let Some(notification) = Notification::parse(payload) else { return };
    assert_eq!(notification.emit(), payload);
}
