//! What two nodes put between IP and the packets that they protect on the path between them: one sends packets twice, one sends
//! repair symbols beside them, one sends again what the other lacks.
//!
//! All of it is the payload of an IP packet of protocol [`PROTOCOL`] from one node to the other. A header of eight bytes: kind,
//! index, Internet checksum over everything from the kind on, sequence number. Then what the kind has.

use bytes::{Buf, BufMut, Bytes};
use handfast_core::SeqNum;

use crate::checksum::{Checksums, Sum};
use crate::{Body, EmitError, LinkType, Packet, Payload};

/// The IP protocol number: the second of those for experiments (RFC 3692 §2.1); the first is SDTP's.
pub const PROTOCOL: u8 = 254;

/// Kind, index, checksum, sequence number.
pub const HEADER_LEN: usize = 8;

/// Bits of a [`Message::Status`]: as in the longest bitmap of a `BlockAck` (IEEE 802.11 §9.3.1.8, 1,024 bits).
pub const MOST_STATUS: usize = 1024;

/// Source symbols of a block at most, and repair symbols.
pub const MOST_SYMBOLS: u8 = 64;

/// Blocks that are interleaved at most.
pub const MOST_INTERLEAVED: u8 = 16;

/// What one node tells the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shim {
    /// The number of the packet that it carries. Of [`Message::Repair`] that of the block's first, of [`Message::Report`] that of
    /// the report, of [`Message::Status`] the first that has not come.
    pub sequence: SeqNum,
    /// What it says.
    pub message: Message,
}

/// The kinds. `Bytes` that are called a packet hold an IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A packet that is sent more than once; each copy is the same.
    Copy(Bytes),
    /// A packet that is a source symbol of a block (RFC 6363 §4: the code is systematic, so the packet itself is sent).
    Source(Bytes),
    /// A repair symbol (RFC 6363 §2). `sequence`, `stride` and `count` say which block it protects: no source packet has to.
    Repair {
        /// Which of the block's repair symbols.
        index: u8,
        /// Source packets of the block: 1 to [`MOST_SYMBOLS`].
        count: u8,
        /// Repair symbols of the block: more than `index`, at most [`MOST_SYMBOLS`].
        repairs: u8,
        /// From the number of one of its packets to that of the next: 1 to [`MOST_INTERLEAVED`].
        stride: u8,
        /// The symbol.
        symbol: Bytes,
    },
    /// How many packets have come and how many have not, since the beginning (as an RTCP receiver report, RFC 3550 §6.4.1).
    Report {
        /// Source packets that came.
        received: u32,
        /// Source packets that did not come by themselves.
        lost: u32,
    },
    /// A packet of a link that repeats what is lost.
    Frame {
        /// What is before this number and has not come will not come.
        base: SeqNum,
        /// The packet.
        packet: Bytes,
    },
    /// Which frames have come: all before `sequence`, and bit `n` says whether the frame `sequence + 1 + n` has.
    Status(Bytes),
}

impl Message {
    const COPY: u8 = 0;
    const SOURCE: u8 = 1;
    const REPAIR: u8 = 2;
    const REPORT: u8 = 3;
    const FRAME: u8 = 4;
    const STATUS: u8 = 5;
}

impl Shim {
    /// Reads the payload of an IP packet of protocol [`PROTOCOL`]; [`None`]: it is anything else, or a bit is wrong. Keeps the
    /// contract of [`Packet::parse`].
    pub fn parse(payload: &Bytes) -> Option<Self> {
        let (&[kind, index, ..], whole) = (payload.first_chunk::<HEADER_LEN>()?, Sum::default().add(payload));
        // RFC 1071 §1: with the checksum the sum is all ones.
        if whole.fold() != 0xffff {
            return None;
        }
        let mut rest = payload.slice(4..);
        let sequence = SeqNum(rest.get_u32());
        if kind != Message::REPAIR && index != 0 {
            return None;
        }
        let message = match kind {
            Message::COPY => Message::Copy(rest),
            Message::SOURCE => Message::Source(rest),
            Message::REPAIR => parse_repair(index, rest)?,
            Message::REPORT if rest.len() == 8 => {
                Message::Report { received: rest.get_u32(), lost: rest.get_u32() }
            }
            Message::FRAME if rest.len() >= 4 => {
                Message::Frame { base: SeqNum(rest.get_u32()), packet: rest }
            }
            Message::STATUS if rest.len() <= MOST_STATUS / 8 => Message::Status(rest),
            _ => return None,
        };
        Some(Self { sequence, message })
    }

    /// The payload of the IP packet.
    pub fn emit(&self) -> Bytes {
        let mut out = Vec::with_capacity(HEADER_LEN + 4 + self.message.body().len());
        let (kind, index) = self.message.kind();
        out.put_slice(&[kind, index, 0, 0]);
        out.put_u32(self.sequence.0);
        match &self.message {
            Message::Repair { count, repairs, stride, .. } => out.put_slice(&[*count, *repairs, *stride, 0]),
            Message::Report { received, lost } => {
                out.put_u32(*received);
                out.put_u32(*lost);
            }
            Message::Frame { base, .. } => out.put_u32(base.0),
            Message::Copy(_) | Message::Source(_) | Message::Status(_) => {}
        }
        out.put_slice(self.message.body());
        let checksum = Sum::default().add(&out).checksum();
        out[2..4].copy_from_slice(&checksum.to_be_bytes());
        out.into()
    }

    /// The IP packet in which it goes from one node to the other.
    pub fn between(&self, src: std::net::IpAddr, dst: std::net::IpAddr) -> Packet {
        let body = Body::Other { protocol: PROTOCOL, payload: Payload::Bytes(self.emit()) };
        Packet { body, ..Packet::tcp(src, dst, crate::tcp::Segment::EMPTY) }
    }

    /// What a packet says that came from another node; [`None`]: it is no such packet, or a bit is wrong.
    pub fn of(packet: &Packet) -> Option<Self> {
        match &packet.body {
            Body::Other { protocol: PROTOCOL, payload } if !packet.corrupted => {
                Self::parse(&payload.to_bytes())
            }
            _ => None,
        }
    }
}

fn parse_repair(index: u8, mut rest: Bytes) -> Option<Message> {
    let &[count, repairs, stride, 0] = rest.first_chunk::<4>()? else { return None };
    let symbols = 1..=MOST_SYMBOLS;
    let fits = symbols.contains(&count) && symbols.contains(&repairs) && index < repairs;
    let fits = fits && (1..=MOST_INTERLEAVED).contains(&stride);
    rest.advance(4);
    fits.then_some(Message::Repair { index, count, repairs, stride, symbol: rest })
}

impl Message {
    fn kind(&self) -> (u8, u8) {
        match self {
            Self::Copy(_) => (Self::COPY, 0),
            Self::Source(_) => (Self::SOURCE, 0),
            Self::Repair { index, .. } => (Self::REPAIR, *index),
            Self::Report { .. } => (Self::REPORT, 0),
            Self::Frame { .. } => (Self::FRAME, 0),
            Self::Status(_) => (Self::STATUS, 0),
        }
    }

    fn body(&self) -> &[u8] {
        match self {
            Self::Copy(bytes) | Self::Source(bytes) | Self::Status(bytes) => bytes,
            Self::Repair { symbol, .. } => symbol,
            Self::Frame { packet, .. } => packet,
            Self::Report { .. } => &[],
        }
    }
}

impl Packet {
    /// The bytes of the IP packet, without a frame.
    ///
    /// # Errors
    /// As [`Packet::emit`].
    pub fn ip_bytes(&self) -> Result<Bytes, EmitError> {
        let mut bytes = Vec::with_capacity(self.ip_len());
        if self.ethernet.is_none() {
            self.emit(&mut bytes)?;
        } else {
            Self { ethernet: None, ..self.clone() }.emit(&mut bytes)?;
        }
        Ok(bytes.into())
    }

    /// The IP packet that these bytes are; [`None`]: they are none, or more than one.
    pub fn of_ip_bytes(bytes: &Bytes) -> Option<Self> {
        let packet = Self::parse(LinkType::RawIp, bytes, Checksums::Verify).ok()?;
        (packet.ip_len() == bytes.len()).then_some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Bytes> {
        prop::collection::vec(any::<u8>(), 0..60).prop_map(Bytes::from)
    }

    fn message() -> impl Strategy<Value = Message> {
        prop_oneof![
            bytes().prop_map(Message::Copy),
            bytes().prop_map(Message::Source),
            (
                [1..=MOST_SYMBOLS, 1..=MOST_SYMBOLS],
                1..=MOST_INTERLEAVED,
                any::<prop::sample::Index>(),
                bytes()
            )
                .prop_map(|([count, repairs], stride, index, symbol)| {
                    let index = index.index(usize::from(repairs)) as u8;
                    Message::Repair { index, count, repairs, stride, symbol }
                }),
            (any::<u32>(), any::<u32>()).prop_map(|(received, lost)| Message::Report { received, lost }),
            (any::<u32>(), bytes()).prop_map(|(base, packet)| Message::Frame { base: SeqNum(base), packet }),
            bytes().prop_map(Message::Status),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        #[test]
        fn what_is_emitted_parses_back_and_one_wrong_bit_does_not(
            number in any::<u32>(), message in message(), bit in any::<prop::sample::Index>()
        ) {
            let shim = Shim { sequence: SeqNum(number), message };
            let emitted = shim.emit();
            prop_assert_eq!(Shim::parse(&emitted), Some(shim));
            let (mut wrong, bit) = (emitted.to_vec(), bit.index(8 * emitted.len()));
            wrong[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Shim::parse(&wrong.into()), None);
        }

        #[test]
        fn any_bytes_are_survived(bytes in bytes()) {
            if let Some(shim) = Shim::parse(&bytes) {
                prop_assert_eq!(Shim::parse(&shim.emit()), Some(shim));
            }
        }
    }

    #[test]
    fn what_no_node_sends_is_none() {
        let with_checksum = |mut bytes: Vec<u8>| {
            bytes[2..4].fill(0);
            let checksum = Sum::default().add(&bytes).checksum();
            bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
            Bytes::from(bytes)
        };
        let repair = |index, counts: [u8; 2], stride, zero| {
            let rest = [counts[0], counts[1], stride, zero];
            with_checksum([&[Message::REPAIR, index, 0, 0, 0, 0, 0, 1], &rest[..]].concat())
        };
        assert!(Shim::parse(&repair(1, [64, 2], 16, 0)).is_some());
        for wrong in [
            repair(2, [64, 2], 1, 0),
            repair(0, [65, 2], 1, 0),
            repair(0, [0, 2], 1, 0),
            repair(0, [1, 65], 1, 0),
            repair(0, [1, 1], 0, 0),
            repair(0, [1, 1], 17, 0),
            repair(0, [1, 1], 1, 1),
        ] {
            assert_eq!(Shim::parse(&wrong), None, "{wrong:?}");
        }
        for (kind, index, more) in [(6, 0, 0), (0, 1, 0), (3, 0, 7), (3, 0, 9), (4, 0, 3), (5, 0, 129)] {
            let mut bytes = vec![kind, index, 0, 0, 0, 0, 0, 1];
            bytes.resize(HEADER_LEN + more, 0);
            assert_eq!(Shim::parse(&with_checksum(bytes)), None, "{kind} {index} {more}");
        }
        for len in 0..HEADER_LEN {
            assert_eq!(Shim::parse(&Bytes::from(vec![0; len])), None);
        }
    }

    #[test]
    fn a_packet_with_bit_errors_says_nothing() {
        let [src, dst] = [1, 2].map(|host| std::net::IpAddr::from([10, 0, 0, host]));
        let shim = Shim { sequence: SeqNum(7), message: Message::Report { received: 5, lost: 1 } };
        let packet = shim.between(src, dst);
        assert_eq!(packet.ip_len(), 20 + HEADER_LEN + 8);
        assert_eq!(Shim::of(&packet.through_wire().unwrap()), Some(shim));
        assert_eq!(Shim::of(&Packet { corrupted: true, ..packet.clone() }), None);
        assert_eq!(
            Shim::of(&Packet {
                body: Body::Other { protocol: 253, payload: packet.body.payload().clone() },
                ..packet
            }),
            None
        );
    }
}
