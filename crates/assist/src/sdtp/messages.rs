//! Messages of nodes as packets between the edges.

use handfast_core::SeqNum;
use handfast_wire::Packet;
use handfast_wire::sdtp::{Carriage, Message, Sdtp, Stream};

use super::convert::outer_class;

/// A packet with a message about a stream: RR, CN and CM go upstream, the others downstream.
pub(super) fn packet(carriage: Carriage, stream: &Stream, sequence: SeqNum, message: Message) -> Packet {
    let upstream = matches!(message, Message::Request(_) | Message::Notification(_) | Message::Congestion(_));
    let (src, dst) = if upstream { (stream.to, stream.from) } else { (stream.from, stream.to) };
    let traffic_class = match &message {
        // The queues between may mark it as they would have marked the first one.
        Message::Repeat(repeat) => outer_class(carriage, repeat.data.ip.traffic_class),
        _ => 0,
    };
    let &Stream { slice, connection, .. } = stream;
    let sdtp = Sdtp { carriage, slice, connection, sequence, message, seal: None };
    Packet { traffic_class, ..Packet::sdtp(src, dst, sdtp) }
}

/// The sequence number in the header of a message without data: the first that it is about.
pub(super) fn about(message: &Message) -> SeqNum {
    match message {
        Message::Request(request) => request.expected.start,
        Message::Information(information) => information.expected.start,
        Message::Notification(notification) => notification.until,
        Message::Congestion(congestion) => congestion.until,
        Message::Parity(parity) => parity.start,
        Message::Data(_) | Message::Repeat(_) => SeqNum(0),
    }
}
