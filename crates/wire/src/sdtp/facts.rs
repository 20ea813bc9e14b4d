//! What follows from the fields of an SDTP packet: its length, its data, the direction of that data.

use std::net::IpAddr;

use super::{Content, Data, HEADER_LEN, Message, OPTIONAL_LEN, SEAL_LEN, Sdtp, Stream};
use crate::{Packet, Payload};

static NO_PAYLOAD: Payload = Payload::EMPTY;

impl Sdtp {
    /// Bytes of the packet from the header of Figure 3 on, without the IP and UDP headers before it.
    #[expect(clippy::len_without_is_empty, reason = "it has a header, always")]
    pub fn len(&self) -> usize {
        let body = match &self.message {
            Message::Data(data) => data.len(),
            Message::Repeat(repeat) => OPTIONAL_LEN + repeat.data.len(),
            Message::Request(_)
            | Message::Information(_)
            | Message::Notification(_)
            | Message::Congestion(_) => OPTIONAL_LEN,
            Message::Parity(parity) => OPTIONAL_LEN + parity.sum.len(),
        };
        HEADER_LEN + body + if self.seal.is_some() { SEAL_LEN } else { 0 }
    }

    /// The data that it carries: of data and RD.
    pub fn data(&self) -> Option<&Data> {
        match &self.message {
            Message::Data(data) => Some(data),
            Message::Repeat(repeat) => Some(&repeat.data),
            Message::Request(_)
            | Message::Information(_)
            | Message::Notification(_)
            | Message::Parity(_)
            | Message::Congestion(_) => None,
        }
    }

    /// The stream that it is about, of a packet from `src` to `dst`. RR, CN and CM go against the direction of data
    /// (`[sdtp]` §III-C 3: "upstream").
    pub fn stream(&self, src: IpAddr, dst: IpAddr) -> Stream {
        let (from, to) = match self.message {
            Message::Data(_) | Message::Repeat(_) | Message::Information(_) | Message::Parity(_) => {
                (src, dst)
            }
            Message::Request(_) | Message::Notification(_) | Message::Congestion(_) => (dst, src),
        };
        Stream { from, to, slice: self.slice, connection: self.connection }
    }

    /// The whole packet that it carries.
    pub fn inner(&self) -> Option<&Packet> {
        match &self.data()?.content {
            Content::Packet(packet) => Some(packet),
            Content::Segment(_) => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn inner_mut(&mut self) -> Option<&mut Packet> {
        match &mut self.data_mut()?.content {
            Content::Packet(packet) => Some(packet),
            Content::Segment(_) => None,
        }
    }

    /// The payload of the data that it carries.
    pub(crate) fn payload(&self) -> &Payload {
        match self.data().map(|data| &data.content) {
            Some(Content::Segment(segment)) => &segment.payload,
            Some(Content::Packet(packet)) => packet.body.payload(),
            None => &NO_PAYLOAD,
        }
    }

    /// Gives the data that it carries another payload.
    pub(crate) fn set_payload(&mut self, payload: Payload) {
        match self.data_mut().map(|data| &mut data.content) {
            Some(Content::Segment(segment)) => segment.payload = payload,
            Some(Content::Packet(packet)) => packet.body.set_payload(payload),
            None => {}
        }
    }

    fn data_mut(&mut self) -> Option<&mut Data> {
        match &mut self.message {
            Message::Data(data) => Some(data),
            Message::Repeat(repeat) => Some(&mut repeat.data),
            Message::Request(_)
            | Message::Information(_)
            | Message::Notification(_)
            | Message::Parity(_)
            | Message::Congestion(_) => None,
        }
    }
}

impl Data {
    /// Numbers that a host can have: 11 bits.
    pub const HOSTS: u16 = 0x7ff;

    /// How many sequence numbers it takes: those of the segment, or one for a whole IP packet.
    pub fn seq_len(&self) -> u32 {
        match &self.content {
            Content::Segment(segment) => segment.seq_len(),
            Content::Packet(_) => 1,
        }
    }

    /// Bytes of the optional field and of what follows it.
    pub(super) fn len(&self) -> usize {
        let content = match &self.content {
            Content::Segment(segment) => segment.options_len() + segment.payload.len(),
            Content::Packet(packet) => packet.ip_len(),
        };
        OPTIONAL_LEN + content
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;
    use crate::sdtp::{
        Carriage, Congestion, Expected, InnerIp, Notification, Outcome, Repeat, Request, Seal,
    };
    use crate::sdtp::{Information, Message, Trigger};
    use crate::tcp::{Flags, Segment, Timestamps};
    use handfast_core::SeqNum;

    const EXPECTED: Expected = Expected { start: SeqNum(1), end: None, start_num: 0 };

    fn addresses(v6: bool) -> [IpAddr; 2] {
        let texts = if v6 { ["fd00::1", "fd00::2"] } else { ["10.0.0.1", "10.0.0.2"] };
        texts.map(|text| text.parse().unwrap())
    }

    fn segment() -> Segment {
        let payload = Payload::Synthetic { stream: 1, offset: 0, len: 1000 };
        let timestamps = Some(Timestamps::default());
        Segment { flags: Flags::ACK | Flags::FIN, payload, timestamps, ..Segment::EMPTY }
    }

    fn data(content: Content) -> Data {
        Data { ip: InnerIp::default(), since_start: 0, host: 0, content }
    }

    fn sdtp(message: Message) -> Sdtp {
        let sequence = SeqNum(0);
        Sdtp { carriage: Carriage::Native, slice: 7, connection: 9, sequence, message, seal: None }
    }

    fn repeat(data: Data) -> Message {
        Message::Repeat(Repeat {
            trigger: Trigger::Count,
            start: SeqNum(0),
            start_num: 0,
            timestamp: 0,
            data,
        })
    }

    fn control() -> [Message; 4] {
        [
            Message::Request(Request { trigger: Trigger::Time, expected: EXPECTED, timestamp: 0 }),
            Message::Information(Information {
                trigger: Trigger::Time,
                expected: EXPECTED,
                outcome: Outcome::Never,
            }),
            Message::Notification(Notification { until: SeqNum(0) }),
            Message::Congestion(Congestion { until: SeqNum(0), held: 0 }),
        ]
    }

    #[test]
    fn the_length_is_that_of_the_headers_and_of_the_content() {
        let [src, dst] = addresses(true);
        let whole = || Content::Packet(Box::new(Packet::tcp(src, dst, segment())));
        // 24 bytes required and 20 optional; timestamps take 12 bytes, an IPv6 header 40, a TCP header 20.
        let content = 12 + 1000;
        let cases = [
            (Message::Data(data(Content::Segment(segment()))), 24 + 20 + content),
            (repeat(data(Content::Segment(segment()))), 24 + 20 + 20 + content),
            (Message::Data(data(whole())), 24 + 20 + 40 + 20 + content),
        ];
        let controls = control().map(|message| (message, 24 + 20));
        for (message, len) in cases.into_iter().chain(controls) {
            let plain = sdtp(message);
            assert_eq!(plain.len(), len, "{plain:?}");
            let seal = Some(Seal { node: 0, counter: 0, tag: [0; 16] });
            assert_eq!(Sdtp { seal, ..plain }.len(), len + 28);
        }
    }

    #[test]
    fn a_carriage_adds_its_headers() {
        for (v6, ip) in [(false, 20), (true, 40)] {
            let [src, dst] = addresses(v6);
            for (carriage, headers) in [(Carriage::Native, 0), (Carriage::Ip, ip), (Carriage::Udp, ip + 8)] {
                let [message, ..] = control();
                let packet = Packet::sdtp(src, dst, Sdtp { carriage, ..sdtp(message) });
                assert_eq!(packet.ip_len(), headers + 44, "{carriage:?}");
            }
        }
    }

    #[test]
    fn requests_and_notifications_go_against_the_direction_of_data() {
        let [src, dst] = addresses(false);
        let forth = Stream { from: src, to: dst, slice: 7, connection: 9 };
        let back = Stream { from: dst, to: src, ..forth };
        let [request, information, notification, congestion] = control();
        let segment = || data(Content::Segment(segment()));
        for (message, stream) in [
            (Message::Data(segment()), forth),
            (repeat(segment()), forth),
            (information, forth),
            (request, back),
            (notification, back),
            (congestion, back),
        ] {
            assert_eq!(sdtp(message.clone()).stream(src, dst), stream, "{message:?}");
        }
    }

    #[test]
    fn data_and_repeated_data_have_data() {
        let [src, dst] = addresses(false);
        let given = data(Content::Segment(segment()));
        for message in [Message::Data(given.clone()), repeat(given.clone())] {
            let body = Body::Sdtp(Box::new(sdtp(message)));
            assert_eq!(body.payload(), &segment().payload);
            let Body::Sdtp(sdtp) = body else { unreachable!() };
            assert_eq!(sdtp.data(), Some(&given));
        }
        // FIN counts one; a whole packet counts one, whatever it carries.
        assert_eq!(given.seq_len(), 1001);
        assert_eq!(data(Content::Packet(Box::new(Packet::tcp(src, dst, segment())))).seq_len(), 1);
        for message in control() {
            let sdtp = sdtp(message);
            assert_eq!((sdtp.data(), sdtp.payload()), (None, &Payload::EMPTY));
        }
    }
}
